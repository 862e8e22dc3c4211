//! Typed writes of the server to its hub.
//!
//! A successful write of a stored kind returns after the store contains the result, or after a
//! timeout. Decisions after the write therefore use the result. Writes of kinds without a store,
//! and writes after [`Writer::without_wait`], return after the hub's response.

use std::fmt::Debug;

use drover_api::group::SERVER_FIELD_MANAGER;
use drover_reconcile::finalizer;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::stores::store::Store;
use crate::{HubError, call};

/// The maximum number of times that a write is retried after a conflict.
const MAX_CONFLICTS: usize = 5;

/// A writer of objects of one kind. The argument `operation` of each method completes the sentence
/// "cannot …" in the error message.
#[derive(Debug)]
pub struct Writer<'a, K> {
    api: Api<K>,
    store: Option<&'a Store<K>>,
    manager: Option<&'static str>,
}

impl<'a, K> Writer<'a, K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    /// Creates a writer of a kind with a store. Other crates call
    /// [`Hub::writer`](crate::Hub::writer).
    pub(crate) fn new(api: Api<K>, store: &'a Store<K>) -> Self {
        Self {
            store: Some(store),
            ..Self::without_store(api)
        }
    }

    /// Creates a writer of a kind without a store, or of a program without stores.
    pub fn without_store(api: Api<K>) -> Self {
        Self {
            api,
            store: None,
            manager: None,
        }
    }

    /// Makes writes return after the hub's response, without waiting for the store.
    #[must_use]
    pub fn without_wait(mut self) -> Self {
        self.store = None;
        self
    }

    /// Sets the server's name as the field manager.
    #[must_use]
    pub fn with_manager(mut self) -> Self {
        self.manager = Some(SERVER_FIELD_MANAGER);
        self
    }

    fn post_params(&self) -> PostParams {
        PostParams {
            field_manager: self.manager.map(str::to_owned),
            ..PostParams::default()
        }
    }

    fn patch_params(&self) -> PatchParams {
        PatchParams {
            field_manager: self.manager.map(str::to_owned),
            ..PatchParams::default()
        }
    }

    async fn visible(&self, written: K) -> K {
        if let Some(store) = self.store {
            store.wait_for(&written).await;
        }
        written
    }

    async fn gone(&self, uid: &str) {
        if let Some(store) = self.store {
            store.wait_until_gone(uid).await;
        }
    }

    /// Creates an object.
    pub async fn create(&self, operation: &'static str, object: &K) -> Result<K, HubError> {
        let params = self.post_params();
        let created = call(operation, self.api.create(&params, object)).await?;
        Ok(self.visible(created).await)
    }

    /// Replaces an object. An outdated `resourceVersion` causes a conflict error.
    pub async fn replace(&self, operation: &'static str, object: &K) -> Result<K, HubError> {
        let (name, params) = (object.name_any(), self.post_params());
        let replacing = self.api.replace(&name, &params, object);
        let written = call(operation, replacing).await?;
        Ok(self.visible(written).await)
    }

    /// Replaces the status of an object. An outdated `resourceVersion` causes a conflict error.
    pub async fn replace_status(&self, operation: &'static str, object: &K) -> Result<K, HubError> {
        let (name, params) = (object.name_any(), self.post_params());
        let replacing = self.api.replace_status(&name, &params, object);
        let written = call(operation, replacing).await?;
        Ok(self.visible(written).await)
    }

    /// Applies a JSON merge patch to an object.
    pub async fn patch(
        &self,
        operation: &'static str,
        name: &str,
        patch: &Value,
    ) -> Result<K, HubError> {
        let (params, patch) = (self.patch_params(), Patch::Merge(patch));
        let written = call(operation, self.api.patch(name, &params, &patch)).await?;
        Ok(self.visible(written).await)
    }

    /// Applies a JSON merge patch to the status of an object.
    pub async fn patch_status(
        &self,
        operation: &'static str,
        name: &str,
        patch: &Value,
    ) -> Result<K, HubError> {
        let (params, patch) = (self.patch_params(), Patch::Merge(patch));
        let written = call(operation, self.api.patch_status(name, &params, &patch)).await?;
        Ok(self.visible(written).await)
    }

    /// Reads an object, changes the object and replaces the object on the hub. Repeats all steps
    /// after a conflict.
    pub async fn update(
        &self,
        operation: &'static str,
        name: &str,
        mut change: impl FnMut(&mut K),
    ) -> Result<K, HubError> {
        let mut conflicts = 0;
        loop {
            let mut object = call(operation, self.api.get(name)).await?;
            change(&mut object);
            match self.replace(operation, &object).await {
                Err(error) if error.is_conflict() && conflicts < MAX_CONFLICTS => conflicts += 1,
                answer => return answer,
            }
        }
    }

    /// Reads an object and applies a merge patch of its status. Repeats both steps after a
    /// conflict. The patch's `resourceVersion` detects conflicts.
    pub async fn update_status(
        &self,
        operation: &'static str,
        name: &str,
        patch: impl Fn(&K) -> Value,
    ) -> Result<K, HubError> {
        let mut conflicts = 0;
        loop {
            let object = call(operation, self.api.get(name)).await?;
            match self.patch_status(operation, name, &patch(&object)).await {
                Err(error) if error.is_conflict() && conflicts < MAX_CONFLICTS => conflicts += 1,
                answer => return answer,
            }
        }
    }

    /// Deletes this object. Does not delete a newer object with the same name. Returns an error if
    /// the object does not exist.
    pub async fn delete(&self, operation: &'static str, object: &K) -> Result<(), HubError> {
        let uid = object.uid();
        let preconditions = Preconditions {
            uid: uid.clone(),
            resource_version: None,
        };
        self.send_delete(operation, &object.name_any(), Some(preconditions))
            .await?;
        self.gone(&uid.unwrap_or_default()).await;
        Ok(())
    }

    async fn send_delete(
        &self,
        operation: &'static str,
        name: &str,
        preconditions: Option<Preconditions>,
    ) -> Result<(), HubError> {
        let params = DeleteParams {
            preconditions,
            ..DeleteParams::default()
        };
        call(operation, self.api.delete(name, &params))
            .await
            .map(drop)
    }

    /// Deletes this object if the object exists. Does not delete a newer object with the same name.
    pub async fn delete_if_present(
        &self,
        operation: &'static str,
        object: &K,
    ) -> Result<(), HubError> {
        match self.delete(operation, object).await {
            Err(error) if error.is_not_found() => {
                let uid = object.uid().unwrap_or_default();
                self.gone(&uid).await;
                Ok(())
            }
            answer => answer,
        }
    }

    /// Deletes this version of the object. A newer version or a newer object with the same name
    /// causes a conflict error. Does not wait for the store, because a finalizer can delay the
    /// deletion.
    pub async fn delete_version(
        &self,
        operation: &'static str,
        object: &K,
    ) -> Result<(), HubError> {
        let preconditions = Preconditions {
            uid: object.uid(),
            resource_version: object.resource_version(),
        };
        self.send_delete(operation, &object.name_any(), Some(preconditions))
            .await
    }

    /// Deletes the object with this name, whatever its UID is. Returns an error if no object has
    /// this name. Does not wait for the store, because the UID is unknown.
    pub async fn delete_by_name(
        &self,
        operation: &'static str,
        name: &str,
    ) -> Result<(), HubError> {
        self.send_delete(operation, name, None).await
    }

    /// Adds the finalizer to an object. A change of the object since the read causes a conflict
    /// error.
    pub async fn add_finalizer(
        &self,
        operation: &'static str,
        object: &K,
        finalizer: &str,
    ) -> Result<K, HubError> {
        let params = self.patch_params();
        let adding = finalizer::add_finalizer(&self.api, object, finalizer, &params);
        let written = call(operation, adding).await?;
        Ok(self.visible(written).await)
    }

    /// Removes the finalizer from an object. A change of the object since the read causes a
    /// conflict error. Does not wait for the store, because the hub deletes a deleted object with
    /// its last finalizer.
    pub async fn remove_finalizer(
        &self,
        operation: &'static str,
        object: &K,
        finalizer: &str,
    ) -> Result<K, HubError> {
        let params = self.patch_params();
        let removing = finalizer::remove_finalizer(&self.api, object, finalizer, &params);
        call(operation, removing).await
    }
}

#[cfg(test)]
mod tests;
