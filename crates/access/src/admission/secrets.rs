//! The server's Secrets, and the tokens of accounts.

use drover_api::group::HUB_NAMESPACE;

use super::{Operation, Refusal, SYSTEM_NAMESPACE, Write, is_listed, is_private};

/// Names of the Secrets that make a server what it is; those that end with `*` are prefixes.
pub const SERVERS_SECRETS: &[&str] = &[
    "identity-*",
    "password-*",
    "server-ca",
    "server-serving",
    "plan-signing-keys",
    "challenge-key",
    "cluster-key-*",
];

/// Type of a Secret of Kubernetes' own namespace that is itself a log-in, of whichever groups it
/// names.
pub const BOOTSTRAP_TOKEN: &str = "bootstrap.kubernetes.io/token";
/// Type of a Secret that Kubernetes fills with an account's token.
const ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";
/// Annotation that names the account.
const ACCOUNT: &str = "/metadata/annotations/kubernetes.io~1service-account.name";
/// The group of nodes, which ask for the tokens of the pods on them.
const NODES: &str = "system:nodes";

/// Whether a Secret of the hub's namespace is one of the server's.
pub fn is_servers_secret(name: &str) -> bool {
    is_listed(SERVERS_SECRETS, name)
}

pub(super) fn admit(write: &Write<'_>, server: &str) -> Result<(), Refusal> {
    let name = write.called();
    if write.namespace == HUB_NAMESPACE && is_servers_secret(name) {
        return Err(Refusal::new(format!(
            "the Secret {name:?} is the server's own, and nobody else writes it: passwords are set \
             with \"drover user passwd\", or with \"drover server recover\" when nobody can log in"
        )));
    }
    if write.operation == Operation::Delete {
        return Ok(());
    }
    let kind = write.of("/type").and_then(|kind| kind.as_str());
    let logs_in = write.namespace == SYSTEM_NAMESPACE && kind == Some(BOOTSTRAP_TOKEN);
    if logs_in && write.by_person() {
        return Err(Refusal::new(
            "a bootstrap token is a log-in to the hub that would outlive your own rights: make it \
             with a kubeconfig of the hub's own",
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
    token_of(write, write.called(), server)
}

fn token_of(write: &Write<'_>, account: &str, server: &str) -> Result<(), Refusal> {
    if super::account(server) == Some((write.namespace, account)) {
        return Err(Refusal::new(
            "whoever has a token of the server's account is the server: only nodes get one, for \
             its pods",
        ));
    }
    if is_private(write.namespace, server) && (write.by_person() || write.by_account()) {
        return Err(Refusal::new(format!(
            "a token of an account in {:?} would outlive your own rights: use an account in another \
             namespace",
            write.namespace
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
