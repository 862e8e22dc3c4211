//! The revisions of a workload, from ReplicaSets or ControllerRevisions.

use serde_json::{Map, Value};

use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::object::{Object, read};
use crate::url::segment;

/// The annotation with the revision of a Deployment and of its ReplicaSets.
const REVISION: &str = "deployment.kubernetes.io/revision";
/// The annotation with the reason of a change, set by the user.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";
/// The label that the Deployment controller adds to the templates of ReplicaSets.
const TEMPLATE_HASH: &str = "pod-template-hash";
/// The annotations that belong to the Deployment, not to a revision, as in `kubectl rollout undo`.
const OWN_ANNOTATIONS: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
];

/// The list with the revisions of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionSource {
    /// The API path of the list, with the query.
    pub path: String,
}

/// A revision of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// The number of the revision.
    pub number: i64,
    /// The reason of the change, if a user set the annotation.
    pub cause: Option<String>,
    /// True for the revision that the workload runs.
    pub is_current: bool,
    /// The creation time, in RFC 3339.
    pub created: Option<String>,
    /// The pod template.
    pub template: Value,
    /// The annotations of the ReplicaSet.
    pub(super) annotations: Value,
    /// The strategic merge patch of a ControllerRevision.
    pub(super) patch: Option<Value>,
}

impl Revision {
    /// Returns the images of the revision.
    pub fn images(&self) -> Vec<String> {
        read::each(&self.template, "/spec/containers", "/image")
    }
}

/// Returns the list with the revisions of a workload.
pub fn revision_source(target: &KubectlObject, object: &Object) -> Option<RevisionSource> {
    let plural = match target.kind.name {
        "Deployment" => "replicasets",
        "StatefulSet" | "DaemonSet" => "controllerrevisions",
        _ => return None,
    };
    let list = target
        .kind
        .list_path(&target.cluster, target.namespace.as_deref());
    let group = list.strip_suffix(target.kind.plural)?;
    let selector = crate::object::selector(object.value())?;
    Some(RevisionSource {
        path: format!("{group}{plural}?labelSelector={}", segment(&selector)),
    })
}

/// Returns the revisions of a workload, the newest first.
pub fn revisions(kind: Kind, object: &Object, list: &Value) -> Vec<Revision> {
    let items = read::list(list, "/items").iter();
    let owned = items.filter(|item| Object::from((*item).clone()).is_owned_by(object.uid()));
    let mut revisions: Vec<Revision> = if kind.name == "Deployment" {
        owned.filter_map(of_replica_set).collect()
    } else {
        owned.filter_map(of_controller_revision).collect()
    };
    revisions.sort_by_key(|revision| std::cmp::Reverse(revision.number));
    if let Some(newest) = revisions.first_mut() {
        newest.is_current = true;
    }
    revisions
}

fn of_replica_set(item: &Value) -> Option<Revision> {
    let annotations = read::at(item, "/metadata/annotations");
    let annotation = |name: &str| annotations.get(name).and_then(Value::as_str);
    let mut template = read::at(item, "/spec/template").clone();
    if let Some(labels) = template.pointer_mut("/metadata/labels") {
        labels.as_object_mut()?.remove(TEMPLATE_HASH);
    }
    Some(Revision {
        number: annotation(REVISION)?.parse().ok()?,
        cause: annotation(CHANGE_CAUSE).map(str::to_owned),
        is_current: false,
        created: read::owned(item, "/metadata/creationTimestamp"),
        template,
        annotations: annotations.clone(),
        patch: None,
    })
}

fn of_controller_revision(item: &Value) -> Option<Revision> {
    let annotations = read::at(item, "/metadata/annotations");
    let cause = annotations.get(CHANGE_CAUSE).and_then(Value::as_str);
    let patch = read::at(item, "/data").clone();
    let mut template = read::at(&patch, "/spec/template").clone();
    template.as_object_mut()?.remove("$patch");
    Some(Revision {
        number: read::number(item, "/revision")?,
        cause: cause.map(str::to_owned),
        is_current: false,
        created: read::owned(item, "/metadata/creationTimestamp"),
        template,
        annotations: Value::Null,
        patch: Some(patch),
    })
}

/// Returns the annotations of a Deployment after a rollback to a ReplicaSet.
pub(super) fn rollback_annotations(object: &Value, replica_set: &Value) -> Value {
    let entries = |value: &Value, own: bool| -> Map<String, Value> {
        let entries = value.as_object().into_iter().flatten();
        let kept = entries.filter(|(key, _)| OWN_ANNOTATIONS.contains(&key.as_str()) == own);
        kept.map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    let mut annotations = entries(read::at(object, "/metadata/annotations"), true);
    annotations.extend(entries(replica_set, false));
    Value::Object(annotations)
}

/// Formats a pod template as YAML.
pub fn template_text(template: &Value) -> String {
    // A JSON value always has a YAML form.
    serde_saphyr::to_string(template).unwrap_or_default()
}
