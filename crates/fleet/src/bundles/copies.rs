//! Copies Secrets and ConfigMaps of a bundle's namespace into the namespaces of clusters, where agents read
//! them: `downstreamResources`, and the credential for the chart of a HelmOp.
//!
//! A copy exists before a bundle deployment names it, and is deleted before its last bundle deployment.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use drover_api::fleet::labels::{INTERNAL_SECRET, MANAGED, SECRET_TYPE_HELM_OPS_ACCESS};
use drover_api::fleet::{BundleDeploymentOptions, BundleDeploymentSpec, BundleHelmOptions};
use drover_hub::{HubError, call};
use kube::api::{DynamicObject, TypeMeta};
use kube::core::ObjectMeta;
use kube::{Client, ResourceExt as _};
use parking_lot::Mutex;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::sync::OwnedMutexGuard;

use crate::rights::Readable;
use crate::rights::copied::{Kind, Names};
use crate::writes::{apply, delete};

/// Annotation of a copy with the namespace of its source.
const COPIED_FROM: &str = "management.drover.dev/copied-from";
/// Annotation of a copy with the version of its source.
const COPIED_VERSION: &str = "management.drover.dev/copied-version";
/// Largest number that each JSON parser reads without loss.
const MAX_GENERATION: u64 = (1 << 53) - 1;

/// The reason why an object is not copied.
#[derive(Debug, Error)]
pub(crate) enum CopyError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("downstreamResources: the kind {0:?} is not supported; use Secret or ConfigMap")]
    Kind(String),
    #[error(
        "the {kind} {name} does not exist in the namespace {namespace} of the bundle; create it"
    )]
    NoSource {
        kind: &'static str,
        namespace: String,
        name: String,
    },
    #[error(
        "the Secret {name} has the type {found}, which contains a credential of the hub; copy the entries to \
         a Secret of the type Opaque"
    )]
    Credential { name: String, found: String },
    #[error(
        "cannot copy the {kind} {name}: the namespace {namespace} of the cluster has another object of this \
         name; rename the source"
    )]
    Occupied {
        kind: &'static str,
        namespace: String,
        name: String,
    },
}

/// The objects in the namespace of a bundle.
#[derive(Default)]
pub(super) struct Sources {
    namespace: String,
    objects: BTreeMap<(Kind, String), DynamicObject>,
}

impl Sources {
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Returns a number that differs after each change of the objects that a deployment names, or `None`
    /// if an object is not known. The number contains no hash of a Secret's data.
    pub(super) fn generation(
        &self,
        options: &BundleDeploymentOptions,
        access: Option<&BundleHelmOptions>,
    ) -> Option<i64> {
        let names = Names::of(&options.downstream_resources, access);
        if names.0.is_empty() {
            return Some(0);
        }
        let mut hasher = DefaultHasher::new();
        for name in &names.0 {
            name.hash(&mut hasher);
            version(self.objects.get(name)?).hash(&mut hasher);
        }
        i64::try_from((hasher.finish() & MAX_GENERATION).max(1)).ok()
    }
}

/// The writer of copies.
#[derive(Clone)]
pub(super) struct Copies {
    client: Client,
    /// One lock for each namespace of a cluster.
    locks: Arc<Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>>,
}

impl Copies {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            locks: Arc::default(),
        }
    }

    /// Waits until no other bundle changes copies of a namespace. Without the lock, one bundle could delete a
    /// copy after another bundle has found the copy and before its bundle deployment names the copy.
    pub(super) async fn lock(&self, namespace: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.locks.lock();
            Arc::clone(locks.entry(namespace.to_owned()).or_default())
        };
        lock.lock_owned().await
    }

    /// Reads the objects that deployments of a bundle name.
    pub(super) async fn sources<'a>(
        &self,
        namespace: &str,
        options: impl IntoIterator<Item = &'a BundleDeploymentOptions>,
        access: Option<&BundleHelmOptions>,
    ) -> Result<Sources, CopyError> {
        let mut names = Names::of(&[], access);
        for options in options {
            let mut resources = options.downstream_resources.iter();
            if let Some(unknown) = resources.find(|it| Kind::parse(&it.kind).is_none()) {
                return Err(CopyError::Kind(unknown.kind.clone()));
            }
            names
                .0
                .extend(Names::of(&options.downstream_resources, None).0);
        }
        let mut objects = BTreeMap::new();
        for (kind, name) in names.0 {
            let api = kind.api(&self.client, namespace);
            let found = call("read an object to copy", api.get_opt(&name)).await?;
            let source = found.ok_or_else(|| CopyError::NoSource {
                kind: kind.name(),
                namespace: namespace.to_owned(),
                name: name.clone(),
            })?;
            check_type(&name, type_of(&source))?;
            objects.insert((kind, name), source);
        }
        Ok(Sources {
            namespace: namespace.to_owned(),
            objects,
        })
    }

    /// Writes the copies that a bundle deployment names.
    pub(super) async fn write(
        &self,
        namespace: &str,
        spec: &BundleDeploymentSpec,
        sources: &Sources,
    ) -> Result<(), CopyError> {
        for key in Names::all(spec).0 {
            let Some(source) = sources.objects.get(&key) else {
                // Only older options name the object.
                continue;
            };
            let (kind, name) = key;
            let api = kind.api(&self.client, namespace);
            let present = call("read a copy of an object", api.get_opt(&name)).await?;
            if let Some(present) = &present {
                if present.annotations().get(COPIED_FROM) != Some(&sources.namespace) {
                    return Err(CopyError::Occupied {
                        kind: kind.name(),
                        namespace: namespace.to_owned(),
                        name,
                    });
                }
                if present.annotations().get(COPIED_VERSION) == Some(&version(source)) {
                    continue;
                }
            }
            let copy = copy(kind, &name, &sources.namespace, source);
            if present.is_some_and(|present| present.data.get("type") != copy.data.get("type")) {
                // The type of a Secret cannot change.
                delete("delete a copy of another type", &api, &name).await?;
            }
            apply("copy an object to the namespace of a cluster", &api, &copy).await?;
        }
        Ok(())
    }

    /// Deletes the copies that only this bundle deployment names. `others` contains the names of the other
    /// bundle deployments in the namespace.
    pub(super) async fn delete(
        &self,
        namespace: &str,
        spec: &BundleDeploymentSpec,
        others: &Readable,
    ) -> Result<(), HubError> {
        for (kind, name) in Names::all(spec).0 {
            let used = match kind {
                Kind::Secret | Kind::Access => &others.secrets,
                Kind::ConfigMap => &others.config_maps,
            };
            if used.contains(&name) {
                continue;
            }
            let api = kind.api(&self.client, namespace);
            let present = call("read a copy of an object", api.get_opt(&name)).await?;
            if present.is_some_and(|it| it.annotations().contains_key(COPIED_FROM)) {
                delete("delete a copy of an object", &api, &name).await?;
            }
        }
        Ok(())
    }
}

/// Refuses credentials of the hub, because authors of a repository can name each Secret.
pub(crate) fn check_type(name: &str, found: Option<&str>) -> Result<(), CopyError> {
    let found = found.unwrap_or_default();
    let is_credential = found.starts_with("fleet.cattle.io/")
        || found == "kubernetes.io/service-account-token"
        || found == "bootstrap.kubernetes.io/token";
    if is_credential {
        return Err(CopyError::Credential {
            name: name.to_owned(),
            found: found.to_owned(),
        });
    }
    Ok(())
}

fn type_of(source: &DynamicObject) -> Option<&str> {
    source.data.get("type").and_then(Value::as_str)
}

fn version(source: &DynamicObject) -> String {
    let uid = source.uid().unwrap_or_default();
    format!("{uid}/{}", source.resource_version().unwrap_or_default())
}

fn copy(kind: Kind, name: &str, namespace: &str, source: &DynamicObject) -> DynamicObject {
    let mut labels = BTreeMap::from([(MANAGED.to_owned(), "true".to_owned())]);
    let mut data = json!({});
    for field in ["type", "data", "binaryData"] {
        if let Some(value) = source.data.get(field) {
            data[field] = value.clone();
        }
    }
    if kind == Kind::Access {
        labels.insert(INTERNAL_SECRET.to_owned(), "true".to_owned());
        data["type"] = json!(SECRET_TYPE_HELM_OPS_ACCESS);
    }
    let annotations = [
        (COPIED_FROM.to_owned(), namespace.to_owned()),
        (COPIED_VERSION.to_owned(), version(source)),
    ];
    let resource = kind.resource();
    DynamicObject {
        types: Some(TypeMeta {
            api_version: resource.api_version,
            kind: resource.kind,
        }),
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels),
            annotations: Some(annotations.into()),
            ..ObjectMeta::default()
        },
        data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rights::copied::add_readable;

    fn source(kind: &str, version: &str) -> DynamicObject {
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": { "name": "s", "uid": "u", "resourceVersion": version,
                "labels": { "own": "label" }, "ownerReferences": [] },
            "data": { "password": "c2VjcmV0" },
        });
        serde_json::from_value(object).unwrap()
    }

    fn options() -> BundleDeploymentOptions {
        let options = json!({ "downstreamResources": [{ "kind": "secret", "name": "s" }] });
        serde_json::from_value(options).unwrap()
    }

    fn sources(version: &str) -> Sources {
        let key = (Kind::Secret, "s".to_owned());
        Sources {
            namespace: "fleet-default".to_owned(),
            objects: [(key, source("Opaque", version))].into(),
        }
    }

    #[test]
    fn generation_changes_with_the_source_and_is_zero_without_names() {
        let generation = |version| sources(version).generation(&options(), None);
        assert_eq!(generation("1"), generation("1"));
        assert_ne!(generation("1"), generation("2"));
        assert_eq!(Sources::default().generation(&options(), None), None);
        let none = BundleDeploymentOptions::default();
        assert_eq!(Sources::default().generation(&none, None), Some(0));
    }

    #[test]
    fn copy_has_the_data_and_type_and_no_other_metadata_of_its_source() {
        let copied = copy(Kind::Secret, "s", "fleet-default", &source("Opaque", "1"));
        assert_eq!(copied.data["data"]["password"], "c2VjcmV0");
        assert_eq!(copied.data["type"], "Opaque");
        assert!(!copied.labels().contains_key("own"));
        assert_eq!(copied.uid(), None);
        let access = copy(Kind::Access, "s", "fleet-default", &source("Opaque", "1"));
        assert_eq!(access.data["type"], SECRET_TYPE_HELM_OPS_ACCESS);
    }

    #[test]
    fn credentials_of_the_hub_are_not_copied() {
        for kind in [
            "kubernetes.io/service-account-token",
            "fleet.cattle.io/agent-credential",
        ] {
            assert!(
                check_type("s", type_of(&source(kind, "1"))).is_err(),
                "{kind}"
            );
        }
        assert!(check_type("s", type_of(&source("kubernetes.io/basic-auth", "1"))).is_ok());
    }

    #[test]
    fn agent_may_read_the_copies_of_current_and_staged_options() {
        let staged = json!({ "downstreamResources": [{ "kind": "ConfigMap", "name": "c" }] });
        let spec = BundleDeploymentSpec {
            options: options(),
            staged_options: serde_json::from_value(staged).unwrap(),
            ..BundleDeploymentSpec::default()
        };
        let mut readable = Readable::default();
        add_readable(&spec, &mut readable);
        assert!(readable.secrets.contains("s"));
        assert!(readable.config_maps.contains("c"));
    }
}
