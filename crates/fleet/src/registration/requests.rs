//! Grants ClusterRegistrations: chooses or creates the Fleet Cluster, and gives the agent its credential.

use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::labels::{CLUSTER, REGISTRATION_PROOF, REGISTRATION_TOKEN};
use drover_api::fleet::{
    ClusterRegistration, ClusterRegistrationStatus, FleetCluster, FleetClusterRegistrationToken,
};
use drover_gitops::ids::{cluster_name, cluster_namespace, is_registration_proof};
use drover_hub::{HubError, call};
use drover_reconcile::finalizer::{add_finalizer, has_finalizer, remove_finalizer};
use drover_reconcile::{Action, Attempt, Reconciler, error_chain};
use jiff::{SignedDuration, Timestamp};
use kube::{Api, Client, ResourceExt as _};
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::credentials::{Credentials, Written};
use super::decide::{Decision, Observed, Refusal, admit, decide, labels};
use super::{APPROVE, FINALIZER, GRANTED, account_name, events, optional, tokens};
use crate::clusters::write_namespace;
use crate::mirror::Key;
use crate::rights::Rights;
use crate::world::World;
use crate::writes::{create, delete, merge, parameters, write_status};

/// Time until the next look at a service account without a token.
const TOKEN_WAIT: Duration = Duration::from_millis(200);
/// Time after which a refused request is deleted. Fleet's agent creates a new request every 30 minutes.
const REFUSED: SignedDuration = SignedDuration::from_hours(24);
/// Interval of the checks of a refused request.
const RETRY: Duration = Duration::from_mins(10);

/// The controller of ClusterRegistrations. The key is the namespace and name of a request.
pub(super) struct Requests {
    pub(super) client: Client,
    pub(super) world: World,
    pub(super) rights: Rights,
}

/// A Fleet Cluster that the agent of a request joined, or the reason against it.
type Joined = Result<Key, Refusal>;

impl Requests {
    /// Processes a request that is not granted.
    async fn process(&self, key: &Key, request: &ClusterRegistration) -> Result<Action, HubError> {
        let mut snapshot = self.snapshot(key, request);
        if snapshot.import_of.is_some() {
            snapshot.is_proven = self.is_proven(key, request).await?;
        }
        let joined = match decide(snapshot.observed(request)) {
            Ok(Decision::Create(name)) => self.create_cluster(key, request, name).await?,
            Ok(Decision::Join(name)) => self.join(key, request, &name).await?,
            Err(refusal) => Err(refusal),
        };
        let refusal = match joined {
            Ok(cluster) => match self.grant(request, &cluster).await? {
                Written::Done => return Ok(Action::await_change()),
                Written::TokenMissing => return Ok(Action::requeue(TOKEN_WAIT)),
                Written::SecretTaken => Refusal::SecretTaken,
            },
            Err(refusal) => refusal,
        };
        self.refuse(key, request, &refusal).await
    }

    fn snapshot(&self, key: &Key, request: &ClusterRegistration) -> Snapshot {
        let id = &request.spec.client_id;
        let mut clusters = self.world.clusters.in_namespace(&key.namespace);
        clusters.retain(|cluster| !id.is_empty() && cluster.spec.client_id == *id);
        let name = Key::new(&key.namespace, cluster_name(id));
        let token = self.token(key, request);
        Snapshot {
            clusters,
            is_name_taken: self.world.clusters.get(&name).is_some(),
            import_of: token.as_ref().and_then(|token| import_of(token)),
            token: token.and_then(|token| token.uid()),
            is_proven: false,
        }
    }

    /// Reports whether the author of a request holds the registration token that the request names.
    async fn is_proven(&self, key: &Key, request: &ClusterRegistration) -> Result<bool, HubError> {
        let (spec, proof) = (&request.spec, request.annotations().get(REGISTRATION_PROOF));
        let (Some(token), Some(proof)) = (self.token(key, request), proof) else {
            return Ok(false);
        };
        let bearer = tokens::bearer(&self.client, &key.namespace, &token).await?;
        Ok(bearer.is_some_and(|bearer| {
            let bearer = bearer.expose_secret().as_bytes();
            is_registration_proof(bearer, &spec.client_id, &spec.client_random, proof)
        }))
    }

    /// Returns the valid registration token of a request.
    fn token(
        &self,
        key: &Key,
        request: &ClusterRegistration,
    ) -> Option<Arc<FleetClusterRegistrationToken>> {
        let token = request.labels().get(REGISTRATION_TOKEN)?;
        let token = self.world.tokens.get(&Key::new(&key.namespace, token))?;
        tokens::is_valid(&token, Timestamp::now()).then_some(token)
    }

    async fn create_cluster(
        &self,
        key: &Key,
        request: &ClusterRegistration,
        name: String,
    ) -> Result<Joined, HubError> {
        let mut cluster = FleetCluster::default();
        cluster.spec.client_id.clone_from(&request.spec.client_id);
        let metadata = &mut cluster.metadata;
        metadata.name = Some(name.clone());
        metadata.namespace = Some(key.namespace.clone());
        let mut labels = labels(request);
        labels.insert(CLUSTER.to_owned(), name.clone());
        metadata.labels = Some(labels);
        let uid = request.uid().unwrap_or_default();
        metadata.annotations = Some([(GRANTED.to_owned(), uid)].into());
        metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
        let clusters = self.clusters(&key.namespace);
        match create("create a Fleet Cluster", &clusters, &cluster).await {
            Ok(Some(created)) => {
                self.world.clusters.observe(created);
                Ok(Ok(Key::new(&key.namespace, name)))
            }
            // A concurrent request created the cluster.
            Ok(None) => self.join(key, request, &name).await,
            Err(error) if matches!(error.code(), Some(400 | 422)) => {
                Ok(Err(Refusal::Labels(error_chain(&error))))
            }
            Err(error) => Err(error),
        }
    }

    /// Records in the Fleet Cluster that the agent of the request joins it. The resource version in the
    /// write prevents that two requests join the cluster at the same time.
    async fn join(
        &self,
        key: &Key,
        request: &ClusterRegistration,
        name: &str,
    ) -> Result<Joined, HubError> {
        let clusters = self.clusters(&key.namespace);
        let cluster = call("read a Fleet Cluster", clusters.get(name)).await?;
        let token = self.token(key, request).and_then(|token| token.uid());
        if let Err(refusal) = admit(request, &cluster, &token.unwrap_or_default()) {
            return Ok(Err(refusal));
        }
        let mut finalizers = cluster.finalizers().to_vec();
        if !has_finalizer(&cluster, FINALIZER) {
            finalizers.push(FINALIZER.to_owned());
        }
        let patch = json!({ "metadata": {
            "uid": cluster.uid(),
            "resourceVersion": cluster.resource_version(),
            "annotations": { GRANTED: request.uid(), APPROVE: null },
            "finalizers": finalizers,
        } });
        let operation = "record a registration in a Fleet Cluster";
        let written = merge(operation, &clusters, name, &patch).await?;
        self.world.clusters.observe(written);
        Ok(Ok(Key::new(&key.namespace, name)))
    }

    /// Writes the rights and the credential of the agent.
    async fn grant(
        &self,
        request: &ClusterRegistration,
        cluster: &Key,
    ) -> Result<Written, HubError> {
        let key = Key::of(request);
        let requests = self.api(&key.namespace);
        let request = if has_finalizer(request, FINALIZER) {
            request.clone()
        } else {
            let params = parameters();
            let adding = add_finalizer(&requests, request, FINALIZER, &params);
            call("add the finalizer of a ClusterRegistration", adding).await?
        };
        let mut status = ClusterRegistrationStatus {
            cluster_name: cluster.name.clone(),
            granted: false,
        };
        self.write_request_status(&request, &status).await?;
        let namespace = cluster_namespace(&cluster.namespace, &cluster.name);
        write_namespace(&self.client, cluster, &namespace).await?;
        self.rights.prepare(cluster, &namespace).await?;
        let operation = "write the namespace of a Fleet Cluster";
        let written = json!({ "namespace": namespace });
        let clusters = self.clusters(&cluster.namespace);
        write_status(operation, &clusters, &cluster.name, None, &written).await?;
        let credentials = Credentials {
            client: &self.client,
            request: &request,
            cluster,
            namespace: &namespace,
        };
        let Some(token) = self.token(&key, &request) else {
            return Ok(Written::TokenMissing);
        };
        let written = credentials.write(&account_name(&*token)).await?;
        if written == Written::Done {
            self.delete_older(&request).await?;
            status.granted = true;
            self.write_request_status(&request, &status).await?;
            tracing::info!(request = %key, cluster = %cluster, "granted the registration of a Fleet agent");
        }
        Ok(written)
    }

    /// Deletes the other requests of the agent, and with them the credentials of earlier agents.
    async fn delete_older(&self, request: &ClusterRegistration) -> Result<(), HubError> {
        let namespace = request.namespace().unwrap_or_default();
        let requests = self.api(&namespace);
        let created = |it: &ClusterRegistration| it.metadata.creation_timestamp.clone();
        for other in self.world.registrations.in_namespace(&namespace) {
            let is_other = other.uid() != request.uid();
            let is_same_agent = other.spec.client_id == request.spec.client_id;
            if is_other && is_same_agent && created(&other) <= created(request) {
                let operation = "delete an older ClusterRegistration";
                delete(operation, &requests, &other.name_any()).await?;
            }
        }
        Ok(())
    }

    async fn refuse(
        &self,
        key: &Key,
        request: &ClusterRegistration,
        refusal: &Refusal,
    ) -> Result<Action, HubError> {
        let created = request.metadata.creation_timestamp.as_ref();
        let age = created.map(|created| Timestamp::now().duration_since(created.0));
        if age.is_some_and(|age| age > REFUSED) {
            let operation = "delete a refused ClusterRegistration";
            delete(operation, &self.api(&key.namespace), &key.name).await?;
            return Ok(Action::await_change());
        }
        tracing::debug!(request = %key, reason = refusal.reason(), "refused the registration of an agent");
        events::report(&self.client, request, refusal).await?;
        Ok(Action::requeue(RETRY))
    }

    /// Deletes the objects of a deleted request.
    async fn remove(&self, key: &Key, request: &ClusterRegistration) -> Result<(), HubError> {
        if !has_finalizer(request, FINALIZER) {
            return Ok(());
        }
        let status = request.status.as_ref();
        let cluster = status.map(|status| &*status.cluster_name);
        if let Some(name) = cluster.filter(|name| !name.is_empty()) {
            let cluster = Key::new(&key.namespace, name);
            let namespace = cluster_namespace(&cluster.namespace, &cluster.name);
            let credentials = Credentials {
                client: &self.client,
                request,
                cluster: &cluster,
                namespace: &namespace,
            };
            credentials.delete().await?;
        }
        let (requests, params) = (self.api(&key.namespace), parameters());
        let removing = remove_finalizer(&requests, request, FINALIZER, &params);
        optional(call("remove the finalizer of a ClusterRegistration", removing).await)?;
        Ok(())
    }

    async fn write_request_status(
        &self,
        request: &ClusterRegistration,
        status: &ClusterRegistrationStatus,
    ) -> Result<(), HubError> {
        let namespace = request.namespace().unwrap_or_default();
        let (requests, name) = (self.api(&namespace), request.name_any());
        let operation = "write the status of a ClusterRegistration";
        let before = request.status.clone().unwrap_or_default();
        write_status(operation, &requests, &name, Some(&before), status).await?;
        Ok(())
    }

    fn api(&self, namespace: &str) -> Api<ClusterRegistration> {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn clusters(&self, namespace: &str) -> Api<FleetCluster> {
        Api::namespaced(self.client.clone(), namespace)
    }
}

/// The state of the hub on which the decision about a request depends.
struct Snapshot {
    clusters: Vec<Arc<FleetCluster>>,
    is_name_taken: bool,
    token: Option<String>,
    import_of: Option<String>,
    is_proven: bool,
}

impl Snapshot {
    fn observed<'a>(&'a self, request: &'a ClusterRegistration) -> Observed<'a> {
        Observed {
            request,
            clusters: &self.clusters,
            is_name_taken: self.is_name_taken,
            token: self.token.as_deref(),
            import_of: self.import_of.as_deref(),
            is_proven: self.is_proven,
        }
    }
}

/// Returns the UID of the Fleet Cluster whose import created a token.
fn import_of(token: &FleetClusterRegistrationToken) -> Option<String> {
    let mut owners = token.owner_references().iter();
    let owner = owners.find(|owner| {
        owner.kind == "Cluster" && owner.api_version == drover_api::fleet::API_VERSION
    });
    owner.map(|owner| owner.uid.clone())
}

impl Reconciler for Requests {
    type Key = Key;
    type Error = HubError;

    async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, HubError> {
        let Some(request) = self.world.registrations.get(key) else {
            return Ok(Action::await_change());
        };
        if request.metadata.deletion_timestamp.is_some() {
            self.remove(key, &request).await?;
            return Ok(Action::await_change());
        }
        if request.status.as_ref().is_some_and(|it| it.granted) {
            return Ok(Action::await_change());
        }
        self.process(key, &request).await
    }

    fn is_expected(&self, error: &HubError) -> bool {
        error.is_conflict()
    }
}
