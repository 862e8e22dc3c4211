//! Reviews a service account token on the hub.

use drover_access::account_token::AccountToken;
use drover_access::identity::Account;
use drover_access::names::AccountName;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};

use drover_hub::{Hub, HubError, call};

/// The prefix of the extras that Kubernetes sets for a token, its pod and its node.
const EXTRAS: &str = "authentication.kubernetes.io/";

/// Returns the token's account if the hub accepts the token and the account has the same UID as in
/// the token.
pub(super) async fn review(hub: &Hub, token: &AccountToken) -> Result<Option<Account>, HubError> {
    let reviews: Api<TokenReview> = Api::all(hub.client());
    let question = TokenReview {
        spec: TokenReviewSpec {
            token: token.expose().to_owned(),
            audiences: None,
        },
        ..TokenReview::default()
    };
    let params = PostParams::default();
    let answer = call("review a token", reviews.create(&params, &question)).await?;
    let Some(account) = account(token, answer) else {
        return Ok(None);
    };
    // kube-apiserver caches a positive review for 10 s, so it accepts the token of a deleted
    // account.
    let (namespace, name) = account.name.object();
    let accounts: Api<ServiceAccount> = Api::namespaced(hub.client(), namespace);
    let object = call("read a service account", accounts.get_opt(name)).await?;
    let same = object.is_some_and(|object| {
        object.uid().as_deref() == Some(&*account.uid)
            && object.metadata.deletion_timestamp.is_none()
    });
    Ok(same.then_some(account))
}

/// Returns the reviewed user if the user is a service account.
pub(super) fn account(token: &AccountToken, answer: TokenReview) -> Option<Account> {
    let status = answer.status?;
    let user = status.user.filter(|_| status.authenticated == Some(true))?;
    let extras = user.extra.unwrap_or_default().into_iter();
    let extras = extras.filter(|(key, _)| key.starts_with(EXTRAS));
    let each = |(key, values): (String, Vec<String>)| {
        let values = values.into_iter();
        values.map(move |value| (key.clone(), value))
    };
    Some(Account {
        name: AccountName::parse(&user.username?)?,
        uid: user.uid.unwrap_or_default(),
        token: token.digest(),
        extras: extras.flat_map(each).collect(),
        expires_at: token.expires_at(),
    })
}
