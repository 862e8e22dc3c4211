//! Copies of Secrets and ConfigMaps of the hub (`downstreamResources`) in the namespace of a release.
//!
//! Bundle deployments of one namespace can share a copy. Each bundle deployment has its own label and its
//! own field manager, so the last one deletes the copy. The records of a release contain the names of its
//! copies.

use std::collections::BTreeSet;

use drover_api::fleet::BundleDeploymentOptions;
use drover_apply::{ApplyError, call, is_gone};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::{Value, json};

use super::{DeployError, Input};
use crate::cluster::{Cluster, ClusterError};
use crate::names::label_value;
use crate::object::{Object, ObjectKey};
use crate::release::Stored;
use crate::signature::annotation as annotation_of;

/// Label of copies, with Fleet's name. The value is the bundle deployment that wrote the copy last.
const COPY: &str = "fleet.cattle.io/bundledeployment";
/// Prefix of the labels with the bundle deployments that need a copy.
const NEEDED_BY: &str = "copy.deploy.drover.dev/";
/// Annotation of a release's chart with the copies: kinds and names, separated by commas.
const ANNOTATION: &str = "deploy.drover.dev/copies";

/// Returns the annotation of a release's chart with the names of its copies.
pub(super) fn annotation(copies: &[Object]) -> Option<(String, String)> {
    let names = copies
        .iter()
        .map(|copy| format!("{}/{}", copy.kind(), copy.name()));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| (ANNOTATION.to_owned(), names.join(",")))
}

/// Writes the copies of a bundle deployment.
pub(super) async fn write(
    cluster: &Cluster,
    input: &Input<'_>,
    namespace: &str,
) -> Result<(), DeployError> {
    for source in input.copies {
        let copy = copy(source, input.name, namespace);
        let key = copy.key();
        if let Some(live) = cluster.get(&key).await? {
            if live.label(COPY).is_none() {
                return Err(DeployError::OccupiedCopy(key));
            }
            if live.0.get("type") != copy.0.get("type") {
                // The type of a Secret cannot change.
                crate::apply::delete(cluster, &key, Some(live.uid().to_owned())).await?;
            }
        }
        let kind = cluster.kind(&key.api_version, &key.kind).await?;
        let api = cluster.api(&kind, namespace);
        let manager = format!("{NEEDED_BY}{}", label_value(input.name));
        let (params, patch) = (PatchParams::apply(&manager).force(), Patch::Apply(&copy));
        let applied = api.patch(&key.name, &params, &patch);
        call(format!("copy {key}"), applied)
            .await
            .map_err(ClusterError::from)?;
    }
    Ok(())
}

/// Deletes the copies of earlier releases that the bundle deployment no longer names.
pub(super) async fn delete_others(
    cluster: &Cluster,
    input: &Input<'_>,
    namespace: &str,
    stored: &[Stored],
) -> Result<(), DeployError> {
    let mut keys = recorded(namespace, stored);
    for copy in input.copies {
        keys.remove(&key(copy.kind(), copy.name(), namespace));
    }
    for key in &keys {
        delete(cluster, input.name, key).await?;
    }
    Ok(())
}

/// Deletes the copies of a removed bundle deployment.
pub(super) async fn delete_all(
    cluster: &Cluster,
    deployment: &str,
    options: &BundleDeploymentOptions,
    namespace: &str,
    stored: &[&Stored],
) -> Result<(), DeployError> {
    let mut keys = recorded(namespace, stored.iter().copied());
    // A deployment that failed has no record.
    keys.extend(named(options, namespace));
    for key in &keys {
        delete(cluster, deployment, key).await?;
    }
    Ok(())
}

/// Deletes the copies of a release that another release has replaced. `options` and `current` are the options
/// and the namespace of the other release.
pub(super) async fn delete_replaced(
    cluster: &Cluster,
    deployment: &str,
    options: &BundleDeploymentOptions,
    (namespace, current): (&str, &str),
    stored: &[&Stored],
) -> Result<(), DeployError> {
    let mut keys = recorded(namespace, stored.iter().copied());
    if namespace == current {
        for key in named(options, namespace) {
            keys.remove(&key);
        }
    }
    for key in &keys {
        delete(cluster, deployment, key).await?;
    }
    Ok(())
}

/// Returns the copies that the options name.
fn named<'a>(
    options: &'a BundleDeploymentOptions,
    namespace: &'a str,
) -> impl Iterator<Item = ObjectKey> + 'a {
    options
        .downstream_resources
        .iter()
        .filter_map(move |resource| {
            let mut kinds = ["Secret", "ConfigMap"].into_iter();
            let kind = kinds.find(|kind| kind.eq_ignore_ascii_case(&resource.kind))?;
            Some(key(kind, &resource.name, namespace))
        })
}

/// Returns the copies in the records of a release.
fn recorded<'a>(
    namespace: &str,
    stored: impl IntoIterator<Item = &'a Stored>,
) -> BTreeSet<ObjectKey> {
    let mut keys = BTreeSet::new();
    for stored in stored {
        let names = annotation_of(&stored.release, ANNOTATION).unwrap_or_default();
        let names = names.split(',').filter_map(|name| name.split_once('/'));
        let names = names.filter(|(kind, _)| matches!(*kind, "Secret" | "ConfigMap"));
        keys.extend(names.map(|(kind, name)| key(kind, name, namespace)));
    }
    keys
}

/// Deletes a copy that only this bundle deployment needs.
async fn delete(cluster: &Cluster, deployment: &str, key: &ObjectKey) -> Result<(), DeployError> {
    let own = format!("{NEEDED_BY}{}", label_value(deployment));
    let Some(live) = cluster.get(key).await? else {
        return Ok(());
    };
    if live.label(COPY).is_none() || live.label(&own).is_none() {
        return Ok(());
    }
    let kind = cluster.kind(&key.api_version, &key.kind).await?;
    let api = cluster.api(&kind, &key.namespace);
    let version = live.0.pointer("/metadata/resourceVersion");
    let version = version.and_then(Value::as_str).map(str::to_owned);
    let operation = format!("delete the copy {key}");
    let deleted = if is_needed(&live, &own) {
        let labels = json!({ own: null });
        let metadata = json!({ "labels": labels, "resourceVersion": version });
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let params = PatchParams::default();
        call(operation, api.patch(&key.name, &params, &patch))
            .await
            .map(drop)
    } else {
        // Another bundle deployment can need the copy since the read.
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(live.uid().to_owned()),
                resource_version: version,
            }),
            ..DeleteParams::default()
        };
        call(operation, api.delete(&key.name, &params))
            .await
            .map(drop)
    };
    match deleted {
        Err(ApplyError::Call { source, .. }) if is_gone(&source) => Ok(()),
        deleted => Ok(deleted.map_err(ClusterError::from)?),
    }
}

/// Reports whether another bundle deployment needs a copy.
fn is_needed(live: &Object, own: &str) -> bool {
    let labels = live
        .0
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    let mut names = labels.into_iter().flatten().map(|(name, _)| name);
    names.any(|name| name.starts_with(NEEDED_BY) && name != own)
}

fn copy(source: &Object, deployment: &str, namespace: &str) -> Object {
    let mut copy = Object(json!({
        "apiVersion": "v1", "kind": source.kind(),
        "metadata": { "name": source.name(), "namespace": namespace },
    }));
    if let Some(fields) = copy.0.as_object_mut() {
        for field in ["type", "data", "binaryData"] {
            let value = source.0.get(field).filter(|value| !value.is_null());
            fields.extend(value.map(|value| (field.to_owned(), value.clone())));
        }
    }
    let deployment = label_value(deployment);
    copy.set_label(COPY, &deployment);
    copy.set_label(&format!("{NEEDED_BY}{deployment}"), "true");
    copy
}

fn key(kind: &str, name: &str, namespace: &str) -> ObjectKey {
    ObjectKey {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}
