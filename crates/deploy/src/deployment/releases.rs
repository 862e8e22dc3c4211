//! Lists the releases that bundle deployments have in the cluster.

use std::collections::BTreeMap;

use drover_apply::call;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams};

use super::finished::CLUSTER;
use super::{DeployError, Deployer};
use crate::object::DEPLOYMENT_LABEL;
use crate::release::{HistoryError, Stored, decode};
use crate::signature::annotation;

/// Number of records in a page of a list. Each record can have 1 MiB.
pub(super) const PAGE_SIZE: u32 = 20;

/// A release of a bundle deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseOf {
    /// Name of the bundle deployment.
    pub deployment: String,
    /// Release, `namespace/name:revision`.
    pub release: String,
    /// UID of the Cluster on the hub that requested the deployment, or an empty text.
    pub cluster: String,
    /// True if the objects stay after the removal.
    pub keep_resources: bool,
    /// Service account of the bundle. Empty for the agent's account.
    pub service_account: String,
}

impl Deployer {
    /// Returns the newest release of each bundle deployment that this agent deployed. Ignores records
    /// without a valid signature.
    pub async fn releases(&self) -> Result<Vec<ReleaseOf>, DeployError> {
        let key = self.keys.get().await.map_err(HistoryError::from)?;
        let secrets = Api::<Secret>::all(self.cluster.client().clone());
        let mut params = ListParams::default()
            .labels(&format!("owner=helm,{DEPLOYMENT_LABEL}"))
            .limit(PAGE_SIZE);
        let mut newest: BTreeMap<String, (u32, ReleaseOf)> = BTreeMap::new();
        loop {
            let listed = secrets.list(&params);
            let page = call("list the release records".to_owned(), listed).await;
            let page = page.map_err(HistoryError::from)?;
            for secret in page.items {
                let place = place(&secret);
                let Some(stored) = decode(secret, &key) else {
                    continue;
                };
                let Some(found) = release_of(&stored) else {
                    tracing::warn!(
                        secret = place,
                        "ignored a release record without a valid signature"
                    );
                    continue;
                };
                let known = newest
                    .get(&found.deployment)
                    .map_or(0, |(version, _)| *version);
                let version = stored.release.version;
                if version > known {
                    newest.insert(found.deployment.clone(), (version, found));
                }
            }
            let Some(token) = page.metadata.continue_.filter(|token| !token.is_empty()) else {
                return Ok(newest.into_values().map(|(_, release)| release).collect());
            };
            params = params.continue_token(&token);
        }
    }
}

fn place(secret: &Secret) -> String {
    let (namespace, name) = (&secret.metadata.namespace, &secret.metadata.name);
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{}/{}", text(namespace), text(name))
}

/// Returns the release of a record that the agent signed.
fn release_of(stored: &Stored) -> Option<ReleaseOf> {
    let release = &stored.release;
    let annotation = |name: &str| annotation(release, name).unwrap_or_default().to_owned();
    Some(ReleaseOf {
        deployment: stored.deployment.clone()?,
        release: format!("{}/{}:{}", release.namespace, release.name, release.version),
        cluster: annotation(CLUSTER),
        keep_resources: annotation("fleet.cattle.io/keep-resources") == "true",
        service_account: annotation("fleet.cattle.io/service-account"),
    })
}
