//! Lists the releases that bundle deployments have in the cluster.

use std::collections::BTreeMap;

use drover_apply::call;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams};

use super::{DeployError, Deployer};
use crate::object::DEPLOYMENT_LABEL;
use crate::release::{HistoryError, decode};

/// Number of records in a page of a list. Each record can have 1 MiB.
const PAGE_SIZE: u32 = 20;

/// A release of a bundle deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseOf {
    /// Name of the bundle deployment.
    pub deployment: String,
    /// Release, `namespace/name:revision`.
    pub release: String,
    /// True if the objects stay after the removal.
    pub keep_resources: bool,
    /// Service account of the bundle. Empty for the agent's account.
    pub service_account: String,
}

impl Deployer {
    /// Returns the newest release of each bundle deployment that this agent deployed.
    pub async fn releases(&self) -> Result<Vec<ReleaseOf>, DeployError> {
        let secrets = Api::<Secret>::all(self.cluster.client().clone());
        let mut params = ListParams::default()
            .labels(&format!("owner=helm,{DEPLOYMENT_LABEL}"))
            .limit(PAGE_SIZE);
        let mut newest: BTreeMap<String, (u32, ReleaseOf)> = BTreeMap::new();
        loop {
            let listed = secrets.list(&params);
            let page = call("list the release records".to_owned(), listed).await;
            let page = page.map_err(HistoryError::from)?;
            for stored in page.items.into_iter().filter_map(decode) {
                let release = stored.release;
                let annotation = |name: &str| {
                    let pointer = format!("/metadata/annotations/fleet.cattle.io~1{name}");
                    let value = release.chart.pointer(&pointer);
                    value
                        .and_then(serde_json::Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                let deployment = annotation("bundle-id");
                if deployment.is_empty() {
                    continue;
                }
                let found = ReleaseOf {
                    release: format!("{}/{}:{}", release.namespace, release.name, release.version),
                    keep_resources: annotation("keep-resources") == "true",
                    service_account: annotation("service-account"),
                    deployment: deployment.clone(),
                };
                let known = newest.get(&deployment).map_or(0, |(version, _)| *version);
                if release.version > known {
                    newest.insert(deployment, (release.version, found));
                }
            }
            let Some(token) = page.metadata.continue_.filter(|token| !token.is_empty()) else {
                return Ok(newest.into_values().map(|(_, release)| release).collect());
            };
            params = params.continue_token(&token);
        }
    }
}
