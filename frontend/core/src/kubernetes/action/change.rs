//! A change with its parameters, and the request of the change.

use std::collections::BTreeMap;

use jiff::{Timestamp, Unit};
use serde_json::{Map, Value, json};

use super::pairs::{Taint, taints_text};
use super::request::{ChangeRequest, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH};
use super::revision::{Revision, rollback_annotations};
use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::object::{Object, read};

/// The annotation that `kubectl rollout restart` sets on the pod template.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// The annotation that `kubectl create job --from` sets on the Job.
const INSTANTIATED: &str = "cronjob.kubernetes.io/instantiate";

/// The handling of dependents when an object is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cascade {
    /// Deletes the object first. The garbage collector deletes the dependents.
    #[default]
    Background,
    /// Deletes the dependents first.
    Foreground,
    /// Keeps the dependents.
    Orphan,
}

impl Cascade {
    /// All variants, in the order of the dialog.
    pub const ALL: [Self; 3] = [Self::Background, Self::Foreground, Self::Orphan];

    /// Returns the value of the kubectl option `--cascade`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Foreground => "foreground",
            Self::Orphan => "orphan",
        }
    }

    /// Returns the variant with this key.
    pub fn of_key(key: &str) -> Self {
        let found = Self::ALL.into_iter().find(|it| it.key() == key);
        found.unwrap_or_default()
    }

    const fn policy(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// A change of an object, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Changes the number of replicas.
    Scale(u32),
    /// Replaces all pods of the workload.
    Restart(Timestamp),
    /// Changes the image of a container.
    SetImage {
        /// The name of the container.
        container: String,
        /// True for an init container.
        init: bool,
        /// The new image reference.
        image: String,
    },
    /// Applies the pod template of a revision.
    RollBack(Box<Revision>),
    /// Replaces the pod template. The undo of a rollback is this change.
    RestoreTemplate {
        /// The pod template.
        template: Box<Value>,
        /// The annotations of the object.
        annotations: Box<Value>,
    },
    /// Pauses or resumes the rollout of a Deployment.
    Paused(bool),
    /// Suspends or resumes a CronJob or a Job.
    Suspended(bool),
    /// Creates a Job with this name from a CronJob.
    Trigger(String),
    /// Evicts a pod.
    Evict,
    /// Adds an ephemeral container to a pod.
    Debug {
        /// The name of the new container.
        name: String,
        /// The image of the new container.
        image: String,
        /// The container whose processes the new container sees; empty for none.
        target: String,
    },
    /// Marks a node as unschedulable or schedulable.
    Cordoned(bool),
    /// Replaces the taints of a node.
    Taints(Vec<Taint>),
    /// Replaces the labels.
    Labels(BTreeMap<String, String>),
    /// Deletes the object.
    Delete(Cascade),
}

impl Change {
    /// Returns the labels of an object after the change, without later changes of other users.
    /// Returns `None` for other changes.
    pub fn with_labels(&self, before: &Object) -> Option<Object> {
        let Self::Labels(labels) = self else {
            return None;
        };
        let mut value = before.value().clone();
        value["metadata"]["labels"] = json!(labels);
        Some(Object::from(value))
    }

    /// Returns the state of the object to which the change applies: the current state if the user
    /// would have edited the same values, otherwise the state when the dialog opened. Nodes get a new
    /// resource version often, for example with each report of the kubelet.
    pub fn base<'a>(&self, opened: &'a Object, current: &'a Object) -> &'a Object {
        match self {
            Self::Taints(_) if taints_text(opened) == taints_text(current) => current,
            _ => opened,
        }
    }

    /// Returns the request that changes the object. The API server rejects a patch, an eviction or a
    /// deletion if the object was deleted and created again with the same name.
    pub fn request(&self, target: &KubectlObject, object: &Object) -> ChangeRequest {
        let path = target.api_path();
        let merge = |body| ChangeRequest::patch(path.clone(), MERGE_PATCH, body);
        let request = match self {
            Self::Scale(replicas) => ChangeRequest::patch(
                format!("{path}/scale"),
                MERGE_PATCH,
                json!({"spec": {"replicas": replicas}}),
            ),
            Self::Restart(at) => {
                let at = at.round(Unit::Second).unwrap_or(*at).to_string();
                merge(
                    json!({"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: at}}}}}),
                )
            }
            Self::SetImage {
                container,
                init,
                image,
            } => set_image(target.kind, path, container, *init, image),
            Self::RollBack(revision) => roll_back(path, object, revision),
            Self::RestoreTemplate {
                template,
                annotations,
            } => replace_template(path, template, annotations),
            Self::Paused(paused) => merge(json!({"spec": {"paused": paused}})),
            Self::Suspended(suspend) => merge(json!({"spec": {"suspend": suspend}})),
            Self::Trigger(name) => trigger(target, object, name),
            Self::Evict => ChangeRequest::send(
                "POST",
                format!("{path}/eviction"),
                eviction(target, object.uid()),
            ),
            Self::Debug {
                name,
                image,
                target: container,
            } => debug(&path, name, image, container),
            Self::Cordoned(cordoned) => merge(json!({"spec": {"unschedulable": cordoned}})),
            Self::Taints(taints) => merge(taints_patch(taints, object)),
            Self::Labels(labels) => merge(labels_patch(labels, object)),
            Self::Delete(cascade) => ChangeRequest::send(
                "DELETE",
                path.clone(),
                json!({
                    "apiVersion": "v1",
                    "kind": "DeleteOptions",
                    "propagationPolicy": cascade.policy(),
                    "preconditions": {"uid": object.uid()},
                }),
            ),
        };
        request.only_for(object.uid())
    }
}

fn set_image(kind: Kind, path: String, container: &str, init: bool, image: &str) -> ChangeRequest {
    let list = if init { "initContainers" } else { "containers" };
    let mut spec = json!({"template": {"spec": {list: [{"name": container, "image": image}]}}});
    if kind.name == "CronJob" {
        spec = json!({"jobTemplate": {"spec": spec}});
    }
    ChangeRequest::patch(path, STRATEGIC_PATCH, json!({"spec": spec}))
}

fn roll_back(path: String, object: &Object, revision: &Revision) -> ChangeRequest {
    if let Some(data) = &revision.patch {
        // The data of a ControllerRevision is a strategic merge patch.
        return ChangeRequest::patch(path, STRATEGIC_PATCH, data.clone());
    }
    let annotations = rollback_annotations(object.value(), &revision.annotations);
    replace_template(path, &revision.template, &annotations)
}

fn replace_template(path: String, template: &Value, annotations: &Value) -> ChangeRequest {
    let body = json!([
        {"op": "replace", "path": "/spec/template", "value": template},
        // The operation also succeeds for an object without annotations.
        {"op": "add", "path": "/metadata/annotations", "value": annotations},
    ]);
    ChangeRequest::patch(path, JSON_PATCH, body)
}

/// Creates a Job in the same way as `kubectl create job --from`.
fn trigger(target: &KubectlObject, object: &Object, name: &str) -> ChangeRequest {
    let template = read::at(object.value(), "/spec/jobTemplate");
    let annotations = read::at(template, "/metadata/annotations").as_object();
    let mut annotations = annotations.cloned().unwrap_or_default();
    annotations.insert(INSTANTIATED.to_owned(), Value::from("manual"));
    let labels = read::at(template, "/metadata/labels").as_object();
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": annotations,
            "labels": labels.cloned().unwrap_or_default(),
            // Without `blockOwnerDeletion`, the user does not need permissions on finalizers.
            "ownerReferences": [{
                "apiVersion": target.kind.api_version,
                "kind": target.kind.name,
                "name": target.name,
                "uid": object.uid(),
                "controller": true,
            }],
        },
        "spec": read::at(template, "/spec"),
    });
    let list = target
        .kind
        .list_path(&target.cluster, target.namespace.as_deref());
    let group = list.strip_suffix(target.kind.plural).unwrap_or(&list);
    let jobs = format!("{group}jobs");
    ChangeRequest::send("POST", jobs, job)
}

/// Returns the body of an eviction.
pub(super) fn eviction(target: &KubectlObject, uid: &str) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": target.name, "namespace": target.namespace},
        "deleteOptions": {"preconditions": {"uid": uid}},
    })
}

fn debug(path: &str, name: &str, image: &str, target: &str) -> ChangeRequest {
    let mut container = json!({"name": name, "image": image, "stdin": true, "tty": true});
    if !target.is_empty() {
        container["targetContainerName"] = Value::from(target);
    }
    let body = json!({"spec": {"ephemeralContainers": [container]}});
    ChangeRequest::patch(format!("{path}/ephemeralcontainers"), STRATEGIC_PATCH, body)
}

fn taints_patch(taints: &[Taint], object: &Object) -> Value {
    let taints: Vec<Value> = taints.iter().map(Taint::value).collect();
    // The patch replaces the list, so a concurrent change must be rejected.
    json!({
        "metadata": {"resourceVersion": object.version()},
        "spec": {"taints": taints},
    })
}

/// Returns a patch with only the changed labels, so that concurrent changes of other labels stay.
fn labels_patch(labels: &BTreeMap<String, String>, object: &Object) -> Value {
    let known: BTreeMap<_, _> = object.labels().into_iter().collect();
    let mut changed = Map::new();
    for key in known.keys().filter(|key| !labels.contains_key(*key)) {
        changed.insert(key.clone(), Value::Null);
    }
    for (key, value) in labels {
        if known.get(key) != Some(value) {
            changed.insert(key.clone(), Value::from(value.as_str()));
        }
    }
    json!({"metadata": {"labels": changed}})
}
