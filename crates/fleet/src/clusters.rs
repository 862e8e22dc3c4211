//! Creates a Fleet Cluster, a namespace and the agent's rights for each Cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_api::fleet::{self, FleetCluster};
use drover_api::gitops::FLEET_NAMESPACE;
use drover_api::kinds::{CheckInSpec, Cluster};
use drover_gitops::ids::cluster_namespace;
use drover_hub::{Hub, HubError};
use drover_reconcile::{Action, Attempt, Reconciler};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;
use serde_json::json;

use crate::mirror::Key;
use crate::rights::Rights;
use crate::world::World;
use crate::writes::{UNREADABLE, create, delete, exists, write_status};
use drover_api::group::SERVER_FIELD_MANAGER;
use drover_hub::call;

/// Label of a Fleet Cluster with the UID of its Cluster.
pub(crate) const CLUSTER_UID_LABEL: &str = "management.drover.dev/cluster-uid";
/// Annotation of a Fleet Cluster with the windows of its agent: the JSON of a [`CheckInSpec`].
pub(crate) const CHECK_IN: &str = "management.drover.dev/check-in";
/// Prefix of labels that only Kubernetes and Drover write.
const OWN_LABELS: &str = "management.drover.dev/";

/// The state of a Cluster that the Fleet Cluster has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Written {
    uid: String,
    labels: BTreeMap<String, String>,
    check_in: Option<CheckInSpec>,
}

impl Written {
    fn of(cluster: &Cluster) -> Self {
        let labels = cluster.labels().iter();
        let labels = labels.filter(|(key, _)| !key.starts_with(OWN_LABELS));
        Self {
            uid: cluster.uid().unwrap_or_default(),
            labels: labels
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            check_in: cluster.spec.check_in.clone(),
        }
    }
}

/// The controller of Fleet Clusters. The key is the name of a Cluster.
#[derive(Clone)]
pub(crate) struct Clusters {
    hub: Hub,
    world: World,
    rights: Rights,
    written: Arc<Mutex<BTreeMap<String, Written>>>,
}

impl Clusters {
    pub(crate) fn new(hub: Hub, world: World, rights: Rights) -> Self {
        Self {
            hub,
            world,
            rights,
            written: Arc::default(),
        }
    }

    /// Returns the names of the Clusters whose Fleet Cluster is absent or outdated, and of the Fleet
    /// Clusters whose Cluster is deleted.
    pub(crate) fn outdated(&self) -> Vec<String> {
        let written = self.written.lock();
        let clusters = self.hub.stores().clusters.all();
        let changed = clusters.iter().filter(|cluster| {
            let known = written.get(&cluster.name_any());
            known != Some(&Written::of(cluster))
        });
        let mut names: Vec<String> = changed.map(|cluster| cluster.name_any()).collect();
        let present = self.world.clusters.in_namespace(FLEET_NAMESPACE);
        let without_cluster = present.iter().filter(|present| {
            let uid = present.labels().get(CLUSTER_UID_LABEL);
            uid.is_some_and(|uid| self.hub.stores().clusters.by_uid(uid).is_none())
        });
        names.extend(without_cluster.map(|cluster| cluster.name_any()));
        names
    }

    /// Forgets the written state, because another server may have changed the objects.
    pub(crate) fn forget(&self) {
        self.written.lock().clear();
    }

    async fn write(&self, cluster: &Cluster) -> Result<(), HubError> {
        let key = Key::new(FLEET_NAMESPACE, cluster.name_any());
        let wanted = Written::of(cluster);
        if let Some(present) = self.world.clusters.get(&key) {
            match present.labels().get(CLUSTER_UID_LABEL) {
                Some(uid) if *uid == wanted.uid => {}
                Some(_) => self.remove(&key).await?,
                None => {
                    tracing::warn!(
                        cluster = key.name,
                        "the Fleet Cluster {key} exists and belongs to no Cluster; the Cluster gets no \
                         bundles until you delete the Fleet Cluster"
                    );
                    return Ok(());
                }
            }
        }
        let namespace = cluster_namespace(&key.namespace, &key.name);
        if self.is_prepared(&key, &wanted, &namespace) {
            self.apply(&key, &wanted).await?;
        } else {
            write_namespace(&self.hub.client(), &key, &namespace).await?;
            self.rights.write_account(&namespace).await?;
            self.rights.prepare(&key, &namespace).await?;
            self.apply(&key, &wanted).await?;
            let operation = "write the namespace of a Fleet Cluster";
            let status = json!({ "namespace": namespace });
            write_status(operation, &self.api(), &key.name, None, &status).await?;
        }
        self.written.lock().insert(key.name, wanted);
        Ok(())
    }

    /// Reports whether this server has written all objects of the Cluster, so that only labels differ.
    fn is_prepared(&self, key: &Key, wanted: &Written, namespace: &str) -> bool {
        let written = self.written.lock();
        let is_same = |written: &Written| written.uid == wanted.uid;
        let present = self.world.clusters.get(key);
        let status = present.as_ref().and_then(|present| present.status.as_ref());
        written.get(&key.name).is_some_and(is_same)
            && status.is_some_and(|status| status.namespace == namespace)
    }

    /// Applies only the fields of the server, so that users can set templateValues and other labels.
    async fn apply(&self, key: &Key, wanted: &Written) -> Result<(), HubError> {
        let mut labels = wanted.labels.clone();
        labels.insert(CLUSTER_UID_LABEL.to_owned(), wanted.uid.clone());
        let check_in = wanted.check_in.iter();
        let annotations: BTreeMap<&str, String> = check_in
            .map(|check_in| (CHECK_IN, json!(check_in).to_string()))
            .collect();
        let object = json!({
            "apiVersion": fleet::API_VERSION, "kind": "Cluster",
            "metadata": {
                "name": key.name, "namespace": key.namespace, "labels": labels,
                "annotations": annotations,
            },
            "spec": { "clientID": wanted.uid },
        });
        let params = PatchParams::apply(SERVER_FIELD_MANAGER).force();
        let patch = Patch::Apply(&object);
        let clusters = self.api();
        let applied = clusters.patch(&key.name, &params, &patch);
        call("write a Fleet Cluster", applied).await?;
        Ok(())
    }

    /// Deletes a Fleet Cluster with its namespace and rights. The objects in the cluster remain.
    async fn remove(&self, key: &Key) -> Result<(), HubError> {
        let namespace = cluster_namespace(&key.namespace, &key.name);
        self.rights.remove(key, &namespace).await?;
        let namespaces = Api::<Namespace>::all(self.hub.client());
        delete("delete the namespace of a cluster", &namespaces, &namespace).await?;
        delete("delete a Fleet Cluster", &self.api(), &key.name).await?;
        self.written.lock().remove(&key.name);
        Ok(())
    }

    fn api(&self) -> Api<FleetCluster> {
        Api::namespaced(self.hub.client(), FLEET_NAMESPACE)
    }
}

impl Reconciler for Clusters {
    type Key = String;
    type Error = HubError;

    async fn reconcile(&self, name: &String, _: &Attempt) -> Result<Action, HubError> {
        let cluster = self.hub.stores().clusters.by_name(name);
        match cluster {
            Some(cluster) if cluster.metadata.deletion_timestamp.is_none() => {
                self.write(&cluster).await?;
            }
            Some(_) => {}
            None => {
                let key = Key::new(FLEET_NAMESPACE, name.clone());
                let present = self.world.clusters.get(&key);
                if present.is_some_and(|it| it.labels().contains_key(CLUSTER_UID_LABEL)) {
                    let clusters = Api::<Cluster>::all(self.hub.client());
                    if exists("find a Cluster", &clusters, name).await? {
                        return Ok(Action::requeue(UNREADABLE));
                    }
                    self.remove(&key).await?;
                }
            }
        }
        Ok(Action::await_change())
    }
}

/// Creates the namespace of a Fleet Cluster.
pub(crate) async fn write_namespace(
    client: &Client,
    cluster: &Key,
    name: &str,
) -> Result<(), HubError> {
    let annotations = [
        (fleet::labels::CLUSTER_NAMESPACE, &cluster.namespace),
        (fleet::labels::CLUSTER, &cluster.name),
    ];
    let owned = |(key, value): (&str, &String)| (key.to_owned(), value.clone());
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some([(fleet::labels::MANAGED.to_owned(), "true".to_owned())].into()),
            annotations: Some(annotations.into_iter().map(owned).collect()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let namespaces = Api::all(client.clone());
    create("create the namespace of a cluster", &namespaces, &namespace).await?;
    Ok(())
}
