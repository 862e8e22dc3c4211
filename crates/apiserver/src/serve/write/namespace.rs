//! Namespace checks (kube-apiserver's admission plugin `NamespaceLifecycle`).

use crate::resource::{Scope, key};
use crate::serve::exchange::Exchange;
use crate::serve::shared::Target;
use crate::status::{ApiError, Cause};
use crate::store::{Require, Stored};

/// The namespaces that cannot be deleted.
const SYSTEM_NAMESPACES: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Rejects a create in a missing or terminating namespace. Returns the revision of the namespace,
/// which must not change until the create.
pub(crate) async fn check_open(
    exchange: &Exchange,
    target: &Target,
    name: &str,
) -> Result<Option<Require>, ApiError> {
    let Some(stored) = find(exchange, target).await? else {
        return Ok(None);
    };
    let object = stored.object().map_err(ApiError::internal)?;
    if object["status"]["phase"] != "Terminating" {
        return Ok(Some(Require {
            key: stored.key.to_string(),
            revision: stored.revision,
        }));
    }
    let namespace = &target.namespace;
    let mut error = target.named(name).forbidden(format_args!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    ));
    if let Some(details) = &mut error.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    Err(error)
}

/// Reads the namespace of a namespaced target.
async fn find(exchange: &Exchange, target: &Target) -> Result<Option<Stored>, ApiError> {
    if target.resource.scope == Scope::Cluster {
        return Ok(None);
    }
    let name = &target.namespace;
    let key = key("", "namespaces", "", name);
    let found = exchange.shared.store.get(&key).await;
    match found.map_err(ApiError::internal)? {
        Some(namespace) => Ok(Some(namespace)),
        None => Err(ApiError::not_found("", "namespaces", name)),
    }
}

/// Rejects the deletion of system namespaces.
pub(crate) fn check_deletable(target: &Target) -> Result<(), ApiError> {
    if target.is("", "namespaces") && SYSTEM_NAMESPACES.contains(&target.name.as_str()) {
        return Err(target.forbidden("this namespace may not be deleted"));
    }
    Ok(())
}
