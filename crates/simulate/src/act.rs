//! What decisions are made of, and how it is done.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::hash::hash;
use crate::world::{Kind, World};

/// Whose part is played: the field manager, and the source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The controllers of workloads and nodes.
    Controllers,
    /// The scheduler.
    Scheduler,
    /// A node's kubelet.
    Kubelet,
}

impl Part {
    /// The field manager.
    pub fn manager(self) -> &'static str {
        match self {
            Self::Controllers => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
        }
    }
}

/// An object that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Of which kind.
    pub kind: Kind,
    /// Empty for nodes.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

impl Target {
    /// This object.
    pub fn of<K: crate::world::Known>(object: &K) -> Self {
        Self {
            kind: K::KIND,
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
        }
    }
}

/// Whether an event is a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// All is well.
    Normal,
    /// Somebody should look.
    Warning,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Makes an object.
    Create {
        /// Who.
        part: Part,
        /// Of which kind.
        kind: Kind,
        /// The object.
        object: Value,
    },
    /// A merge patch of an object, or of its status.
    Patch {
        /// Who.
        part: Part,
        /// Which object.
        target: Target,
        /// `status`, or empty.
        subresource: &'static str,
        /// The patch.
        patch: Value,
    },
    /// Places a pod on a node.
    Bind {
        /// The pod.
        pod: Target,
        /// The node.
        node: String,
    },
    /// Deletes an object.
    Delete {
        /// Which one.
        target: Target,
        /// Seconds of grace; the object's own if none.
        grace_seconds: Option<u32>,
    },
    /// Tells people something about an object.
    Tell {
        /// Who.
        part: Part,
        /// About what.
        about: Target,
        /// Whether it is bad.
        severity: Severity,
        /// In CamelCase.
        reason: &'static str,
        /// A sentence.
        message: String,
        /// Which node's kubelet says it; empty for the other parts.
        host: String,
    },
    /// Renews a node's Lease.
    Renew {
        /// The node.
        node: String,
        /// UID of the node.
        uid: String,
    },
    /// Notes, so that it is told once only, why a pod fits nowhere.
    Note {
        /// UID of the pod.
        pod: String,
        /// Why.
        why: String,
    },
}

impl Act {
    /// What it is, in a few words for a log: no part of an object but its name.
    pub fn name(&self) -> String {
        let of = |verb: &str, target: &Target| {
            let Target {
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
            Self::Tell { about, reason, .. } => of(reason, about),
            Self::Renew { node, .. } => format!("renew the lease of {node}"),
            Self::Note { pod, .. } => format!("note why pod {pod} fits nowhere"),
        }
    }
}

impl Act {
    /// What it is about, for telling one thing that fails from another: as [`Self::name`], but two
    /// objects to be made whose names the API chooses are told apart by whose they are.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::Create { kind, object, .. } => {
                let meta = &object["metadata"];
                let part = |name: &str| meta[name].as_str().unwrap_or_default();
                let name = [part("name"), part("generateName")].concat();
                format!("create {kind:?} {}/{name}", part("namespace"))
            }
            _ => self.name(),
        }
    }
}

/// What became of an act.
pub(crate) enum Done {
    /// An object is as it was written.
    Wrote(Kind, Value),
    /// An object is gone.
    Gone(Target),
    /// A Lease was renewed.
    Renewed(String, Timestamp),
    /// A pod's trouble is noted.
    Noted(String, String),
    /// Nothing that the world would know of.
    Nothing,
}

impl Done {
    pub(crate) fn take(self, world: &mut World) {
        match self {
            Self::Wrote(kind, object) => {
                if let Err(error) = kind.take(world, object) {
                    tracing::error!(?kind, %error, "the API's answer is not of its kind");
                }
            }
            Self::Gone(target) => {
                target
                    .kind
                    .forget(world, &target.namespace, &target.name, &target.uid);
            }
            Self::Renewed(node, at) => world.renewed(node, at),
            Self::Noted(pod, why) => world.note(pod, why),
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

fn wrote(kind: Kind, object: &DynamicObject) -> Result<Done, kube::Error> {
    let value = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
    Ok(Done::Wrote(kind, value))
}

/// Does one thing.
pub(crate) async fn act(client: &Client, act: Act, now: Timestamp) -> Result<Done, kube::Error> {
    match act {
        Act::Create { part, kind, object } => {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
            let api = api(client, kind, namespace);
            let object: DynamicObject =
                serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
            wrote(kind, &api.create(&post(part), &object).await?)
        }
        Act::Patch {
            part,
            target,
            subresource,
            mut patch,
        } => {
            patch["metadata"]["uid"] = target.uid.into();
            let api = api(client, target.kind, &target.namespace);
            let params = PatchParams {
                field_manager: Some(part.manager().to_owned()),
                ..PatchParams::default()
            };
            let patch = Patch::Merge(patch);
            let done = match subresource {
                "status" => api.patch_status(&target.name, &params, &patch).await?,
                _ => api.patch(&target.name, &params, &patch).await?,
            };
            wrote(target.kind, &done)
        }
        Act::Bind { pod, node } => bind(client, &pod, &node).await,
        Act::Delete {
            target,
            grace_seconds,
        } => delete(client, target, grace_seconds).await,
        Act::Tell {
            part,
            about,
            severity,
            reason,
            message,
            host,
        } => {
            let event = event(part, &about, severity, reason, &message, &host, now);
            let namespace = event.namespace().unwrap_or_default();
            let api: Api<Event> = Api::namespaced(client.clone(), &namespace);
            api.create(&post(part), &event).await?;
            Ok(Done::Nothing)
        }
        Act::Renew { node, uid } => renew(client, node, &uid, now).await,
        Act::Note { pod, why } => Ok(Done::Noted(pod, why)),
    }
}

fn post(part: Part) -> PostParams {
    PostParams {
        field_manager: Some(part.manager().to_owned()),
        ..PostParams::default()
    }
}

async fn bind(client: &Client, pod: &Target, node: &str) -> Result<Done, kube::Error> {
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    });
    let api = api(client, Kind::Pod, &pod.namespace);
    let params = post(Part::Scheduler);
    let _: Value = api
        .create_subresource("binding", &pod.name, &params, &binding)
        .await?;
    wrote(Kind::Pod, &api.get(&pod.name).await?)
}

async fn delete(
    client: &Client,
    target: Target,
    grace_seconds: Option<u32>,
) -> Result<Done, kube::Error> {
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
        Err(kube::Error::Api(error)) if error.code == 404 => Ok(Done::Gone(target)),
        Err(error) => Err(error),
        // Some kinds take their time: their deletion has begun, and a watch tells of the end.
        Ok(_) => Ok(match api.get_opt(&target.name).await? {
            Some(still) if still.uid().as_deref() == Some(&target.uid) => {
                wrote(target.kind, &still)?
            }
            _ => Done::Gone(target),
        }),
    }
}

fn event(
    part: Part,
    about: &Target,
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
    // The reason too: several things are said about an object at the same time.
    let unique = hash(&format!("{reason}{message}{host}{}", about.uid));
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
        "source": {"component": part.manager(), "host": host},
        "reportingComponent": part.manager(), "reportingInstance": host,
    });
    serde_json::from_value(value).expect("what was just written is an Event")
}

async fn renew(
    client: &Client,
    node: String,
    uid: &str,
    now: Timestamp,
) -> Result<Done, kube::Error> {
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
    let params = PatchParams::apply(Part::Kubelet.manager()).force();
    api.patch(&node, &params, &Patch::Apply(&lease)).await?;
    Ok(Done::Renewed(node, now))
}
