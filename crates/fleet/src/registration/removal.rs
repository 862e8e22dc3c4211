//! Deletes the objects of a deleted Fleet Cluster with Fleet's own agent, and reports that the server
//! cannot import clusters.

use drover_api::fleet::{ClusterRegistration, FleetCluster};
use drover_gitops::ids::cluster_namespace;
use drover_gitops::states::set_condition;
use drover_hub::{HubError, call};
use drover_reconcile::finalizer::{has_finalizer, remove_finalizer};
use drover_reconcile::{Action, Attempt, Reconciler};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt as _};

use super::{FINALIZER, optional};
use crate::mirror::Key;
use crate::rights::Rights;
use crate::world::World;
use crate::writes::{delete, now, parameters, write_status};

/// The controller of deleted and imported Fleet Clusters. The key is the namespace and name.
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

    /// Reports that the server does not import clusters with a kubeconfig.
    async fn refuse_import(&self, key: &Key, cluster: &FleetCluster) -> Result<(), HubError> {
        let mut status = cluster.status.clone().unwrap_or_default();
        let message = "the import of clusters with spec.kubeConfigSecret is not supported yet; create a \
                       ClusterRegistrationToken, and install Fleet's agent with its values, or import the \
                       cluster with Drover";
        let (name, reason) = ("Imported", "NotSupported");
        let conditions = &mut status.conditions;
        if set_condition(conditions, name, "False", reason, message, &now()) {
            let operation = "write the status of an imported Fleet Cluster";
            let before = cluster.status.clone().unwrap_or_default();
            write_status(operation, &self.api(key), &key.name, Some(&before), &status).await?;
        }
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
        // A cluster with a namespace has an agent, and another controller writes its conditions.
        let status = cluster.status.as_ref();
        let has_agent = status.is_some_and(|status| !status.namespace.is_empty());
        if !cluster.spec.kube_config_secret.is_empty() && !has_agent {
            self.refuse_import(key, &cluster).await?;
        }
        Ok(Action::await_change())
    }

    fn is_expected(&self, error: &HubError) -> bool {
        error.is_conflict()
    }
}
