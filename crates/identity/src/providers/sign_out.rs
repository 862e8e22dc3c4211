//! Logout at the provider, if the provider's `signOutThere` is set.
//!
//! An OpenID provider has a session in the browser, so the browser posts a form to the provider
//! (OpenID Connect RP-Initiated Logout 1.0). For GitHub, the server revokes the access token after
//! the user's last token expires or is revoked. A failure at the provider does not prevent the
//! logout at Drover.

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

use super::configured::{Configured, ProtocolClient, Providers, UseError, is_not_deleted};
use super::keyed_lock::KeyedLock;
use super::provider_tokens::{self, ProviderTokensError};
use super::sign_in;
use drover_hub::Hub;
use drover_hub::settings::Settings;
use drover_hub::stores::identity_status;

/// The timeout for creating a logout form.
const FORM_TIMEOUT: Duration = Duration::from_secs(3);
/// The timeout of background requests to a provider.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// The interval at which the server reads the providers' logout URLs.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
/// The debounce delay of provider changes.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// The error of a logout at a provider.
#[derive(Debug, Error)]
enum SignOutError {
    /// The provider is unknown, disabled or misconfigured.
    #[error(transparent)]
    Use(#[from] UseError),
    /// The provider returned an error.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The server cannot read the provider tokens.
    #[error(transparent)]
    ProviderTokens(#[from] ProviderTokensError),
    /// The request timed out.
    #[error("the provider did not respond within {seconds} s", seconds = .0.as_secs())]
    Slow(Duration),
}

/// The logout form that a browser posts to its provider.
#[derive(Debug)]
pub struct Form {
    /// The provider's name.
    pub provider: String,
    /// The URL of the form.
    pub url: Url,
    /// The fields of the form.
    pub fields: [(&'static str, SecretString); 3],
}

/// Logouts at providers. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct ProviderLogouts {
    hub: Hub,
    settings: Settings,
    providers: Providers,
    locks: KeyedLock,
}

impl ProviderLogouts {
    /// Creates the service. Provider logins use the same `locks`.
    pub fn new(hub: Hub, settings: Settings, providers: Providers, locks: KeyedLock) -> Self {
        Self {
            hub,
            settings,
            providers,
            locks,
        }
    }

    /// Returns the logout form for a session of this provider. Returns `None` if the provider needs
    /// no form or does not respond before the timeout.
    pub async fn form(&self, user: &UserUid, on: &TokenProvider) -> Option<Form> {
        let making = timeout(FORM_TIMEOUT, self.make_form(user, on));
        let client = making
            .await
            .unwrap_or(Err(SignOutError::Slow(FORM_TIMEOUT)));
        client.unwrap_or_else(|error| {
            log_failure(&on.name, &error);
            None
        })
    }

    async fn make_form(
        &self,
        user: &UserUid,
        on: &TokenProvider,
    ) -> Result<Option<Form>, SignOutError> {
        let users = &self.hub.stores().users;
        let (Some(user), Some(provider)) = (users.by_uid(user.as_str()), self.enabled_provider(on))
        else {
            return Ok(None);
        };
        let is_valid = sign_in::is_login_valid(&self.hub, &user, Some(on), Timestamp::now());
        if provider.spec.oidc.is_none() || !is_valid {
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
        let (url, home) = (oidc.end_session(Timestamp::now()).await?, self.home_url()?);
        Ok(url.map(|url| Form {
            provider: on.name.clone(),
            url,
            fields: oidc.end_session_fields(&id_token, &home),
        }))
    }

    /// Revokes a user's provider tokens in the background if the user has no Drover token that
    /// depends on the provider tokens.
    pub fn revoke_provider_tokens(&self, user: &UserUid) {
        let Some(user) = self.hub.stores().users.by_uid(user.as_str()) else {
            return;
        };
        let identities = user.status.iter().flat_map(|status| &status.identities);
        for identity in identities {
            let on = TokenProvider {
                name: identity.provider.clone(),
                uid: identity.provider_uid.clone(),
            };
            let of_github = self
                .enabled_provider(&on)
                .is_some_and(|it| it.spec.github.is_some());
            if !of_github || self.has_valid_token(&user, &on) {
                continue;
            }
            let (provider_logouts, user) = (self.clone(), Arc::clone(&user));
            let revoking = async move {
                let revoked = provider_logouts.revoke_uncancelled(&user, &on);
                let revoked = timeout(REQUEST_TIMEOUT, revoked).await;
                if let Err(error) = revoked.unwrap_or(Err(SignOutError::Slow(REQUEST_TIMEOUT))) {
                    log_failure(&on.name, &error);
                }
            };
            tokio::spawn(revoking.in_current_span());
        }
    }

    async fn revoke_uncancelled(
        &self,
        user: &User,
        on: &TokenProvider,
    ) -> Result<(), SignOutError> {
        let Some(identity) = identity_status::identity(user, &on.uid) else {
            return Ok(());
        };
        // A concurrent login stores a new provider token and creates a token that depends on it.
        let _alone = self.locks.lock_identity(&on.uid, &identity.id).await;
        let Some(provider) = self
            .enabled_provider(on)
            .filter(|_| !self.has_valid_token(user, on))
        else {
            return Ok(());
        };
        let tokens = provider_tokens::read(&self.hub, user, &on.uid).await?;
        let configured = self.providers.configured(&provider).await?;
        if let (Some(token), Some(github)) = (tokens.refresh_token, github(&configured)) {
            github.revoke(&token, Timestamp::now()).await?;
            provider_tokens::forget(&self.hub, user, &on.uid).await?;
        }
        Ok(())
    }

    /// Reports whether the user has an unexpired token of this provider.
    fn has_valid_token(&self, user: &User, on: &TokenProvider) -> bool {
        let (uid, now) = (user.metadata.uid.as_deref(), Timestamp::now());
        let tokens = self.hub.stores().tokens.all();
        tokens.iter().any(|token| {
            let spec = &token.spec;
            Some(spec.user_uid.as_str()) == uid
                && spec.expires_at.0 > now
                && spec.provider.as_ref().is_some_and(|one| one.uid == on.uid)
        })
    }

    /// Returns the provider if its `signOutThere` is true.
    fn enabled_provider(&self, on: &TokenProvider) -> Option<Arc<AuthProvider>> {
        let provider = self.hub.stores().auth_providers.by_uid(on.uid.as_str());
        provider.filter(|it| it.spec.enabled && it.spec.sign_out_there && is_not_deleted(it))
    }

    fn home_url(&self) -> Result<Url, ProviderError> {
        let url = format!("{}/", self.settings.server_url());
        url.parse().map_err(|_| ProviderError::Misconfigured {
            field: "server-url",
            problem: "the setting is not a URL: use https://host or https://host:port".to_owned(),
        })
    }

    /// Calls `report` with the origins of the logout forms after each change of a provider. The
    /// Content-Security-Policy must contain these origins.
    pub async fn run_origins(
        self,
        report: impl Fn(&BTreeSet<String>) + Send + Sync + 'static,
        runtime: Runtime,
    ) {
        let changed = self.hub.stores().auth_providers.changed();
        let reconciler = FormOrigins {
            provider_logouts: self,
            report,
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
        // Concurrent requests, so that an unresponsive provider does not delay the others.
        let result = all.iter().map(async |provider| {
            let on = TokenProvider {
                name: provider.name_any(),
                uid: ProviderUid::new(provider.uid().unwrap_or_default()),
            };
            if provider.spec.oidc.is_none() || self.enabled_provider(&on).is_none() {
                return None;
            }
            let asking = timeout(REQUEST_TIMEOUT, self.origin(provider)).await;
            let result = asking.unwrap_or(Err(SignOutError::Slow(REQUEST_TIMEOUT)));
            let result = result.inspect_err(|error| {
                let error = error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    provider.name = on.name,
                    "failed to read the logout URL of an identity provider"
                );
            });
            result.ok()?
        });
        let origins = futures::future::join_all(result).await;
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

/// The reconciler that calls `report` with the origins of the logout forms.
struct FormOrigins<F> {
    provider_logouts: ProviderLogouts,
    report: F,
}

impl<F: Fn(&BTreeSet<String>) + Send + Sync + 'static> Reconciler for FormOrigins<F> {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        (self.report)(&self.provider_logouts.origins().await);
        Ok(Action::requeue(CHECK_INTERVAL))
    }
}

fn github(provider: &Configured) -> Option<&Github> {
    match &provider.client {
        ProtocolClient::Github(github) => Some(github),
        ProtocolClient::Oidc(_) | ProtocolClient::Ldap(_) => None,
    }
}

fn log_failure(provider: &str, error: &SignOutError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(
        error,
        provider.name = provider,
        "failed to sign a user out at the identity provider"
    );
}

#[cfg(test)]
mod tests;
