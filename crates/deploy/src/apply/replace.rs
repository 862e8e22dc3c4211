//! Replaces an object whose immutable fields changed: delete, then create.

use drover_apply::{ApplyError, call};
use kube::api::{DynamicObject, PostParams};
use serde_json::Value;

use super::{
    Changes, DEFINITION_TIMEOUT, ReleaseError, delete, server_side_apply, wait_until_gone,
};
use crate::cluster::{Cluster, ClusterError};
use crate::object::{Object, ObjectKey};

/// Kinds that are never replaced, because the deletion of an object deletes other data.
const KEPT: [&str; 4] = [
    "Namespace",
    "CustomResourceDefinition",
    "PersistentVolume",
    "PersistentVolumeClaim",
];
/// Parts of the API server's messages about immutable fields.
const IMMUTABLE: [&str; 5] = [
    "immutable",
    "may not change once set",
    "may not be changed",
    "cannot change roleRef",
    "updates to statefulset spec for fields other than",
];
/// Part of the message of a dry run if the existing object has a port or an address of the new object.
const ALLOCATED: &str = "is already allocated";
/// Prefix of the name of the object in a dry run.
const CHECKED: &str = "drover-check-";

/// Returns true if the error is about immutable fields of an object that can be replaced.
pub(super) fn is_possible(key: &ObjectKey, error: &ClusterError) -> bool {
    !KEPT.contains(&key.kind.as_str()) && is_immutable(error)
}

/// Returns true if the API server rejects the change of an immutable field.
fn is_immutable(error: &ClusterError) -> bool {
    let ClusterError::Call(ApplyError::Call { source, .. }) = error else {
        return false;
    };
    let source: &kube::Error = source;
    let kube::Error::Api(status) = source else {
        return false;
    };
    let has = |text: &&str| status.message.contains(*text);
    status.code == 422 && !is_denied(&status.message) && IMMUTABLE.iter().any(has)
}

/// Returns true if an admission webhook or an admission policy rejects the object.
pub(crate) fn is_denied(message: &str) -> bool {
    message.contains("admission webhook") || message.contains("denied request")
}

/// Replaces the live object. The object stays if the new object is not valid, if another owner has it,
/// or if it changed in the meantime.
pub(super) async fn replace(
    cluster: &Cluster,
    changes: &Changes<'_>,
    desired: &Object,
    error: ClusterError,
) -> Result<Object, ReleaseError> {
    let key = desired.key();
    let live = cluster.get(&key).await?;
    let is_own = |live: &Object| changes.take_ownership || changes.owner.owns(live);
    let Some(live) = live.filter(is_own) else {
        return Err(error.into());
    };
    check(cluster, desired).await?;
    delete(cluster, &key, Some(live.uid().to_owned())).await?;
    if !wait_until_gone(cluster, &key, DEFINITION_TIMEOUT).await? {
        return Err(ReleaseError::NotDeleted { key });
    }
    Ok(server_side_apply(cluster, desired).await?)
}

/// Creates the object under a generated name in a dry run, so that an object that is not valid does not
/// cause a deletion.
async fn check(cluster: &Cluster, desired: &Object) -> Result<(), ClusterError> {
    let key = desired.key();
    let kind = cluster.kind(&key.api_version, &key.kind).await?;
    let mut checked = desired.0.clone();
    if let Some(metadata) = checked.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("name");
        metadata.insert("generateName".to_owned(), CHECKED.into());
    }
    let operation = format!("check the new {key}");
    let checked: DynamicObject =
        serde_json::from_value(checked).map_err(|error| ApplyError::Call {
            operation: operation.clone(),
            source: kube::Error::SerdeError(error).into(),
        })?;
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let api = cluster.api(&kind, &key.namespace);
    match call(operation, api.create(&params, &checked)).await {
        Err(ApplyError::Call { source, .. }) if is_allocated(&source) => Ok(()),
        checked => Ok(checked.map(drop)?),
    }
}

fn is_allocated(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.message.contains(ALLOCATED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u16, message: &str) -> ClusterError {
        let mut status = kube::core::Status::failure(message, "Invalid");
        status.code = code;
        let source: kube::Error = kube::Error::Api(Box::new(status));
        ApplyError::Call {
            operation: String::new(),
            source: source.into(),
        }
        .into()
    }

    fn key(kind: &str) -> ObjectKey {
        ObjectKey {
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            namespace: "a".to_owned(),
            name: "b".to_owned(),
        }
    }

    #[test]
    fn only_immutable_fields_lead_to_a_replacement() {
        let immutable =
            "Job.batch \"b\" is invalid: spec.template: Invalid value: {}: field is immutable";
        for (code, message, expected) in [
            (422, immutable, true),
            (400, immutable, false),
            (
                422,
                "spec.clusterIPs[0]: Invalid value: []: may not change once set",
                true,
            ),
            (
                422,
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                false,
            ),
            (
                422,
                "admission webhook \"a\" denied the request: field is immutable",
                false,
            ),
        ] {
            let error = error(code, message);
            assert_eq!(is_possible(&key("Job"), &error), expected, "{message}");
        }
        for kind in KEPT {
            assert!(!is_possible(&key(kind), &error(422, immutable)), "{kind}");
        }
    }
}
