//! Writes the bundles of a GitRepo.

use std::collections::BTreeSet;
use std::sync::Arc;

use drover_api::fleet::Bundle;
use drover_api::fleet::labels::{HELM_OP_NAME, REPO_NAME, SECRET_TYPE_BUNDLE_VALUES};
use drover_gitops::ids::{bundle_values, clear_bundle_values};
use drover_hub::HubError;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client, ResourceExt as _};
use thiserror::Error;

use super::owner;
use crate::mirror::Key;
use crate::world::World;
use crate::writes::{apply, create, delete, replace_spec};

/// The reason why a bundle is not written.
#[derive(Debug, Error)]
pub(crate) enum BundleWriteError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error(
        "the Bundle {0} exists and does not belong to this object; set another name in fleet.yaml, or \
         delete the Bundle"
    )]
    OtherOwner(Key),
    #[error("the Bundle {0} is being deleted; the server writes it again after the deletion")]
    Deleting(Key),
}

/// The writer of bundles.
#[derive(Clone)]
pub(crate) struct BundleWriter {
    pub(crate) client: Client,
    pub(crate) world: World,
}

impl BundleWriter {
    /// Writes the bundles of a GitRepo, and deletes its other bundles.
    pub(super) async fn write(
        &self,
        repo: &Key,
        bundles: Vec<Bundle>,
    ) -> Result<(), BundleWriteError> {
        let mut names = BTreeSet::new();
        for bundle in bundles {
            names.insert(bundle.name_any());
            Box::pin(self.write_one(&repo.namespace, bundle)).await?;
        }
        for bundle in self.of(repo) {
            if !names.contains(&bundle.name_any()) {
                self.delete(&bundle).await?;
            }
        }
        Ok(())
    }

    /// Returns the bundles of a GitRepo on the hub.
    pub(super) fn of(&self, repo: &Key) -> Vec<Arc<Bundle>> {
        let mut bundles = self.world.bundles.in_namespace(&repo.namespace);
        bundles.retain(|bundle| owner(bundle).as_ref() == Some(repo));
        bundles
    }

    /// Deletes a bundle and its Helm values.
    pub(crate) async fn delete(&self, bundle: &Bundle) -> Result<(), HubError> {
        let (namespace, name) = (bundle.namespace().unwrap_or_default(), bundle.name_any());
        if !bundle.spec.values_hash.is_empty() {
            let secrets = Api::<Secret>::namespaced(self.client.clone(), &namespace);
            delete("delete the Helm values of a Bundle", &secrets, &name).await?;
        }
        let bundles = Api::<Bundle>::namespaced(self.client.clone(), &namespace);
        delete("delete a Bundle", &bundles, &name).await
    }

    /// Writes the Secret with the Helm values before the bundle that names its hash.
    pub(crate) async fn write_one(
        &self,
        namespace: &str,
        mut bundle: Bundle,
    ) -> Result<(), BundleWriteError> {
        let key = Key::new(namespace, bundle.name_any());
        let present = self.world.bundles.get(&key);
        if let Some(present) = &present {
            check(present, &bundle)?;
        }
        let values = bundle_values(&bundle);
        clear_bundle_values(&mut bundle);
        bundle.spec.values_hash.clone_from(&values.hash);
        bundle.metadata.namespace = Some(namespace.to_owned());
        let name = bundle.name_any();
        if !values.data.is_empty() {
            let secret = Secret {
                metadata: ObjectMeta {
                    name: Some(name.clone()),
                    ..ObjectMeta::default()
                },
                type_: Some(SECRET_TYPE_BUNDLE_VALUES.to_owned()),
                data: Some(values.data),
                ..Secret::default()
            };
            let secrets = Api::namespaced(self.client.clone(), namespace);
            apply("write the Helm values of a Bundle", &secrets, &secret).await?;
        }
        let api = Api::namespaced(self.client.clone(), namespace);
        if let Some(present) = present {
            if present.spec == bundle.spec && present.labels() == bundle.labels() {
                return Ok(());
            }
        } else if let Some(created) = create("create a Bundle", &api, &bundle).await? {
            self.world.bundles.observe(created);
            return Ok(());
        }
        let (labels, spec) = (bundle.labels(), &bundle.spec);
        let written = replace_spec("write a Bundle", &api, &name, labels, spec).await?;
        self.world.bundles.observe(written);
        Ok(())
    }
}

/// Checks that a present bundle belongs to the owner of the new bundle, and is not being deleted.
fn check(present: &Bundle, bundle: &Bundle) -> Result<(), BundleWriteError> {
    let key = Key::of(present);
    let owner = |bundle: &Bundle| {
        let names = [REPO_NAME, HELM_OP_NAME].map(|name| bundle.labels().get(name).cloned());
        (names, bundle.spec.helm_op_options.is_some())
    };
    if owner(present) != owner(bundle) {
        return Err(BundleWriteError::OtherOwner(key));
    }
    if present.metadata.deletion_timestamp.is_some() {
        return Err(BundleWriteError::Deleting(key));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use drover_api::fleet::BundleHelmOptions;
    use serde_json::json;

    use super::*;

    fn bundle(metadata: &serde_json::Value) -> Bundle {
        serde_json::from_value(json!({ "metadata": metadata, "spec": {} })).unwrap()
    }

    #[test]
    fn bundle_of_another_owner_is_not_replaced() {
        let of = |name| bundle(&json!({ "name": "web", "labels": { REPO_NAME: name } }));
        let manual = bundle(&json!({ "name": "web" }));
        let mut helm_op = manual.clone();
        helm_op.spec.helm_op_options = Some(BundleHelmOptions::default());
        assert!(check(&of("one"), &of("one")).is_ok());
        for (present, other) in [
            (&of("one"), &of("two")),
            (&manual, &of("one")),
            (&helm_op, &manual),
        ] {
            assert!(matches!(
                check(present, other),
                Err(BundleWriteError::OtherOwner(_))
            ));
        }
    }

    #[test]
    fn bundle_that_is_being_deleted_is_an_error() {
        let deleted = json!({ "name": "web", "deletionTimestamp": "2026-01-01T00:00:00Z" });
        let result = check(&bundle(&deleted), &bundle(&json!({ "name": "web" })));
        assert!(matches!(result, Err(BundleWriteError::Deleting(_))));
    }
}
