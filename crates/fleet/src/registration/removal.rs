//! Deletes the objects of a deleted Fleet Cluster with Fleet's registration. The agent and its bundles stay in
//! the cluster.

use drover_api::fleet::{ClusterRegistration, FleetCluster};
use drover_gitops::ids::cluster_namespace;
use drover_hub::{HubError, call};
use drover_reconcile::finalizer::{has_finalizer, remove_finalizer};
use drover_reconcile::{Action, Attempt, Reconciler};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt as _};

use super::{FINALIZER, IMPORT_TOKEN, import, optional, tokens};
use crate::mirror::Key;
use crate::rights::Rights;
use crate::world::World;
use crate::writes::{delete, parameters};

/// The controller of deleted Fleet Clusters. The key is the namespace and name.
pub(super) struct Removal {
    pub(super) client: Client,
    pub(super) world: World,
    pub(super) rights: Rights,
}

impl Removal {
    async fn remove(&self, key: &Key, cluster: &FleetCluster) -> Result<(), HubError> {
        let requests = self.world.registrations.in_namespace(&key.namespace);
        let of_cluster = requests.iter().filter(|request| {
            let status = request.status.as_ref();
            status.is_some_and(|status| status.cluster_name == key.name)
        });
        let api = Api::<ClusterRegistration>::namespaced(self.client.clone(), &key.namespace);
        for request in of_cluster {
            delete("delete a ClusterRegistration", &api, &request.name_any()).await?;
        }
        let token = Key::new(&key.namespace, import::token_name(&key.name));
        let token = self.world.tokens.get(&token);
        let recorded = cluster.annotations().get(IMPORT_TOKEN);
        if let Some(token) = token.filter(|token| token.metadata.uid.as_ref() == recorded) {
            tokens::delete_token(&self.client, &key.namespace, &token).await?;
        }
        let namespace = cluster_namespace(&key.namespace, &key.name);
        self.rights.remove(key, &namespace).await?;
        let namespaces = Api::<Namespace>::all(self.client.clone());
        delete("delete the namespace of a cluster", &namespaces, &namespace).await?;
        let params = parameters();
        let api = self.api(key);
        let removed = remove_finalizer(&api, cluster, FINALIZER, &params);
        optional(call("remove the finalizer of a Fleet Cluster", removed).await)?;
        Ok(())
    }

    fn api(&self, key: &Key) -> Api<FleetCluster> {
        Api::namespaced(self.client.clone(), &key.namespace)
    }
}

impl Reconciler for Removal {
    type Key = Key;
    type Error = HubError;

    async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, HubError> {
        let Some(cluster) = self.world.clusters.get(key) else {
            return Ok(Action::await_change());
        };
        if cluster.metadata.deletion_timestamp.is_some() {
            if has_finalizer(&*cluster, FINALIZER) {
                self.remove(key, &cluster).await?;
            }
            return Ok(Action::await_change());
        }
        Ok(Action::await_change())
    }

    fn is_expected(&self, error: &HubError) -> bool {
        error.is_conflict()
    }
}
