//! Secrets that the first server creates and other servers read.

use std::collections::BTreeMap;

use drover_api::group::{HUB_NAMESPACE, MANAGED_BY, MANAGED_BY_LABEL};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};

use super::{HubError, call};

/// The content of a Secret by key.
pub type Data = BTreeMap<String, Vec<u8>>;

/// Builds a Secret in the server's namespace.
pub fn secret(name: &str, kind: &str, data: Data) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(HUB_NAMESPACE.to_owned()),
            labels: Some([(MANAGED_BY_LABEL.to_owned(), MANAGED_BY.to_owned())].into()),
            ..ObjectMeta::default()
        },
        type_: Some(kind.to_owned()),
        data: Some(
            data.into_iter()
                .map(|(key, value)| (key, ByteString(value)))
                .collect(),
        ),
        ..Secret::default()
    }
}

/// Returns an entry of a Secret. Returns `None` if the Secret has no such entry.
pub fn entry<'a>(secret: &'a Secret, key: &str) -> Option<&'a [u8]> {
    secret
        .data
        .as_ref()?
        .get(key)
        .map(|value| value.0.as_slice())
}

/// Reads the Secret, or creates the Secret with the content of `make`. If two servers create the
/// Secret concurrently, both servers return the Secret that was created first.
pub async fn create_or_read<E: From<HubError>>(
    api: &Api<Secret>,
    name: &str,
    make: impl FnOnce() -> Result<Secret, E>,
) -> Result<Secret, E> {
    if let Some(found) = call("read a Secret of the server", api.get_opt(name)).await? {
        return Ok(found);
    }
    let new = make()?;
    match call(
        "create a Secret of the server",
        api.create(&PostParams::default(), &new),
    )
    .await
    {
        Ok(created) => Ok(created),
        Err(error) if error.is_conflict() => {
            Ok(call("read a Secret of the server", api.get(name)).await?)
        }
        Err(error) => Err(error.into()),
    }
}
