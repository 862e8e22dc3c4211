//! As whom this process writes to a hub elsewhere, and whom that hub takes for the server.

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

use super::webhook::{also_not, not};
use crate::webhook_name::{CONFIGURATION, SERVER_ANNOTATION};
use crate::{HubError, call};

/// How long a hub may take to hear of a change of its webhooks.
const TRIES: u32 = 40;
const BETWEEN_TRIES: Duration = Duration::from_millis(250);
/// A Secret that nobody makes, and about which others than the server are asked.
const TRIED: &str = "password-of-nobody";

/// Why the account is not known.
#[derive(Debug, Error)]
pub enum AccountError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// It has no name.
    #[error("the hub does not say who the server is")]
    Unsaid,
}

/// An account that the hub does not take for the server's, and therefore asks about.
#[derive(Debug, Error)]
#[error(
    "the hub asks about what {account:?} writes, because its webhook \"{CONFIGURATION}\" takes \
     {server:?} for Drover's server: use a kubeconfig of that account, or remove the webhook first \
     (kubectl delete validatingwebhookconfiguration {CONFIGURATION}); a server that runs installs it \
     again"
)]
pub struct AccountMismatch {
    account: String,
    server: String,
}

/// Why the hub does not take this account for the server's, and was not told to.
#[derive(Debug, Error)]
pub enum ExemptError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The account is not known.
    #[error(transparent)]
    Nameless(#[from] AccountError),
    /// What the hub is told is not as this server tells it, so that nothing can be added.
    #[error(transparent)]
    NoPlace(AccountMismatch),
}

/// What the hub is told about the rules, if it is.
pub(super) async fn configuration(
    client: &Client,
) -> Result<Option<ValidatingWebhookConfiguration>, HubError> {
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    call("read the webhook of the rules", api.get_opt(CONFIGURATION)).await
}

/// The name under which this client writes.
pub(super) async fn whoami(client: &Client) -> Result<String, AccountError> {
    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = SelfSubjectReview::default();
    let params = PostParams::default();
    let asking = reviews.create(&params, &review);
    let said = call("ask who the server is", asking).await?;
    let user = said.status.and_then(|status| status.user_info);
    let name = user.and_then(|user| user.username);
    name.filter(|name| !name.is_empty())
        .ok_or(AccountError::Unsaid)
}

/// Whether the hub takes somebody else than this client's account for the server; `None` where
/// that cannot be found out, or nobody is asked.
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
    let account = whoami(client).await?;
    let server = server.clone();
    Ok((account != server).then_some(AccountMismatch { account, server }))
}

/// Makes a hub that takes another account for the server take this one for it, too.
///
/// A server that runs as another account than before could not start otherwise: the hub would ask
/// about it, and nobody answers. For everybody else the rules stay in force; the server that leads
/// installs them anew, with its own name alone.
pub async fn exempt_server_account(client: &Client) -> Result<(), ExemptError> {
    let Some(mut found) = configuration(client).await? else {
        return Ok(());
    };
    let Some(other) = compare(client, &found).await? else {
        return Ok(());
    };
    match let_in(&mut found, &other) {
        Place::None => return Err(ExemptError::NoPlace(other)),
        Place::Had => {}
        Place::Made => tell(client, &found, &other).await?,
    }
    wait_until_known(client).await?;
    Ok(())
}

/// Whether the conditions of a configuration except an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// They do not, and have none for it.
    None,
    /// They did already: the server was started again before the rules were installed anew.
    Had,
    /// They do now.
    Made,
}

/// Adds the account to the conditions that except the server, each at most once.
fn let_in(found: &mut ValidatingWebhookConfiguration, other: &AccountMismatch) -> Place {
    let (server, account) = (not(&other.server), not(&other.account));
    let both = also_not(&other.server, &other.account);
    let webhooks = found.webhooks.iter_mut().flatten();
    let conditions = webhooks.flat_map(|webhook| webhook.match_conditions.iter_mut().flatten());
    let mut place = Place::None;
    for condition in conditions {
        if condition.expression.contains(&account) {
            place = place.max(Place::Had);
        } else if condition.expression.contains(&server) {
            condition.expression = condition.expression.replace(&server, &both);
            place = Place::Made;
        }
    }
    place
}

async fn tell(
    client: &Client,
    found: &ValidatingWebhookConfiguration,
    other: &AccountMismatch,
) -> Result<(), HubError> {
    let AccountMismatch { account, server } = other;
    tracing::info!(before = %server, now = %account, "the server runs as another account than before");
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let patch = Patch::Merge(json!({
        "metadata": { "resourceVersion": found.metadata.resource_version },
        "webhooks": found.webhooks,
    }));
    let params = PatchParams::default();
    let patching = api.patch(CONFIGURATION, &params, &patch);
    call("let the hub know of the server's account", patching).await?;
    Ok(())
}

async fn wait_until_known(client: &Client) -> Result<(), HubError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), HUB_NAMESPACE);
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(TRIED.to_owned()),
            ..ObjectMeta::default()
        },
        ..Secret::default()
    };
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let mut left = TRIES;
    loop {
        let answer = call("write as the server", secrets.create(&params, &secret)).await;
        match answer {
            Err(HubError::AskedAbout { .. }) if left > 0 => {
                left -= 1;
                sleep(BETWEEN_TRIES).await;
            }
            Err(error) => return Err(error),
            Ok(_) => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::webhook::Asking;
    use super::*;

    /// What a hub is told by a server of this name.
    fn told_by(server: &str) -> ValidatingWebhookConfiguration {
        let address = "https://drover.example".parse().unwrap();
        let asking = Asking {
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
        conditions.map(|one| one.expression.clone()).collect()
    }

    fn other(account: &str) -> AccountMismatch {
        AccountMismatch {
            account: account.to_owned(),
            server: "before".to_owned(),
        }
    }

    #[test]
    fn an_account_is_let_in_once_however_often_its_server_starts() {
        let mut found = told_by("before");
        let (old, new) = (not("before"), not("now"));
        assert_eq!(let_in(&mut found, &other("now")), Place::Made);
        let once = expressions(&found);
        let counts = |part: &str| {
            let counts = once.iter().map(|one| one.matches(part).count());
            counts.collect::<Vec<_>>()
        };
        let new = counts(&new);
        assert_eq!(new, counts(&old), "wherever the old one is: {once:?}");
        assert_eq!(new.iter().max(), Some(&1), "{once:?}");
        assert_eq!(let_in(&mut found, &other("now")), Place::Had);
        assert_eq!(expressions(&found), once);
        // Another one, whose name begins the same, is another.
        assert_eq!(let_in(&mut found, &other("no")), Place::Made);
    }

    #[test]
    fn an_account_that_has_no_place_is_told_the_way_out() {
        let mut found = told_by("somebody-else");
        let before = expressions(&found);
        let stranger = other("now");
        assert_eq!(let_in(&mut found, &stranger), Place::None);
        assert_eq!(expressions(&found), before);
        let said = ExemptError::NoPlace(stranger).to_string();
        let way = "kubectl delete validatingwebhookconfiguration drover-rules";
        assert!(said.contains(way), "{said}");
    }
}
