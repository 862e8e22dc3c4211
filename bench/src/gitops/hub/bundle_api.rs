//! The bundles on a hub, which the load generator writes and observes.

use std::time::Duration;

use drover_api::fleet::{Bundle, FleetCluster};
use drover_api::gitops::FLEET_NAMESPACE;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::super::observer::Observer;
use super::{HubError, refused};

/// Number of concurrent writes of bundles.
const WRITES: usize = 8;
/// Timeout until all agents have checked in, in seconds.
const CHECK_IN_SECONDS: u32 = 300;

/// Writes and observes the bundles on the hub of Drover or of Fleet.
#[derive(Clone)]
pub(in crate::gitops) struct BundleApi {
    pub(in crate::gitops) client: Client,
}

impl BundleApi {
    pub(in crate::gitops) const fn new(client: Client) -> Self {
        Self { client }
    }

    fn bundles(&self) -> Api<Bundle> {
        Api::namespaced(self.client.clone(), FLEET_NAMESPACE)
    }

    /// Starts to follow the bundles and the bundle deployments.
    pub(in crate::gitops) async fn observe(&self) -> Result<Observer, HubError> {
        Ok(Observer::start(&self.client).await?)
    }

    /// Creates bundles.
    pub(in crate::gitops) async fn create(&self, bundles: &[Bundle]) -> Result<(), HubError> {
        let (api, params) = (self.bundles(), PostParams::default());
        let creations = bundles.iter().map(|bundle| api.create(&params, bundle));
        let creations = futures::stream::iter(creations).buffer_unordered(WRITES);
        let created: Result<Vec<Bundle>, _> = creations.try_collect().await;
        created.map(drop).map_err(refused("create a bundle"))
    }

    /// Replaces the files of a bundle.
    pub(in crate::gitops) async fn change(
        &self,
        name: &str,
        resources: Value,
    ) -> Result<(), HubError> {
        let patch = Patch::Merge(json!({ "spec": { "resources": resources } }));
        let (api, params) = (self.bundles(), PatchParams::default());
        let changed = api.patch(name, &params, &patch).await;
        changed.map(drop).map_err(refused("change a bundle"))
    }

    /// Deletes all bundles, and waits until the agents have removed their objects from the hub.
    pub(in crate::gitops) async fn delete_all(&self, observer: &Observer) -> Result<(), HubError> {
        let api = self.bundles();
        let listed = api.list_metadata(&ListParams::default()).await;
        let listed = listed.map_err(refused("list the bundles"))?;
        for bundle in listed.items {
            let deleted = api
                .delete(&bundle.name_any(), &DeleteParams::default())
                .await;
            deleted.map_err(refused("delete a bundle"))?;
        }
        Ok(observer.until_deleted().await?)
    }

    /// Waits until the agents of all clusters have checked in. They then follow their bundle deployments.
    pub(in crate::gitops) async fn until_checked_in(&self, total: u32) -> Result<(), HubError> {
        let api = Api::<FleetCluster>::namespaced(self.client.clone(), FLEET_NAMESPACE);
        let mut count = 0;
        for _ in 0..CHECK_IN_SECONDS {
            let listed = api.list(&ListParams::default()).await;
            let listed = listed.map_err(refused("list the Fleet Clusters"))?;
            let seen = |cluster: &&FleetCluster| {
                let status = cluster.status.as_ref();
                status.is_some_and(|status| status.agent.last_seen.is_some())
            };
            count = listed.items.iter().filter(seen).count();
            if count >= total as usize {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Err(HubError::NotCheckedIn { count, total })
    }
}
