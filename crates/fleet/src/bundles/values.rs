//! The Helm values of bundles.

use drover_api::fleet::Bundle;
use drover_gitops::ids::add_bundle_values;
use drover_hub::call;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};

use super::error::BundleError;

/// Returns the bundle with the Helm values that `fleet apply` stored in a Secret.
pub(super) async fn with_values(client: &Client, bundle: &Bundle) -> Result<Bundle, BundleError> {
    let mut bundle = bundle.clone();
    if bundle.spec.values_hash.is_empty() {
        return Ok(bundle);
    }
    let (namespace, name) = (bundle.namespace().unwrap_or_default(), bundle.name_any());
    let secrets = Api::<Secret>::namespaced(client.clone(), &namespace);
    let secret = call("read the Helm values of a Bundle", secrets.get_opt(&name)).await?;
    let data = secret.and_then(|secret| secret.data);
    let data = data.ok_or(BundleError::NoValues(name))?;
    add_bundle_values(&mut bundle, data)?;
    Ok(bundle)
}
