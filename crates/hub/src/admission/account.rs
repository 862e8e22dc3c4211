//! The account of this process on an external hub, and its exemption from the admission webhook.

use std::time::Duration;

use drover_api::group::HUB_NAMESPACE;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use thiserror::Error;
use tokio::time::sleep;

use super::webhook::{neither, not};
use crate::webhook_name::{CONFIGURATION, SERVER_ANNOTATION};
use crate::{HubError, call};

/// The maximum number of retries of the dry-run write. A retry is necessary while the hub still
/// applies the previous webhook configuration.
const MAX_ATTEMPTS: u32 = 40;
const RETRY_DELAY: Duration = Duration::from_millis(250);
/// The name of a Secret for dry-run writes. The webhook's conditions match the name for all
/// accounts except the server's.
const PROBE_SECRET: &str = "password-of-nobody";

/// The error of a lookup of the client's account.
#[derive(Debug, Error)]
pub enum AccountError {
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The hub returned no user name.
    #[error("cannot identify the server's account: the hub returned no user name")]
    NoUserName,
}

/// The account in the webhook's conditions is not the client's account. The hub therefore sends the
/// client's writes to the webhook.
#[derive(Debug, Error)]
#[error(
    "cannot write to the hub as {account:?}: the webhook \"{CONFIGURATION}\" exempts only \
     {server:?}. Use a kubeconfig of {server:?}, or delete the webhook first: kubectl delete \
     validatingwebhookconfiguration {CONFIGURATION}. A running server installs the webhook again."
)]
pub struct AccountMismatch {
    account: String,
    server: String,
}

/// The error of [`exempt_server_account`].
#[derive(Debug, Error)]
pub enum ExemptError {
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The client's account is unknown.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The conditions of the webhook exempt no server account, so the server cannot add its own
    /// account.
    #[error(transparent)]
    NoExemption(AccountMismatch),
}

/// Returns the webhook configuration on the hub, if it exists.
pub(super) async fn configuration(
    client: &Client,
) -> Result<Option<ValidatingWebhookConfiguration>, HubError> {
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    call("read the admission webhook", api.get_opt(CONFIGURATION)).await
}

/// Returns the user name of the client on the hub.
pub(super) async fn client_account(client: &Client) -> Result<String, AccountError> {
    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = SelfSubjectReview::default();
    let params = PostParams::default();
    let creating = reviews.create(&params, &review);
    let review = call("read the server's account", creating).await?;
    let user = review.status.and_then(|status| status.user_info);
    let name = user.and_then(|user| user.username);
    name.filter(|name| !name.is_empty())
        .ok_or(AccountError::NoUserName)
}

/// Compares the client's account with the account in the webhook's conditions, and returns the
/// difference. Returns `None` if the accounts are equal, the webhook does not exist, or a call
/// fails.
pub async fn find_account_mismatch(client: &Client) -> Option<AccountMismatch> {
    let found = configuration(client).await.ok()??;
    compare(client, &found).await.ok()?
}

async fn compare(
    client: &Client,
    found: &ValidatingWebhookConfiguration,
) -> Result<Option<AccountMismatch>, AccountError> {
    let annotations = found.metadata.annotations.as_ref();
    let Some(server) = annotations.and_then(|all| all.get(SERVER_ANNOTATION)) else {
        return Ok(None);
    };
    let account = client_account(client).await?;
    let server = server.clone();
    Ok((account != server).then_some(AccountMismatch { account, server }))
}

/// Adds the client's account to the webhook's exemptions if the webhook exempts a different
/// account.
///
/// After a change of the server's account, the hub sends the server's own writes to the webhook. At
/// this time, no server handles webhook calls. Without the exemption, the hub rejects the server's
/// own writes. The webhook still reviews the writes of all other accounts. The leader later
/// installs the webhook with only its own account.
pub async fn exempt_server_account(client: &Client) -> Result<(), ExemptError> {
    let Some(mut found) = configuration(client).await? else {
        return Ok(());
    };
    let Some(other) = compare(client, &found).await? else {
        return Ok(());
    };
    match add_exemption(&mut found, &other) {
        Exemption::Missing => return Err(ExemptError::NoExemption(other)),
        Exemption::Present => {}
        Exemption::Added => patch_webhook(client, &found, &other).await?,
    }
    wait_until_exempt(client).await?;
    Ok(())
}

/// The result of an attempt to add an exemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Exemption {
    /// The webhook's conditions exempt no server account.
    Missing,
    /// The conditions already exempt the account. The server restarted after it added the exemption
    /// and before it installed the webhook.
    Present,
    /// The account was added.
    Added,
}

/// Adds the account to each condition that exempts the server. Skips conditions that contain the
/// account.
fn add_exemption(found: &mut ValidatingWebhookConfiguration, other: &AccountMismatch) -> Exemption {
    let (server, account) = (not(&other.server), not(&other.account));
    let both = neither(&other.server, &other.account);
    let webhooks = found.webhooks.iter_mut().flatten();
    let conditions = webhooks.flat_map(|webhook| webhook.match_conditions.iter_mut().flatten());
    let mut exemption = Exemption::Missing;
    for condition in conditions {
        if condition.expression.contains(&account) {
            exemption = exemption.max(Exemption::Present);
        } else if condition.expression.contains(&server) {
            condition.expression = condition.expression.replace(&server, &both);
            exemption = Exemption::Added;
        }
    }
    exemption
}

async fn patch_webhook(
    client: &Client,
    found: &ValidatingWebhookConfiguration,
    other: &AccountMismatch,
) -> Result<(), HubError> {
    let AccountMismatch { account, server } = other;
    tracing::info!(before = %server, now = %account, "the server's account changed");
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let patch = Patch::Merge(json!({
        "metadata": { "resourceVersion": found.metadata.resource_version },
        "webhooks": found.webhooks,
    }));
    let params = PatchParams::default();
    let patching = api.patch(CONFIGURATION, &params, &patch);
    call("add the server's account to the webhook", patching).await?;
    Ok(())
}

async fn wait_until_exempt(client: &Client) -> Result<(), HubError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), HUB_NAMESPACE);
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(PROBE_SECRET.to_owned()),
            ..ObjectMeta::default()
        },
        ..Secret::default()
    };
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let mut attempts_left = MAX_ATTEMPTS;
    loop {
        let answer = call(
            "test a write as the server",
            secrets.create(&params, &secret),
        )
        .await;
        match answer {
            Err(HubError::NotExempt { .. }) if attempts_left > 0 => {
                attempts_left -= 1;
                sleep(RETRY_DELAY).await;
            }
            Err(error) => return Err(error),
            Ok(_) => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::webhook::WebhookConfig;
    use super::*;

    /// Returns the webhook configuration that a server with this account installs.
    fn webhook_of(server: &str) -> ValidatingWebhookConfiguration {
        let address = "https://drover.example".parse().unwrap();
        let asking = WebhookConfig {
            address: &address,
            trust: None,
            segment: "secret",
            server,
        };
        serde_json::from_value(asking.rules()).unwrap()
    }

    fn expressions(of: &ValidatingWebhookConfiguration) -> Vec<String> {
        let webhooks = of.webhooks.iter().flatten();
        let conditions = webhooks.flat_map(|webhook| webhook.match_conditions.iter().flatten());
        conditions
            .map(|condition| condition.expression.clone())
            .collect()
    }

    fn other(account: &str) -> AccountMismatch {
        AccountMismatch {
            account: account.to_owned(),
            server: "before".to_owned(),
        }
    }

    #[test]
    fn server_start_adds_webhook_exemption_only_once() {
        let mut found = webhook_of("before");
        let (old, new) = (not("before"), not("now"));
        assert_eq!(add_exemption(&mut found, &other("now")), Exemption::Added);
        let once = expressions(&found);
        let counts = |part: &str| {
            let counts = once
                .iter()
                .map(|expression| expression.matches(part).count());
            counts.collect::<Vec<_>>()
        };
        let new = counts(&new);
        assert_eq!(
            new,
            counts(&old),
            "each condition with the old account has the new account: {once:?}"
        );
        assert_eq!(new.iter().max(), Some(&1), "{once:?}");
        assert_eq!(add_exemption(&mut found, &other("now")), Exemption::Present);
        assert_eq!(expressions(&found), once);
        // An account is matched by its full name, not by a prefix.
        assert_eq!(add_exemption(&mut found, &other("no")), Exemption::Added);
    }

    #[test]
    fn error_of_missing_webhook_exemption_contains_the_kubectl_command() {
        let mut found = webhook_of("somebody-else");
        let before = expressions(&found);
        let mismatch = other("now");
        assert_eq!(add_exemption(&mut found, &mismatch), Exemption::Missing);
        assert_eq!(expressions(&found), before);
        let message = ExemptError::NoExemption(mismatch).to_string();
        let command = "kubectl delete validatingwebhookconfiguration drover-rules";
        assert!(message.contains(command), "{message}");
    }
}
