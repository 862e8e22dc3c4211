//! Admission of the server's Secrets, and of tokens of service accounts.

use drover_api::group::HUB_NAMESPACE;

use super::{Operation, Refusal, SYSTEM_NAMESPACE, Write, is_listed, is_private};

/// Names of the server's Secrets. A name that ends with `*` is a prefix.
pub const SERVERS_SECRETS: &[&str] = &[
    "identity-*",
    "password-*",
    "server-ca",
    "server-serving",
    "plan-signing-keys",
    "challenge-key",
    "cluster-key-*",
];

/// Type of a Secret that contains a bootstrap token. A client with the token is a member of the
/// groups in the Secret.
pub const BOOTSTRAP_TOKEN: &str = "bootstrap.kubernetes.io/token";
/// Type of a Secret into which Kubernetes writes a token of a service account.
const ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";
/// Annotation with the name of the service account.
const ACCOUNT: &str = "/metadata/annotations/kubernetes.io~1service-account.name";
/// Group of nodes. Nodes request tokens for the service accounts of their pods.
const NODES: &str = "system:nodes";

/// Reports whether a Secret in the hub's namespace is one of the server's Secrets.
pub fn is_servers_secret(name: &str) -> bool {
    is_listed(SERVERS_SECRETS, name)
}

pub(super) fn admit(write: &Write<'_>, server: &str) -> Result<(), Refusal> {
    let name = write.object_name();
    if write.namespace == HUB_NAMESPACE && is_servers_secret(name) {
        return Err(Refusal::new(format!(
            "only Drover's server can write the Secret {name:?}: set passwords with \"drover \
             user passwd\", or with \"drover server recover\" when no user can log in"
        )));
    }
    if write.operation == Operation::Delete {
        return Ok(());
    }
    let kind = write.of("/type").and_then(|kind| kind.as_str());
    let logs_in = write.namespace == SYSTEM_NAMESPACE && kind == Some(BOOTSTRAP_TOKEN);
    if logs_in && write.is_by_drover_user() {
        return Err(Refusal::new(
            "cannot create a bootstrap token for the hub through Drover, because the token would \
             stay valid after you lose your permissions: use a kubeconfig of the hub's own API \
             server",
        ));
    }
    if kind != Some(ACCOUNT_TOKEN) {
        return Ok(());
    }
    let account = write.of(ACCOUNT).and_then(|name| name.as_str());
    token_of(write, account.unwrap_or_default(), server)
}

pub(super) fn admit_account(write: &Write<'_>, server: &str) -> Result<(), Refusal> {
    let for_a_pod = write.groups.iter().any(|group| group == NODES);
    if write.subresource != "token" || for_a_pod {
        return Ok(());
    }
    token_of(write, write.object_name(), server)
}

fn token_of(write: &Write<'_>, account: &str, server: &str) -> Result<(), Refusal> {
    if super::account(server) == Some((write.namespace, account)) {
        return Err(Refusal::new(
            "cannot create a token of the server's service account: only nodes can request this \
             token, for the server's pods",
        ));
    }
    if is_private(write.namespace, server)
        && (write.is_by_drover_user() || write.is_by_service_account())
    {
        return Err(Refusal::new(format!(
            "cannot create a token of a service account in {namespace:?}, because the token \
             would stay valid after you lose your permissions: use a service account in a \
             different namespace",
            namespace = write.namespace
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
