//! Writes and deletes objects.

use std::fmt::Debug;

use futures::future::join_all;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{CONCURRENCY, Objects, WriteMode};
use crate::compare::Comparable;
use crate::diff::Diff;
use crate::error::{ApplyError, Failure, call, has_code, is_conflict, unless_gone};

impl<K> Objects<K>
where
    K: Comparable + Resource<DynamicType = ()> + Serialize + DeserializeOwned + Debug,
{
    /// Deletes the objects that are not desired and the objects that must be recreated.
    pub async fn prune(&self, diff: &Diff<K>) -> Vec<Failure> {
        let mut failures = Vec::new();
        for objects in [&diff.prune, &diff.recreate] {
            for batch in objects.chunks(CONCURRENCY) {
                let deleted: Vec<_> = batch.iter().map(|object| self.delete(object)).collect();
                let deleted = join_all(deleted).await;
                failures.extend(deleted.into_iter().filter_map(Result::err));
            }
        }
        failures
    }

    /// Replaces the objects that differ and creates the missing objects.
    pub async fn write(&self, diff: &Diff<K>) -> Vec<Failure> {
        let mut failures = Vec::new();
        for (objects, exists) in [(&diff.replace, true), (&diff.create, false)] {
            for batch in objects.chunks(CONCURRENCY) {
                let written = batch.iter().map(|object| self.write_one(object, exists));
                let written = join_all(written.collect::<Vec<_>>()).await;
                failures.extend(written.into_iter().filter_map(Result::err));
            }
        }
        failures
    }

    async fn write_one(&self, object: &K, exists: bool) -> Result<(), Failure> {
        let namespace = object.namespace().unwrap_or_default();
        let written = match &self.mode {
            WriteMode::ServerSideApply { field_manager } => {
                self.server_side_apply(&namespace, object, field_manager)
                    .await
            }
            WriteMode::Replace if exists => self.replace(&namespace, object).await,
            WriteMode::Replace => match self.create(&namespace, object).await {
                Err(ApplyError::Call { source, .. }) if is_conflict(&source) => {
                    self.take_over(&namespace, object).await
                }
                created => created,
            },
        };
        written.map_err(|error| Failure { namespace, error })
    }

    /// Replaces an existing object that has the desired name but not the owner's label. Returns an
    /// error unless the desired names are reserved for the owner.
    async fn take_over(&self, namespace: &str, object: &K) -> Result<(), ApplyError> {
        if !self.reserved_names {
            let operation = operation("create", namespace, object);
            return Err(ApplyError::NameTaken { operation });
        }
        match self.replace(namespace, object).await {
            // The update changes an immutable field.
            Err(ApplyError::Call { source, .. }) if has_code(&source, 422) => {
                self.delete_in(namespace, object).await?;
                self.create(namespace, object).await
            }
            replaced => replaced,
        }
    }

    async fn create(&self, namespace: &str, object: &K) -> Result<(), ApplyError> {
        let (api, params) = (self.api(namespace), PostParams::default());
        let created = api.create(&params, object);
        call(operation("create", namespace, object), created)
            .await
            .map(drop)
    }

    async fn replace(&self, namespace: &str, object: &K) -> Result<(), ApplyError> {
        let (api, params) = (self.api(namespace), PostParams::default());
        let name = object.name_any();
        let replaced = api.replace(&name, &params, object);
        call(operation("replace", namespace, object), replaced)
            .await
            .map(drop)
    }

    async fn server_side_apply(
        &self,
        namespace: &str,
        object: &K,
        field_manager: &str,
    ) -> Result<(), ApplyError> {
        let (api, name) = (self.api(namespace), object.name_any());
        let params = PatchParams::apply(field_manager).force();
        let patch = Patch::Apply(Typed {
            api_version: K::api_version(&()),
            kind: K::kind(&()),
            object,
        });
        let applied = api.patch(&name, &params, &patch);
        call(operation("apply", namespace, object), applied)
            .await
            .map(drop)
    }

    async fn delete(&self, object: &K) -> Result<(), Failure> {
        let namespace = object.namespace().unwrap_or_default();
        let deleted = self.delete_in(&namespace, object).await;
        deleted.map_err(|error| Failure { namespace, error })
    }

    /// Deletes an object. Removes its finalizers first, because an object that waits for a
    /// finalizer still grants its permissions.
    async fn delete_in(&self, namespace: &str, object: &K) -> Result<(), ApplyError> {
        let (api, name) = (self.api(namespace), object.name_any());
        let operation = operation("delete", namespace, object);
        if !object.finalizers().is_empty() {
            let mut without = object.clone();
            without.finalizers_mut().clear();
            without.meta_mut().resource_version = None;
            let params = PostParams::default();
            let replaced = api.replace(&name, &params, &without);
            unless_gone(call(operation.clone(), replaced).await)?;
        }
        let params = DeleteParams::default();
        let deleted = call(operation.clone(), api.delete(&name, &params)).await;
        // The API server responds with a `Status` if it deleted the object immediately.
        match deleted.map(|answer| answer.map_right(drop).left()) {
            Ok(Some(left)) if !left.finalizers().is_empty() => {
                Err(ApplyError::FinalizerPending { operation })
            }
            deleted => unless_gone(deleted),
        }
    }

    fn api(&self, namespace: &str) -> Api<K> {
        (self.api_in)(self.client.clone(), namespace)
    }
}

/// An object with its `apiVersion` and `kind`, which server-side apply requires.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Typed<'a, K> {
    api_version: std::borrow::Cow<'static, str>,
    kind: std::borrow::Cow<'static, str>,
    #[serde(flatten)]
    object: &'a K,
}

/// Returns the verb, kind and name for an error.
fn operation<K: Resource<DynamicType = ()>>(verb: &str, namespace: &str, object: &K) -> String {
    let (kind, name) = (K::kind(&()), object.name_any());
    if namespace.is_empty() {
        format!("{verb} {kind} {name}")
    } else {
        format!("{verb} {kind} {name} in the namespace {namespace}")
    }
}
