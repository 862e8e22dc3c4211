//! The Helm values of bundles.

use drover_api::fleet::Bundle;
use drover_hub::call;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;

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
    for (entry, bytes) in data {
        let parse = |source| BundleError::Values {
            entry: entry.clone(),
            source,
        };
        let values: Value = serde_json::from_slice(&bytes.0).map_err(parse)?;
        if entry == "values.yaml" {
            bundle.spec.options.helm.get_or_insert_default().values = Some(values);
            continue;
        }
        let mut targets = bundle.spec.targets.iter_mut();
        if let Some(target) = targets.find(|target| target.name == entry) {
            target.options.helm.get_or_insert_default().values = Some(values);
        }
    }
    Ok(bundle)
}
