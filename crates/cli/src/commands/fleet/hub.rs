//! Writes Bundles to the hub.

use std::collections::BTreeMap;

use drover_api::fleet::labels::{REPO_NAME, SECRET_TYPE_BUNDLE_VALUES};
use drover_api::fleet::{Bundle, Content, GROUP, VERSION};
use drover_gitops::ids::{
    Separated, bundle_values, clear_bundle_values, content_objects, separate_files,
};
use k8s_openapi::ByteString;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::client::{CallError, Client};
use crate::failure::Failure;
use crate::kubernetes::HubObjects;
use crate::table::printable;
use crate::terminal::notice;

/// Number of attempts to update an object that changes at the same time.
const ATTEMPTS: usize = 5;

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Created,
    Updated,
    Unchanged,
}

/// Creates or updates Bundles and the Secrets with their Helm values.
pub(super) async fn apply(
    client: &Client,
    namespace: &str,
    bundles: Vec<Bundle>,
) -> Result<(), Failure> {
    let stored = HubObjects::fleet(client, "bundles", Some(namespace));
    let contents = HubObjects::fleet(client, "contents", None);
    let secrets = HubObjects::secrets(client, namespace);
    for bundle in bundles {
        let name = bundle.metadata.name.clone().unwrap_or_default();
        let written = Box::pin(apply_one(&stored, &secrets, &contents, bundle, &name)).await?;
        let result = match written {
            Written::Created => "Created",
            Written::Updated => "Updated",
            Written::Unchanged => "Unchanged:",
        };
        notice(&format!(
            "{result} bundle {}/{}",
            printable(namespace),
            printable(&name)
        ));
    }
    Ok(())
}

async fn apply_one(
    bundles: &HubObjects,
    secrets: &HubObjects,
    contents: &HubObjects,
    mut bundle: Bundle,
    name: &str,
) -> Result<Written, Failure> {
    let present = bundles.find(name).await?;
    if let Some(present) = &present {
        check(present, name)?;
    }
    let values = bundle_values(&bundle);
    clear_bundle_values(&mut bundle);
    bundle.spec.values_hash.clone_from(&values.hash);
    let files = match separate_files(&mut bundle) {
        Some(Separated { manifest, sha256 }) => {
            content_objects(&sha256, &manifest).map_err(|error| {
                Failure::Other(format!(
                    "cannot store the files of the bundle {name}: {error}"
                ))
            })?
        }
        None => Vec::new(),
    };
    create_all(contents, &files).await?;
    let labels = bundle.metadata.labels.clone().unwrap_or_default();
    let uid = present.as_ref().and_then(uid);
    // The server reads the values when it sees their hash in the Bundle, so the Secret is first.
    if !values.data.is_empty() {
        let secret = secret(name, &values.data, &labels, uid.as_deref());
        write(secrets, name, &secret, check_values).await?;
    }
    let object = encoded(&bundle)?;
    let (written, stored) = write(bundles, name, &object, check).await?;
    // The server can have deleted unused files before it saw the Bundle.
    create_all(contents, &files).await?;
    if values.data.is_empty() {
        delete_values(secrets, name).await?;
    } else if uid.is_none() {
        let secret = secret(name, &values.data, &labels, self::uid(&stored).as_deref());
        write(secrets, name, &secret, check_values).await?;
    }
    Ok(written)
}

/// Creates the Contents with the files of a large bundle, in their order.
async fn create_all(contents: &HubObjects, files: &[Content]) -> Result<(), Failure> {
    for file in files {
        create(contents, &encoded(file)?).await?;
    }
    Ok(())
}

/// Rejects a Bundle on the hub that another object owns, or that is being deleted.
fn check(present: &Value, name: &str) -> Result<(), Failure> {
    let metadata = &present["metadata"];
    let repo = metadata["labels"][REPO_NAME].as_str();
    let problem = if metadata["deletionTimestamp"].is_string() {
        "it is being deleted; try again".to_owned()
    } else if !present["spec"]["helmOpOptions"].is_null() {
        "it belongs to a HelmOp; use another BUNDLE_NAME".to_owned()
    } else if let Some(repo) = repo.filter(|repo| !repo.is_empty()) {
        format!("it belongs to the GitRepo {repo}; use another BUNDLE_NAME")
    } else {
        return Ok(());
    };
    Err(Failure::Other(format!(
        "cannot update the bundle {name}: {problem}",
        name = printable(name)
    )))
}

/// Rejects a Secret that contains no Helm values of a Bundle.
fn check_values(present: &Value, name: &str) -> Result<(), Failure> {
    if present["type"] == SECRET_TYPE_BUNDLE_VALUES {
        return Ok(());
    }
    Err(Failure::Other(format!(
        "cannot write the Helm values of the bundle {name}: a Secret of another type has this name; \
         use another BUNDLE_NAME",
        name = printable(name)
    )))
}

fn uid(object: &Value) -> Option<String> {
    object["metadata"]["uid"].as_str().map(str::to_owned)
}

fn encoded(object: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(object)
        .map_err(|error| Failure::Other(format!("cannot encode an object: {error}")))
}

/// Returns the Secret with Helm values. The Bundle owns the Secret, so that both are deleted together.
fn secret(
    name: &str,
    data: &BTreeMap<String, ByteString>,
    labels: &BTreeMap<String, String>,
    bundle_uid: Option<&str>,
) -> Value {
    let mut secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": SECRET_TYPE_BUNDLE_VALUES,
        "metadata": { "name": name, "labels": labels },
        "data": data,
    });
    if let Some(uid) = bundle_uid {
        secret["metadata"]["ownerReferences"] = json!([{
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "Bundle", "name": name, "uid": uid,
            "controller": true, "blockOwnerDeletion": true,
        }]);
    }
    secret
}

/// Creates an object whose name is a hash of its content, if it does not exist.
async fn create(objects: &HubObjects, object: &Value) -> Result<(), Failure> {
    match objects.create::<Value>(object).await {
        Err(error) if code(&error) != Some(409) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Creates an object, or replaces its labels, annotations, owner references and content. Fields of the
/// metadata and the status that other programs wrote stay.
async fn write(
    objects: &HubObjects,
    name: &str,
    wanted: &Value,
    check: fn(&Value, &str) -> Result<(), Failure>,
) -> Result<(Written, Value), Failure> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let (written, result) = if let Some(present) = objects.find(name).await? {
            check(&present, name)?;
            let changed = merged(&present, wanted);
            if changed == present {
                return Ok((Written::Unchanged, present));
            }
            (Written::Updated, objects.replace(name, &changed).await)
        } else {
            (Written::Created, objects.create(wanted).await)
        };
        match result {
            Ok(stored) => return Ok((written, stored)),
            Err(error) if code(&error) == Some(409) && attempt < ATTEMPTS => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Deletes the Helm values of a Bundle that has no values.
async fn delete_values(secrets: &HubObjects, name: &str) -> Result<(), CallError> {
    let present: Option<Value> = secrets.find(name).await?;
    match present {
        Some(present) if present["type"] == SECRET_TYPE_BUNDLE_VALUES => {
            secrets
                .delete_if_present(name, &present["metadata"]["uid"])
                .await
        }
        _ => Ok(()),
    }
}

/// Returns the object on the hub with the labels, annotations, owner references and content of the
/// wanted object.
fn merged(present: &Value, wanted: &Value) -> Value {
    let mut merged = present.clone();
    for field in ["labels", "annotations", "ownerReferences"] {
        let value = &wanted["metadata"][field];
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        let Some(metadata) = merged["metadata"].as_object_mut() else {
            continue;
        };
        if !is_empty {
            metadata.insert(field.to_owned(), value.clone());
        } else if field != "ownerReferences" {
            metadata.remove(field);
        }
    }
    for field in ["spec", "data"] {
        if let Some(value) = wanted.get(field) {
            merged[field] = value.clone();
        }
    }
    // The hub sets this default. Without it, each run would update the Bundle.
    let (mode, default) = ("targetCustomizationMode", "FirstMatch");
    if present["spec"][mode] == default && wanted["spec"][mode].is_null() {
        merged["spec"][mode] = default.into();
    }
    merged
}

fn code(error: &CallError) -> Option<u16> {
    error.refusal().map(|refusal| refusal.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn update_keeps_the_finalizers_and_the_status_of_the_bundle() {
        let present = json!({
            "metadata": { "name": "shop", "uid": "u", "resourceVersion": "5", "finalizers": ["f"],
                          "labels": { "old": "1" }, "annotations": { "old": "1" } },
            "spec": { "paused": true, "targetCustomizationMode": "FirstMatch" }, "status": { "x": 1 },
        });
        let wanted = json!({
            "metadata": { "name": "shop", "labels": { "new": "1" } }, "spec": { "resources": [] },
        });
        let expected = json!({
            "metadata": { "name": "shop", "uid": "u", "resourceVersion": "5", "finalizers": ["f"],
                          "labels": { "new": "1" } },
            "spec": { "resources": [], "targetCustomizationMode": "FirstMatch" }, "status": { "x": 1 },
        });
        let merged = merged(&present, &wanted);
        assert_eq!(merged, expected);
        assert_eq!(super::merged(&merged, &wanted), merged);
    }

    #[test]
    fn bundles_of_git_repos_and_helm_ops_and_foreign_secrets_are_not_updated() {
        let labels = json!({ REPO_NAME: "repo" });
        for (present, reason) in [
            (json!({ "metadata": { "labels": labels } }), "GitRepo repo"),
            (json!({ "spec": { "helmOpOptions": {} } }), "HelmOp"),
            (
                json!({ "metadata": { "deletionTimestamp": "t" } }),
                "being deleted",
            ),
        ] {
            let error = check(&present, "shop").unwrap_err().text();
            assert!(error.contains(reason), "{error}");
        }
        assert!(check(&json!({ "metadata": {} }), "shop").is_ok());
        assert!(check_values(&json!({ "type": "Opaque" }), "shop").is_err());
        assert!(check_values(&json!({ "type": SECRET_TYPE_BUNDLE_VALUES }), "shop").is_ok());
    }
}
