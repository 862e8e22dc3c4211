//! The files and Helm values of Bundles on the hub.

use std::collections::BTreeMap;

use drover_api::fleet::{Bundle, Content};
use drover_gitops::ids::{Manifest, add_bundle_values, part_names};
use k8s_openapi::api::core::v1::Secret;

use crate::client::Client;
use crate::failure::Failure;
use crate::kubernetes::HubObjects;

/// Maximum size of the files of a bundle after decompression, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Returns the files of a Content. `contents` are the Contents by name, with the parts of the Content.
pub(super) fn files(name: &str, contents: &BTreeMap<String, Content>) -> Result<Manifest, String> {
    let find = |name: &str| {
        let found = contents.get(name);
        found.ok_or_else(|| format!("the Content {name:?} is missing"))
    };
    let whole = find(name)?;
    let mut data = Vec::new();
    data.extend(bytes(whole));
    for part in part_names(whole).map_err(|error| error.to_string())? {
        data.extend(bytes(find(&part)?));
    }
    Manifest::decompress(&data, &whole.sha256_sum, MAX_BYTES).map_err(|error| error.to_string())
}

fn bytes(content: &Content) -> &[u8] {
    content.content.as_ref().map_or(&[], |data| &data.0)
}

/// Returns Contents by their names.
pub(super) fn by_name(contents: Vec<Content>) -> BTreeMap<String, Content> {
    let named = contents.into_iter();
    named
        .map(|content| (content.metadata.name.clone().unwrap_or_default(), content))
        .collect()
}

/// Returns a Bundle of the hub with its files and its Helm values.
pub(super) async fn stored_bundle(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Bundle, Failure> {
    let mut bundle: Bundle = HubObjects::fleet(client, "bundles", Some(namespace))
        .get(name)
        .await?;
    if bundle.spec.helm_op_options.is_some() {
        return Err(Failure::Other(format!(
            "cannot compare the bundle {name}: the agents pull the chart of a HelmOp"
        )));
    }
    let content = bundle.spec.contents_id.clone();
    if !content.is_empty() {
        bundle.spec.resources = stored_files(client, &content).await?.resources;
    }
    if !bundle.spec.values_hash.is_empty() {
        let secret: Secret = HubObjects::secrets(client, namespace).get(name).await?;
        let data = secret.data.unwrap_or_default();
        add_bundle_values(&mut bundle, data).map_err(|error| {
            Failure::Other(format!(
                "cannot read the Helm values of the bundle {name}: {error}"
            ))
        })?;
    }
    Ok(bundle)
}

async fn stored_files(client: &Client, name: &str) -> Result<Manifest, Failure> {
    let contents = HubObjects::fleet(client, "contents", None);
    let whole: Content = contents.get(name).await?;
    let failed = |error: &dyn std::fmt::Display| {
        Failure::Other(format!("cannot read the files of the bundle: {error}"))
    };
    let parts = part_names(&whole).map_err(|error| failed(&error))?;
    let mut all = vec![whole];
    for part in parts {
        all.push(contents.get(&part).await?);
    }
    files(name, &by_name(all)).map_err(|error| failed(&error))
}
