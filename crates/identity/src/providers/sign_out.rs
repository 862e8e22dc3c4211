//! Signing out at the provider as well, where its `signOutThere` says so.
//!
//! An OpenID provider keeps a session in the browser, so the browser has to go there: it is given a
//! form to post (OpenID Connect RP-Initiated Logout 1.0). What GitHub keeps is a token, which this
//! server withdraws once nothing of the person stands on it. Whatever goes wrong there, people are
//! signed out here.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use drover_api::ids::{ProviderUid, UserUid};
use drover_api::kinds::{AuthProvider, TokenProvider, User};
use drover_providers::ProviderError;
use drover_providers::github::Github;
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use jiff::Timestamp;
use kube::ResourceExt as _;
use reqwest::Url;
use secrecy::SecretString;
use thiserror::Error;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::configured::{Configured, ProtocolClient, Providers, UseError, is_there};
use super::keyed_lock::KeyedLock;
use super::provider_tokens::{self, ProviderTokensError};
use super::sign_in;
use drover_hub::Hub;
use drover_hub::settings::Settings;
use drover_hub::stores::identity_status;

/// Longest that somebody who signs out waits for where to go on.
const FORM_WITHIN: Duration = Duration::from_secs(3);
/// Longest that a provider may take where nobody waits for it.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);
/// How often it is looked up where providers sign people out.
const LOOK_EVERY: Duration = Duration::from_mins(1);
/// Changes of providers that come together are reconciled together.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Why nobody was signed out at a provider.
#[derive(Debug, Error)]
enum SignOutError {
    /// The provider cannot be used.
    #[error(transparent)]
    Use(#[from] UseError),
    /// It did not do it.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// What it gave could not be read.
    #[error(transparent)]
    ProviderTokens(#[from] ProviderTokensError),
    /// It took too long.
    #[error("it took longer than {} s", .0.as_secs())]
    Slow(Duration),
}

/// The form that a browser posts to sign out at its provider.
#[derive(Debug)]
pub struct Form {
    /// Name of the provider.
    pub provider: String,
    /// Where it goes.
    pub url: Url,
    /// Its fields.
    pub fields: [(&'static str, SecretString); 3],
}

/// Signs out at providers; cheap to clone.
#[derive(Clone, Debug)]
pub struct ProviderLogouts {
    hub: Hub,
    settings: Settings,
    providers: Providers,
    locks: KeyedLock,
}

impl ProviderLogouts {
    /// On a hub; `people` is shared with sign-ins.
    pub fn new(hub: Hub, settings: Settings, providers: Providers, locks: KeyedLock) -> Self {
        Self {
            hub,
            settings,
            providers,
            locks,
        }
    }

    /// What a browser has to post whose session stood on this provider; `None` if nothing, or if
    /// that cannot be found out in time.
    pub async fn form(&self, user: &UserUid, on: &TokenProvider) -> Option<Form> {
        let making = timeout(FORM_WITHIN, self.make_form(user, on));
        let made = making.await.unwrap_or(Err(SignOutError::Slow(FORM_WITHIN)));
        made.unwrap_or_else(|error| {
            unwell(&on.name, &error);
            None
        })
    }

    async fn make_form(
        &self,
        user: &UserUid,
        on: &TokenProvider,
    ) -> Result<Option<Form>, SignOutError> {
        let users = &self.hub.stores().users;
        let (Some(user), Some(provider)) = (users.by_uid(user.as_str()), self.wanted(on)) else {
            return Ok(None);
        };
        let stands = sign_in::is_login_valid(&self.hub, &user, Some(on), Timestamp::now());
        if provider.spec.oidc.is_none() || !stands {
            return Ok(None);
        }
        let Some(id_token) = provider_tokens::read(&self.hub, &user, &on.uid)
            .await?
            .id_token
        else {
            return Ok(None);
        };
        let configured = self.providers.configured(&provider).await?;
        let ProtocolClient::Oidc(oidc) = &configured.client else {
            return Ok(None);
        };
        let (url, home) = (oidc.end_session(Timestamp::now()).await?, self.home()?);
        Ok(url.map(|url| Form {
            provider: on.name.clone(),
            url,
            fields: oidc.end_session_fields(&id_token, &home),
        }))
    }

    /// Withdraws what providers gave that nothing of a user stands on any more; nobody waits for it.
    pub fn withdraw(&self, user: &UserUid) {
        let Some(user) = self.hub.stores().users.by_uid(user.as_str()) else {
            return;
        };
        let identities = user.status.iter().flat_map(|status| &status.identities);
        for identity in identities {
            let on = TokenProvider {
                name: identity.provider.clone(),
                uid: identity.provider_uid.clone(),
            };
            let of_github = self.wanted(&on).is_some_and(|it| it.spec.github.is_some());
            if !of_github || self.stands(&user, &on) {
                continue;
            }
            let (provider_logouts, user) = (self.clone(), Arc::clone(&user));
            let withdrawing = async move {
                let withdrawn = provider_logouts.withdraw_to_the_end(&user, &on);
                let withdrawn = timeout(ANSWERED_WITHIN, withdrawn).await;
                if let Err(error) = withdrawn.unwrap_or(Err(SignOutError::Slow(ANSWERED_WITHIN))) {
                    unwell(&on.name, &error);
                }
            };
            tokio::spawn(withdrawing.in_current_span());
        }
    }

    async fn withdraw_to_the_end(
        &self,
        user: &User,
        on: &TokenProvider,
    ) -> Result<(), SignOutError> {
        let Some(identity) = identity_status::identity(user, &on.uid) else {
            return Ok(());
        };
        // Whoever signs in at this moment has a new token kept, and something that stands on it.
        let _alone = self.locks.lock_identity(&on.uid, &identity.id).await;
        let Some(provider) = self.wanted(on).filter(|_| !self.stands(user, on)) else {
            return Ok(());
        };
        let kept = provider_tokens::read(&self.hub, user, &on.uid).await?;
        let configured = self.providers.configured(&provider).await?;
        if let (Some(token), Some(github)) = (kept.refresh_token, github(&configured)) {
            github.revoke(&token, Timestamp::now()).await?;
            provider_tokens::forget(&self.hub, user, &on.uid).await?;
        }
        Ok(())
    }

    /// Whether any token of a user that has not expired stands on this provider.
    fn stands(&self, user: &User, on: &TokenProvider) -> bool {
        let (uid, now) = (user.metadata.uid.as_deref(), Timestamp::now());
        let tokens = self.hub.stores().tokens.all();
        tokens.iter().any(|token| {
            let spec = &token.spec;
            Some(spec.user_uid.as_str()) == uid
                && spec.expires_at.0 > now
                && spec.provider.as_ref().is_some_and(|one| one.uid == on.uid)
        })
    }

    /// The provider, if people are to be signed out there.
    fn wanted(&self, on: &TokenProvider) -> Option<Arc<AuthProvider>> {
        let provider = self.hub.stores().auth_providers.by_uid(on.uid.as_str());
        provider.filter(|it| it.spec.enabled && it.spec.sign_out_there && is_there(it))
    }

    fn home(&self) -> Result<Url, ProviderError> {
        let url = format!("{}/", self.settings.server_url());
        url.parse().map_err(|_| ProviderError::Misconfigured {
            field: "server-url",
            problem: "the setting is no URL: write https://host or https://host:port".to_owned(),
        })
    }

    /// Tells which origins the page posts its forms to, whenever a provider changes.
    pub async fn run_origins(
        self,
        tell: impl Fn(&BTreeSet<String>) + Send + Sync + 'static,
        runtime: Runtime,
    ) {
        let changed = self.hub.stores().auth_providers.changed();
        let reconciler = FormOrigins {
            provider_logouts: self,
            tell,
        };
        let options = Options {
            debounce: DEBOUNCE,
            ..Options::new("sign-out-origins")
        };
        let runtime = runtime.in_every_replica();
        runtime.run_single(options, reconciler, [changed]).await;
    }

    async fn origins(&self) -> BTreeSet<String> {
        let all = self.hub.stores().auth_providers.all();
        // All at once: one that gives no answer keeps no other's form from being posted.
        let asked = all.iter().map(async |provider| {
            let on = TokenProvider {
                name: provider.name_any(),
                uid: ProviderUid::new(provider.uid().unwrap_or_default()),
            };
            if provider.spec.oidc.is_none() || self.wanted(&on).is_none() {
                return None;
            }
            let asking = timeout(ANSWERED_WITHIN, self.origin(provider)).await;
            let asked = asking.unwrap_or(Err(SignOutError::Slow(ANSWERED_WITHIN)));
            let asked = asked.inspect_err(|error| {
                let error = error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    provider.name = on.name,
                    "the page cannot sign anybody out at this identity provider now"
                );
            });
            asked.ok()?
        });
        let origins = futures::future::join_all(asked).await;
        origins.into_iter().flatten().collect()
    }

    async fn origin(&self, provider: &AuthProvider) -> Result<Option<String>, SignOutError> {
        let configured = self.providers.configured(provider).await?;
        let ProtocolClient::Oidc(oidc) = &configured.client else {
            return Ok(None);
        };
        let url = oidc.end_session(Timestamp::now()).await?;
        Ok(url.map(|url| url.origin().ascii_serialization()))
    }
}

/// Tells the origins of the providers' logout forms.
struct FormOrigins<F> {
    provider_logouts: ProviderLogouts,
    tell: F,
}

impl<F: Fn(&BTreeSet<String>) + Send + Sync + 'static> Reconciler for FormOrigins<F> {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        (self.tell)(&self.provider_logouts.origins().await);
        Ok(Action::requeue(LOOK_EVERY))
    }
}

fn github(provider: &Configured) -> Option<&Github> {
    match &provider.client {
        ProtocolClient::Github(github) => Some(github),
        ProtocolClient::Oidc(_) | ProtocolClient::Ldap(_) => None,
    }
}

fn unwell(provider: &str, error: &SignOutError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(
        error,
        provider.name = provider,
        "somebody may still be signed in at their identity provider"
    );
}

#[cfg(test)]
mod tests;
