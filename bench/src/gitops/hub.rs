//! The hub of the measured server: numbers of requests, labels and the size of the stored state.

mod bundle_api;

use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_api::client_error::ClientError;
use drover_api::fleet::{BundleDeployment, FleetCluster};
use drover_api::gitops::FLEET_NAMESPACE;
use drover_api::kinds::Cluster;
use drover_gitops::ids::cluster_namespace;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::observer::{TimedOut, is_ready};
use super::requests::Requests;
use crate::administrator::{Administrator, AdministratorError, IMPORTED};
use crate::scale::Stage;
pub(super) use bundle_api::BundleApi;

/// Timeout of the deletion of a Cluster, in seconds.
const DELETION_SECONDS: u32 = 60;

/// The reason why the hub cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HubError {
    /// The hub rejected a request.
    #[error("the hub rejected the request to {operation}")]
    Refused {
        operation: &'static str,
        source: ClientError,
    },
    /// A request to the server failed.
    #[error(transparent)]
    Administrator(#[from] AdministratorError),
    /// The deployments did not become ready.
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    /// The agents do not deploy.
    #[error("timed out: {count} of {total} agents have checked in at the hub")]
    NotCheckedIn { count: usize, total: u32 },
    /// The Cluster without an agent exists.
    #[error(
        "the Fleet Cluster {IMPORTED} exists {DELETION_SECONDS} s after the deletion of its Cluster"
    )]
    NotDeleted,
    /// The changed label has no effect.
    #[error("the deployment in {cluster} does not have the options of its new label")]
    NotChanged { cluster: String },
    /// The size of the stored state cannot be read.
    #[error("cannot read the size of {path}")]
    Size {
        path: PathBuf,
        source: std::io::Error,
    },
}

fn refused(operation: &'static str) -> impl Fn(kube::Error) -> HubError {
    move |source| HubError::Refused {
        operation,
        source: source.into(),
    }
}

/// The hub of a running server.
pub(super) struct Hub {
    pub(super) bundles: BundleApi,
    administrator: Administrator,
    folder: PathBuf,
}

impl Hub {
    /// Connects to the hub, and deletes the Cluster without an agent, which would never be ready.
    pub(super) async fn of(stage: &Stage) -> Result<Self, HubError> {
        let hub = Self {
            bundles: BundleApi::new(stage.api().hub_client()?),
            administrator: stage.api().clone(),
            folder: stage.folder().join("data"),
        };
        hub.administrator
            .delete(&format!("/v1/clusters/{IMPORTED}"))
            .await?;
        let clusters = Api::<FleetCluster>::namespaced(hub.bundles.client.clone(), FLEET_NAMESPACE);
        for _ in 0..DELETION_SECONDS {
            let found = clusters.get_opt(IMPORTED).await;
            if found.map_err(refused("read a Fleet Cluster"))?.is_none() {
                return Ok(hub);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Err(HubError::NotDeleted)
    }

    /// Sets a label of a Cluster.
    pub(super) async fn set_label(
        &self,
        cluster: &str,
        label: &str,
        value: &str,
    ) -> Result<(), HubError> {
        let patch = Patch::Merge(json!({ "metadata": { "labels": { label: value } } }));
        let (api, params) = (
            Api::<Cluster>::all(self.bundles.client.clone()),
            PatchParams::default(),
        );
        let changed = api.patch(cluster, &params, &patch).await;
        changed.map(drop).map_err(refused("set a label"))
    }

    /// Checks that a bundle is deployed and ready in a cluster, with this default namespace.
    pub(super) async fn check_deployed(
        &self,
        cluster: &str,
        bundle: &str,
        namespace: &str,
    ) -> Result<(), HubError> {
        let place = cluster_namespace(FLEET_NAMESPACE, cluster);
        let api = Api::<BundleDeployment>::namespaced(self.bundles.client.clone(), &place);
        let found = api.get(bundle).await;
        let found = found.map_err(refused("read a bundle deployment"))?;
        if found.spec.options.default_namespace == namespace && is_ready(&found) {
            return Ok(());
        }
        Err(HubError::NotChanged {
            cluster: cluster.to_owned(),
        })
    }

    /// Returns the numbers of requests since the start of the server.
    pub(super) async fn requests(&self) -> Result<Requests, HubError> {
        Ok(Requests::parse(&self.administrator.get("/metrics").await?))
    }

    /// Waits until the hub gets no more requests for some time. Returns the numbers of requests.
    pub(super) async fn until_idle(&self, quiet: Duration) -> Result<Requests, HubError> {
        let mut last = self.requests().await?;
        for _ in 0..20 {
            tokio::time::sleep(quiet).await;
            let now = self.requests().await?;
            if now == last {
                break;
            }
            last = now;
        }
        Ok(last)
    }

    /// Returns the size of the files with the hub's state, in bytes.
    pub(super) fn size(&self) -> Result<u64, HubError> {
        size(&self.folder)
    }
}

fn size(folder: &Path) -> Result<u64, HubError> {
    let failed = |source| HubError::Size {
        path: folder.to_owned(),
        source,
    };
    let mut sum = 0;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = entry.metadata().map_err(failed)?;
        if metadata.is_dir() {
            sum += size(&entry.path())?;
        } else {
            sum += metadata.len();
        }
    }
    Ok(sum)
}
