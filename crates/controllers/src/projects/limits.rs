//! Pure functions that compute the labels, quota and limits of a project's namespace.

use std::collections::BTreeMap;

use drover_api::group::{MANAGED_BY, MANAGED_BY_LABEL, PROJECT_LABEL};
use drover_api::kinds::{PodSecurity, Project};
use k8s_openapi::api::core::v1::{
    LimitRange, LimitRangeItem, LimitRangeSpec, ResourceQuota, ResourceQuotaSpec,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::decide::uid;
use super::{CREATED_WITH_ANNOTATION, LEVEL_ANNOTATION, NAME_ANNOTATION};

/// Name of the ResourceQuota and the LimitRange in each namespace of a project.
const NAME: &str = "drover-project";
/// Labels of Pod Security: the enforced level, and the level of warnings.
const LEVEL_LABELS: [&str; 2] = [
    "pod-security.kubernetes.io/enforce",
    "pod-security.kubernetes.io/warn",
];

type Texts = BTreeMap<String, String>;
type Amounts = BTreeMap<String, Quantity>;

fn level(project: &Project) -> Option<&'static str> {
    project.spec.pod_security.map(|level| match level {
        PodSecurity::Privileged => "privileged",
        PodSecurity::Baseline => "baseline",
        PodSecurity::Restricted => "restricted",
    })
}

/// Returns the metadata of a namespace that the server creates for a project.
pub(super) fn namespace(project: &Project, name: &str, secret: &str) -> ObjectMeta {
    let (mut labels, mut annotations) = labels_and_annotations(project);
    labels.insert(MANAGED_BY_LABEL.to_owned(), MANAGED_BY.to_owned());
    annotations.insert(CREATED_WITH_ANNOTATION.to_owned(), secret.to_owned());
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(labels),
        annotations: Some(annotations),
        ..ObjectMeta::default()
    }
}

/// Returns the labels and annotations of a project's namespaces.
fn labels_and_annotations(project: &Project) -> (Texts, Texts) {
    let mut labels = Texts::from([(PROJECT_LABEL.to_owned(), uid(project))]);
    let mut annotations = Texts::from([(NAME_ANNOTATION.to_owned(), project.name_any())]);
    if let Some(level) = level(project) {
        labels.extend(LEVEL_LABELS.map(|label| (label.to_owned(), level.to_owned())));
        annotations.insert(LEVEL_ANNOTATION.to_owned(), level.to_owned());
    }
    (labels, annotations)
}

/// Returns the merge patch (RFC 7386) of an existing namespace for its owner. Returns `None` if the
/// namespace needs no change.
///
/// Without an owner, the patch removes Drover's labels. The patch removes a Pod Security label only
/// if Drover set the label.
pub(super) fn patch(found: &ObjectMeta, owner: Option<&Project>) -> Option<Value> {
    let empty = Texts::new();
    let (labels, annotations) = (
        found.labels.as_ref().unwrap_or(&empty),
        found.annotations.as_ref().unwrap_or(&empty),
    );
    let (wanted_labels, wanted_annotations) = owner.map(labels_and_annotations).unwrap_or_default();
    let is_ours = labels.contains_key(PROJECT_LABEL);
    let mut droppable: Vec<&str> = vec![PROJECT_LABEL];
    if owner.is_none()
        && is_ours
        && labels
            .get(MANAGED_BY_LABEL)
            .is_some_and(|by| by == MANAGED_BY)
    {
        droppable.push(MANAGED_BY_LABEL);
    }
    if let Some(level) = annotations.get(LEVEL_ANNOTATION) {
        let set = LEVEL_LABELS.into_iter();
        droppable.extend(set.filter(|label| labels.get(*label) == Some(level)));
    }
    let mut notes: Vec<&str> = vec![NAME_ANNOTATION, LEVEL_ANNOTATION];
    if owner.is_none() {
        notes.push(CREATED_WITH_ANNOTATION);
    }
    let labels = difference(labels, &wanted_labels, &droppable);
    let annotations = difference(annotations, &wanted_annotations, &notes);
    if labels.is_empty() && annotations.is_empty() {
        return None;
    }
    Some(json!({ "metadata": {
        "uid": found.uid,
        "resourceVersion": found.resource_version,
        "labels": labels,
        "annotations": annotations,
    }}))
}

fn difference(present: &Texts, desired: &Texts, droppable: &[&str]) -> Map<String, Value> {
    let set = desired
        .iter()
        .filter(|(key, value)| present.get(*key) != Some(*value));
    let set = set.map(|(key, value)| (key.clone(), Value::from(value.as_str())));
    let drop = droppable
        .iter()
        .filter(|key| present.contains_key(**key) && !desired.contains_key(**key));
    let drop = drop.map(|key| ((*key).to_owned(), Value::Null));
    set.chain(drop).collect()
}

fn meta(project: &Project, namespace: &str) -> ObjectMeta {
    let labels = Texts::from([
        (PROJECT_LABEL.to_owned(), uid(project)),
        (MANAGED_BY_LABEL.to_owned(), MANAGED_BY.to_owned()),
    ]);
    ObjectMeta {
        name: Some(NAME.to_owned()),
        namespace: Some(namespace.to_owned()),
        labels: Some(labels),
        ..ObjectMeta::default()
    }
}

/// Returns the ResourceQuota of the project's namespace, if the project has a quota.
pub(super) fn quota(project: &Project, namespace: &str) -> Option<ResourceQuota> {
    let each = &project.spec.quota.as_ref()?.namespace;
    (!each.is_empty()).then(|| ResourceQuota {
        metadata: meta(project, namespace),
        spec: Some(ResourceQuotaSpec {
            hard: Some(amounts(each)),
            ..ResourceQuotaSpec::default()
        }),
        status: None,
    })
}

/// Returns the LimitRange with the defaults of containers, if the project has defaults.
pub(super) fn limits(project: &Project, namespace: &str) -> Option<LimitRange> {
    let defaults = project.spec.container_defaults.as_ref()?;
    if defaults.requests.is_empty() && defaults.limits.is_empty() {
        return None;
    }
    // Kubernetes uses a default limit as the default request too.
    let mut requests = amounts(&defaults.limits);
    requests.extend(amounts(&defaults.requests));
    Some(LimitRange {
        metadata: meta(project, namespace),
        spec: Some(LimitRangeSpec {
            limits: vec![LimitRangeItem {
                type_: "Container".to_owned(),
                default: Some(amounts(&defaults.limits)),
                default_request: Some(requests),
                ..LimitRangeItem::default()
            }],
        }),
    })
}

fn amounts(texts: &Texts) -> Amounts {
    let amount = |(name, text): (&String, &String)| (name.clone(), Quantity(text.clone()));
    texts.iter().map(amount).collect()
}

#[cfg(test)]
mod tests;
