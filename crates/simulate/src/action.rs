//! Changes to a simulated cluster, and their execution through the API.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::world::{Kind, World};

/// The simulated component that performs an action. The component is the field manager of writes
/// and the source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// The controllers of workloads and nodes (kube-controller-manager).
    Controllers,
    /// The scheduler (kube-scheduler).
    Scheduler,
    /// The kubelet of a node.
    Kubelet,
}

impl Component {
    /// Returns the field manager that the component uses in writes.
    pub fn manager(self) -> &'static str {
        match self {
            Self::Controllers => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
        }
    }
}

/// A reference to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef {
    /// Kind of the object.
    pub kind: Kind,
    /// Namespace of the object. Empty for nodes.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// UID of the object.
    pub uid: String,
}

impl ObjectRef {
    /// Returns the reference to an object.
    pub fn of<K: crate::world::SimulatedKind>(object: &K) -> Self {
        Self {
            kind: K::KIND,
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
        }
    }
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// An event of type `Normal`.
    Normal,
    /// An event of type `Warning`.
    Warning,
}

/// A change of the simulated cluster that a component performs.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Creates an object.
    Create {
        /// The component that performs the action.
        component: Component,
        /// Kind of the object to create.
        kind: Kind,
        /// The object to create, as JSON.
        object: Value,
    },
    /// Applies a merge patch to an object or its status.
    Patch {
        /// The component that performs the action.
        component: Component,
        /// The object to patch.
        target: ObjectRef,
        /// The subresource `status`. Empty for a patch of the object itself.
        subresource: &'static str,
        /// The JSON merge patch.
        patch: Value,
    },
    /// Binds a pod to a node.
    Bind {
        /// The pod to bind.
        pod: ObjectRef,
        /// Name of the node.
        node: String,
    },
    /// Deletes an object.
    Delete {
        /// The object to delete.
        target: ObjectRef,
        /// Grace period in seconds. `None` uses the grace period of the object.
        grace_seconds: Option<u32>,
    },
    /// Creates an event about an object.
    EmitEvent {
        /// The component that performs the action.
        component: Component,
        /// The object of the event (`involvedObject`).
        about: ObjectRef,
        /// The type of the event: `Normal` or `Warning`.
        severity: Severity,
        /// The reason of the event, in CamelCase.
        reason: &'static str,
        /// Text of the event.
        message: String,
        /// Name of the kubelet's node. Empty if the component is not a kubelet.
        host: String,
    },
    /// Renews the Lease of a node.
    RenewLease {
        /// Name of the node.
        node: String,
        /// UID of the node.
        uid: String,
    },
    /// Records the reason why a pod is unschedulable, so that the event is created once.
    RecordUnschedulable {
        /// UID of the pod.
        pod: String,
        /// The scheduler's reason why the pod is unschedulable.
        why: String,
    },
}

impl Action {
    /// Describes the action for a log. The description contains only the kind, namespace and name
    /// of the object.
    pub fn name(&self) -> String {
        let of = |verb: &str, target: &ObjectRef| {
            let ObjectRef {
                kind,
                namespace,
                name,
                ..
            } = target;
            format!("{verb} {kind:?} {namespace}/{name}")
        };
        match self {
            Self::Create { kind, object, .. } => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                format!("create {kind:?} {name}")
            }
            Self::Patch { target, .. } => of("patch", target),
            Self::Bind { pod, .. } => of("bind", pod),
            Self::Delete { target, .. } => of("delete", target),
            Self::EmitEvent { about, reason, .. } => of(reason, about),
            Self::RenewLease { node, .. } => format!("renew the lease of {node}"),
            Self::RecordUnschedulable { pod, .. } => format!("record unschedulable pod {pod}"),
        }
    }
}

impl Action {
    /// Returns the key by which the retry code counts failures of the action. The key is
    /// [`Self::name`]. If the API generates the name of the object, the key also contains
    /// `generateName`.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::Create { kind, object, .. } => {
                let meta = &object["metadata"];
                let text = |name: &str| meta[name].as_str().unwrap_or_default();
                let name = [text("name"), text("generateName")].concat();
                format!("create {kind:?} {}/{name}", text("namespace"))
            }
            _ => self.name(),
        }
    }
}

/// The result of an executed action.
pub(crate) enum Outcome {
    /// The API stored an object.
    Written(Kind, Value),
    /// The API deleted an object.
    Deleted(ObjectRef),
    /// The API renewed a Lease.
    LeaseRenewed(String, Timestamp),
    /// The simulation recorded the reason why a pod is unschedulable.
    Recorded(String, String),
    /// The action did not change the in-memory state.
    Nothing,
}

impl Outcome {
    pub(crate) fn apply(self, world: &mut World) {
        match self {
            Self::Written(kind, object) => {
                if let Err(error) = kind.apply_written(world, object) {
                    tracing::error!(?kind, %error, "cannot parse the response of the API");
                }
            }
            Self::Deleted(target) => {
                target
                    .kind
                    .apply_deleted(world, &target.namespace, &target.name, &target.uid);
            }
            Self::LeaseRenewed(node, at) => world.record_lease(node, at),
            Self::Recorded(pod, why) => world.record_unschedulable(pod, why),
            Self::Nothing => {}
        }
    }
}

fn api(client: &Client, kind: Kind, namespace: &str) -> Api<DynamicObject> {
    let resource = kind.resource();
    if namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, &resource)
    }
}

fn written(kind: Kind, object: &DynamicObject) -> Result<Outcome, kube::Error> {
    let value = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
    Ok(Outcome::Written(kind, value))
}

/// Executes the action through the API.
pub(crate) async fn execute(
    client: &Client,
    action: Action,
    now: Timestamp,
) -> Result<Outcome, kube::Error> {
    match action {
        Action::Create {
            component,
            kind,
            object,
        } => {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
            let api = api(client, kind, namespace);
            let object: DynamicObject =
                serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
            written(kind, &api.create(&post(component), &object).await?)
        }
        Action::Patch {
            component,
            target,
            subresource,
            mut patch,
        } => {
            patch["metadata"]["uid"] = target.uid.into();
            let api = api(client, target.kind, &target.namespace);
            let params = PatchParams {
                field_manager: Some(component.manager().to_owned()),
                ..PatchParams::default()
            };
            let patch = Patch::Merge(patch);
            let done = match subresource {
                "status" => api.patch_status(&target.name, &params, &patch).await?,
                _ => api.patch(&target.name, &params, &patch).await?,
            };
            written(target.kind, &done)
        }
        Action::Bind { pod, node } => bind(client, &pod, &node).await,
        Action::Delete {
            target,
            grace_seconds,
        } => delete(client, target, grace_seconds).await,
        Action::EmitEvent {
            component,
            about,
            severity,
            reason,
            message,
            host,
        } => {
            let event = event(component, &about, severity, reason, &message, &host, now);
            let namespace = event.namespace().unwrap_or_default();
            let api: Api<Event> = Api::namespaced(client.clone(), &namespace);
            api.create(&post(component), &event).await?;
            Ok(Outcome::Nothing)
        }
        Action::RenewLease { node, uid } => renew(client, node, &uid, now).await,
        Action::RecordUnschedulable { pod, why: cause } => Ok(Outcome::Recorded(pod, cause)),
    }
}

fn post(component: Component) -> PostParams {
    PostParams {
        field_manager: Some(component.manager().to_owned()),
        ..PostParams::default()
    }
}

async fn bind(client: &Client, pod: &ObjectRef, node: &str) -> Result<Outcome, kube::Error> {
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    });
    let api = api(client, Kind::Pod, &pod.namespace);
    let params = post(Component::Scheduler);
    let _: Value = api
        .create_subresource("binding", &pod.name, &params, &binding)
        .await?;
    written(Kind::Pod, &api.get(&pod.name).await?)
}

async fn delete(
    client: &Client,
    target: ObjectRef,
    grace_seconds: Option<u32>,
) -> Result<Outcome, kube::Error> {
    let api = api(client, target.kind, &target.namespace);
    let params = DeleteParams {
        grace_period_seconds: grace_seconds,
        preconditions: Some(Preconditions {
            uid: Some(target.uid.clone()),
            resource_version: None,
        }),
        propagation_policy: Some(kube::api::PropagationPolicy::Background),
        ..DeleteParams::default()
    };
    match api.delete(&target.name, &params).await {
        Err(kube::Error::Api(error)) if error.code == 404 => Ok(Outcome::Deleted(target)),
        Err(error) => Err(error),
        // An object with a grace period or finalizers is deleted later. A watch then reports the
        // deletion.
        Ok(_) => Ok(match api.get_opt(&target.name).await? {
            Some(still) if still.uid().as_deref() == Some(&target.uid) => {
                written(target.kind, &still)?
            }
            _ => Outcome::Deleted(target),
        }),
    }
}

fn event(
    component: Component,
    about: &ObjectRef,
    severity: Severity,
    reason: &str,
    message: &str,
    host: &str,
    now: Timestamp,
) -> Event {
    let resource = about.kind.resource();
    let namespace = match about.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    };
    // The name contains a hash of the reason, because an object can have several events at the same
    // time.
    let unique = crate::hash::fnv1a(&format!("{reason}{message}{host}{}", about.uid));
    let nanos = now.as_nanosecond();
    let time = json!(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now));
    let value = json!({
        "metadata": {"name": format!("{}.{nanos:x}{unique:08x}", about.name), "namespace": namespace},
        "involvedObject": {
            "apiVersion": resource.api_version, "kind": resource.kind, "name": about.name,
            "namespace": about.namespace, "uid": about.uid,
        },
        "type": match severity { Severity::Normal => "Normal", Severity::Warning => "Warning" },
        "reason": reason, "message": message, "count": 1,
        "firstTimestamp": time, "lastTimestamp": time,
        "source": {"component": component.manager(), "host": host},
        "reportingComponent": component.manager(), "reportingInstance": host,
    });
    serde_json::from_value(value).expect("the value is an Event")
}

async fn renew(
    client: &Client,
    node: String,
    uid: &str,
    now: Timestamp,
) -> Result<Outcome, kube::Error> {
    let api: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
    let time = json!(k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime(
        now
    ));
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": node, "ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}]},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": 240, "renewTime": time},
    });
    let params = PatchParams::apply(Component::Kubelet.manager()).force();
    api.patch(&node, &params, &Patch::Apply(&lease)).await?;
    Ok(Outcome::LeaseRenewed(node, now))
}
