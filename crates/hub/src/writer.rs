//! Typed writes of the server to its hub.
//!
//! A successful write returns after the store contains the result, or after a timeout. Decisions
//! after the write therefore use the result.

use std::fmt::Debug;

use drover_api::group::SERVER_FIELD_MANAGER;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::stores::store::Store;
use crate::{HubError, call, only};

/// The maximum number of attempts after conflicts.
const MAX_CONFLICTS: usize = 5;

/// A writer of objects of one kind. The argument `operation` of each method completes the sentence
/// "cannot …" in the error message.
#[derive(Debug)]
pub struct Writer<'a, K> {
    api: Api<K>,
    store: &'a Store<K>,
    manager: Option<&'static str>,
}

impl<'a, K> Writer<'a, K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    /// Creates a writer that uses `api`, for the objects of `store`.
    pub fn new(api: Api<K>, store: &'a Store<K>) -> Self {
        Self {
            api,
            store,
            manager: None,
        }
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
        self.store.wait_for(&written).await;
        written
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
        let (name, uid) = (object.name_any(), object.uid());
        let params = only(uid.clone());
        call(operation, self.api.delete(&name, &params)).await?;
        self.store.wait_until_gone(&uid.unwrap_or_default()).await;
        Ok(())
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
                self.store.wait_until_gone(&uid).await;
                Ok(())
            }
            answer => answer,
        }
    }
}
