//! Adds and removes finalizers by compare-and-swap.
//!
//! Unlike `kube::runtime::finalizer`, each patch contains the object's UID and resourceVersion. The
//! patch therefore never changes a newer object with the same name.

use kube::api::{Api, Patch, PatchParams};
use kube::{Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;

/// Returns true if the object has the finalizer.
pub fn has_finalizer(object: &impl Resource, finalizer: &str) -> bool {
    let mut finalizers = object.meta().finalizers.iter().flatten();
    finalizers.any(|present| present == finalizer)
}

/// Adds the finalizer to `object`. A 409 response means that the object has changed.
pub async fn add_finalizer<K>(
    api: &Api<K>,
    object: &K,
    finalizer: &str,
    params: &PatchParams,
) -> kube::Result<K>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let mut finalizers = object.finalizers().to_vec();
    finalizers.push(finalizer.to_owned());
    set_finalizers(api, object, &finalizers, params).await
}

/// Removes the finalizer from `object`. A 409 response means that the object has changed.
pub async fn remove_finalizer<K>(
    api: &Api<K>,
    object: &K,
    finalizer: &str,
    params: &PatchParams,
) -> kube::Result<K>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let others = object.finalizers().iter();
    let others: Vec<String> = others
        .filter(|present| *present != finalizer)
        .cloned()
        .collect();
    set_finalizers(api, object, &others, params).await
}

async fn set_finalizers<K>(
    api: &Api<K>,
    object: &K,
    finalizers: &[String],
    params: &PatchParams,
) -> kube::Result<K>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let patch = json!({"metadata": {
        "finalizers": finalizers,
        "resourceVersion": object.resource_version(),
        "uid": object.uid(),
    }});
    api.patch(&object.name_any(), params, &Patch::Merge(&patch))
        .await
}
