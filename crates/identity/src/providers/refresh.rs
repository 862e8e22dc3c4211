//! Refreshes identities at their providers, periodically and on request of an administrator.
//!
//! An identity becomes invalid immediately if the provider or its list of allowed users rejects the
//! user. After all other errors, the identity stays valid for the grace period
//! ([`identity_status`]).

mod schedule;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use drover_api::ids::ProviderUid;
use drover_api::kinds::auth_provider::Allowed;
use drover_api::kinds::{AuthProvider, IdentityState, ProviderIdentity, User};
use drover_providers::allowed;
use drover_providers::github::RequestedAs;
use drover_providers::{ProviderError, ProviderUser};
use drover_reconcile::{
    Action, Attempt, Controller, Options, Reconciler, Runtime, Shutdown, Trigger, on_change,
};
use futures::StreamExt as _;
use jiff::Timestamp;
use kube::ResourceExt as _;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::task::JoinError;
use tracing::Instrument as _;

use self::schedule::RefreshSchedule;
use super::configured::{
    Configured, ProtocolClient, Providers, UseError, is_not_deleted, not_before,
};
use super::keyed_lock::KeyedLock;
use super::mapping;
use super::provider_tokens::{self, ProviderTokens, ProviderTokensError};
use super::sign_in::NOT_ALLOWED;
use super::users::{self, ProviderUserError};
use drover_entropy::backoff::Backoff;
use drover_http_edge::status::Status;
use drover_hub::stores::identity_status;
use drover_hub::{Hub, HubError};

/// The interval at which the server checks which identities are due.
const CHECK_INTERVAL: Duration = Duration::from_secs(15);
/// The debounce delay of provider changes.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// The maximum number of concurrent refreshes.
const CONCURRENCY: usize = 8;
/// The maximum number of attempts to store new provider tokens. Many providers invalidate the
/// previous token, so a token that is not stored is lost.
const MAX_STORE_ATTEMPTS: u32 = 4;

/// The outcome of a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The provider confirmed the identity.
    Confirmed,
    /// The provider or its list of allowed users rejected the user.
    Refused,
    /// The request failed, or the provider's response was invalid.
    Unreachable,
    /// The provider refuses requests about this user until this time.
    Postponed(Timestamp),
    /// The server sent no request, because no provider token exists or the provider is deleted. The
    /// identity stays unchanged.
    Skipped,
}

/// The error of a refresh.
#[derive(Debug, Error)]
pub enum RefreshError {
    /// The server cannot write the user's identity.
    #[error(transparent)]
    People(#[from] ProviderUserError),
    /// The server cannot read or store the provider tokens.
    #[error(transparent)]
    ProviderTokens(#[from] ProviderTokensError),
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The task panicked or was aborted.
    #[error("the refresh of the identities was interrupted; try again")]
    Broken(#[from] JoinError),
}

impl From<RefreshError> for Status {
    fn from(error: RefreshError) -> Self {
        let response = error.to_string();
        match error {
            RefreshError::People(ProviderUserError::Hub(error))
            | RefreshError::ProviderTokens(ProviderTokensError::Hub(error))
            | RefreshError::Hub(error) => error.into(),
            RefreshError::People(_) | RefreshError::ProviderTokens(_) | RefreshError::Broken(_) => {
                Self::unavailable(response, 1)
            }
        }
    }
}

/// The service that refreshes identities. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Refresher {
    hub: Hub,
    providers: Providers,
    locks: KeyedLock,
}

/// The key of an identity: the user's UID and the provider's UID.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct IdentityKey {
    user: String,
    provider: ProviderUid,
}

impl IdentityKey {
    fn of(user: &User, identity: &ProviderIdentity) -> Self {
        Self {
            user: user.uid().unwrap_or_default(),
            provider: identity.provider_uid.clone(),
        }
    }
}

impl Refresher {
    /// Creates the service. Provider logins use the same `locks`.
    pub fn new(hub: Hub, providers: Providers, locks: KeyedLock) -> Self {
        Self {
            hub,
            providers,
            locks,
        }
    }

    /// Refreshes all identities of a user. The refresh runs to completion even if the caller is
    /// dropped, so that new provider tokens are stored.
    pub async fn refresh_all(&self, user: &User) -> Result<(), RefreshError> {
        let identities = user.status.iter().flat_map(|status| &status.identities);
        let keys = identities.map(|identity| IdentityKey::of(user, identity));
        let (keys, refresher) = (keys.collect::<Vec<_>>(), self.clone());
        let asking = async move {
            let mut outcome = Ok(());
            for key in keys {
                outcome = refresher.refresh(&key).await.map(|_| ()).and(outcome);
            }
            outcome
        };
        tokio::spawn(asking.in_current_span()).await?
    }

    /// Refreshes an identity and writes the result.
    async fn refresh(&self, key: &IdentityKey) -> Result<Outcome, RefreshError> {
        let Some((_, known)) = self.find_identity(key) else {
            return Ok(Outcome::Skipped);
        };
        let _alone = self.locks.lock_identity(&key.provider, &known.id).await;
        // Reads the identity again under the lock.
        let (Some((user, known)), Some(provider)) =
            (self.find_identity(key), self.current_provider(key))
        else {
            return Ok(Outcome::Skipped);
        };
        if known.state == IdentityState::Refused {
            return Ok(Outcome::Refused);
        }
        let now = Timestamp::now();
        let response = match self.providers.configured(&provider).await {
            Ok(configured) => self.fetch_identity(&configured, &user, &known, now).await?,
            Err(UseError::Provider(error)) => Some(Err(error)),
            Err(UseError::Hub(error)) => return Err(error.into()),
            Err(UseError::NoSuch(_)) => None,
        };
        let Some(response) = response else {
            return Ok(Outcome::Skipped);
        };
        // Discards the result if the provider has changed meanwhile.
        let current = self.current_provider(key);
        if current.is_none_or(|current| current.spec != provider.spec) {
            return Ok(Outcome::Skipped);
        }
        self.record(&provider, &user, &known, response, now).await
    }

    fn find_identity(&self, key: &IdentityKey) -> Option<(Arc<User>, ProviderIdentity)> {
        let user = self.hub.stores().users.by_uid(&key.user)?;
        let identity = identity_status::identity(&user, &key.provider)?.clone();
        Some((user, identity))
    }

    fn current_provider(&self, key: &IdentityKey) -> Option<Arc<AuthProvider>> {
        let providers = &self.hub.stores().auth_providers;
        let current = providers.by_uid(key.provider.as_str());
        current.filter(|current| current.spec.enabled && is_not_deleted(current))
    }

    /// Requests an identity from the provider. Returns `None` if no provider token exists.
    async fn fetch_identity(
        &self,
        provider: &Configured,
        user: &User,
        known: &ProviderIdentity,
        now: Timestamp,
    ) -> Result<Option<Result<ProviderUser, ProviderError>>, RefreshError> {
        let _permit = match provider.acquire(now).await {
            Ok(turn) => turn,
            Err(error) => return Ok(Some(Err(error))),
        };
        let response = match &provider.client {
            ProtocolClient::Ldap(directory) => directory.refresh(&known.id).await,
            ProtocolClient::Github(github) => {
                let tokens = provider_tokens::read(&self.hub, user, &known.provider_uid).await?;
                let Some(token) = &tokens.refresh_token else {
                    return Ok(None);
                };
                let refreshed = github.refresh(token, &known.id, now).await;
                refreshed.map(|refreshed| refreshed.person)
            }
            ProtocolClient::Oidc(oidc) => {
                let tokens = provider_tokens::read(&self.hub, user, &known.provider_uid).await?;
                let Some(token) = &tokens.refresh_token else {
                    return Ok(None);
                };
                let renewed = oidc.refresh(token, &known.id, now).await;
                let new = ProviderTokens {
                    refresh_token: renewed.refresh_token,
                    id_token: renewed.id_token,
                };
                if !new.is_empty() {
                    self.store_tokens(user, &known.provider_uid, &new.or(tokens))
                        .await?;
                }
                renewed.outcome
            }
        };
        provider.record_answer(response.as_ref(), now);
        Ok(Some(response))
    }

    /// Stores new provider tokens. Call the function before the write of the refreshed identity.
    async fn store_tokens(
        &self,
        user: &User,
        provider: &ProviderUid,
        new: &ProviderTokens,
    ) -> Result<(), RefreshError> {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(5));
        let mut tries = 1;
        loop {
            match provider_tokens::write(&self.hub, user, provider, new).await {
                Ok(()) => return Ok(()),
                Err(error) if tries == MAX_STORE_ATTEMPTS => return Err(error.into()),
                Err(_) => tries += 1,
            }
            tokio::time::sleep(backoff.next_delay()).await;
        }
    }

    async fn record(
        &self,
        provider: &AuthProvider,
        user: &User,
        known: &ProviderIdentity,
        response: Result<ProviderUser, ProviderError>,
        now: Timestamp,
    ) -> Result<Outcome, RefreshError> {
        let (identity, outcome) = match response {
            Ok(person) => {
                let reference = drover_api::kinds::TokenProvider {
                    name: provider.name_any(),
                    uid: known.provider_uid.clone(),
                };
                let new = mapping::identity(&reference, &person, now);
                match allowed::check(provider.spec.allowed.as_ref(), &mapping::person(&new)) {
                    Ok(()) => (new, Outcome::Confirmed),
                    Err(_) => (mapping::refused(&new, NOT_ALLOWED, now), Outcome::Refused),
                }
            }
            Err(ProviderError::Refused(why)) => {
                let refused = mapping::refused(known, &why.to_string(), now);
                (refused, Outcome::Refused)
            }
            Err(error) => {
                let source = &error as &dyn std::error::Error;
                let (provider, user) = (&known.provider, user.name_any());
                tracing::warn!(
                    error = source,
                    provider.name = provider,
                    user.name = user,
                    "failed to refresh a user's identity"
                );
                let silent = mapping::unreachable(known, &error.to_string(), now);
                let outcome = not_before(&error, RequestedAs::User);
                (
                    silent,
                    outcome.map_or(Outcome::Unreachable, Outcome::Postponed),
                )
            }
        };
        if identity != *known {
            users::write_identity(&self.hub, user, &identity).await?;
        }
        // A concurrent change of the list did not see this identity.
        let key = IdentityKey::of(user, &identity);
        if outcome == Outcome::Confirmed && !self.is_listed(&key, &identity) {
            self.refuse(user, &identity).await?;
            return Ok(Outcome::Refused);
        }
        if outcome == Outcome::Refused {
            let (name, provider) = (user.name_any(), &known.provider);
            tracing::info!(
                user.name = name,
                provider.name = provider,
                reason = identity.message,
                "identity provider refused a user"
            );
            provider_tokens::forget(&self.hub, user, &known.provider_uid).await?;
        }
        Ok(outcome)
    }

    /// Runs the controllers that refresh due identities.
    pub async fn run(self, runtime: Runtime) {
        let schedule: Arc<Mutex<RefreshSchedule>> = Arc::default();
        let plan = runtime.trigger(Options {
            debounce: DEBOUNCE,
            ..Options::new("identity-refresh-plan")
        });
        let refresh = runtime.trigger(Options {
            concurrency: CONCURRENCY,
            // An aborted request could lose a rotated refresh token.
            timeout: None,
            shutdown: Shutdown::Finish,
            ..Options::new("identity-refresh")
        });
        let due = DueIdentities {
            refresher: self.clone(),
            schedule: Arc::clone(&schedule),
            applied: tokio::sync::Mutex::default(),
            refresh: refresh.clone(),
        };
        let identities = Identities {
            refresher: self.clone(),
            schedule,
            plan: plan.clone(),
        };
        let changed = self.hub.stores().changed();
        let planning = Controller::new(plan, due)
            .on(on_change(changed, ()))
            .at_start(|| vec![()]);
        // Running refreshes complete even after this server stops leading: see `timeout`.
        let every_replica = runtime.in_every_replica();
        let refreshing = Controller::new(refresh, identities);
        tokio::join!(runtime.run(planning), every_replica.run(refreshing));
    }

    /// Marks identities as rejected if a changed list of allowed users does not contain the user.
    async fn apply_lists(
        &self,
        applied: &mut HashMap<String, Option<Allowed>>,
    ) -> Result<(), RefreshError> {
        let mut outcome = Ok(());
        let stores = self.hub.stores();
        let providers = stores.auth_providers.all();
        applied.retain(|uid, _| stores.auth_providers.by_uid(uid).is_some());
        for provider in providers {
            let (uid, list) = (provider.uid().unwrap_or_default(), &provider.spec.allowed);
            if applied.get(&uid) == Some(list) {
                continue;
            }
            match self
                .apply_list(&ProviderUid::new(&*uid), list.as_ref())
                .await
            {
                Ok(()) => {
                    applied.insert(uid, list.clone());
                }
                Err(error) => outcome = Err(error),
            }
        }
        outcome
    }

    async fn apply_list(
        &self,
        provider: &ProviderUid,
        list: Option<&Allowed>,
    ) -> Result<(), RefreshError> {
        let users = self.hub.stores().users.all().into_iter();
        let unlisted = users.filter_map(|user| {
            let known = identity_status::identity(&user, provider)?;
            let stays = known.state == IdentityState::Refused
                || allowed::check(list, &mapping::person(known)).is_ok();
            (!stays).then(|| IdentityKey::of(&user, known))
        });
        let applying = unlisted.map(|key| async move { self.apply_to(&key).await });
        let mut applying = futures::stream::iter(applying).buffer_unordered(CONCURRENCY);
        let mut outcome = Ok(());
        while let Some(applied) = applying.next().await {
            outcome = applied.and(outcome);
        }
        outcome
    }

    /// Marks an identity as rejected if the list of allowed users does not contain the user. Holds
    /// the lock of the identity.
    async fn apply_to(&self, key: &IdentityKey) -> Result<(), RefreshError> {
        let Some((_, known)) = self.find_identity(key) else {
            return Ok(());
        };
        let _alone = self.locks.lock_identity(&key.provider, &known.id).await;
        match self.find_identity(key) {
            Some((user, known))
                if known.state != IdentityState::Refused && !self.is_listed(key, &known) =>
            {
                self.refuse(&user, &known).await
            }
            _ => Ok(()),
        }
    }

    /// Reports whether the provider's current list contains the identity. Returns true for a
    /// deleted provider.
    fn is_listed(&self, key: &IdentityKey, identity: &ProviderIdentity) -> bool {
        let providers = &self.hub.stores().auth_providers;
        let provider = providers.by_uid(key.provider.as_str());
        provider.is_none_or(|provider| {
            allowed::check(provider.spec.allowed.as_ref(), &mapping::person(identity)).is_ok()
        })
    }

    /// Marks an identity as rejected, and deletes its provider tokens.
    async fn refuse(&self, user: &User, identity: &ProviderIdentity) -> Result<(), RefreshError> {
        let refused = mapping::refused(identity, NOT_ALLOWED, Timestamp::now());
        users::write_identity(&self.hub, user, &refused).await?;
        provider_tokens::forget(&self.hub, user, &identity.provider_uid).await?;
        Ok(())
    }
}

/// The reconciler that applies changed lists of allowed users, and enqueues due identities.
struct DueIdentities {
    refresher: Refresher,
    schedule: Arc<Mutex<RefreshSchedule>>,
    /// The most recently applied list of allowed users of each provider, by UID.
    applied: tokio::sync::Mutex<HashMap<String, Option<Allowed>>>,
    refresh: Trigger<IdentityKey>,
}

impl Reconciler for DueIdentities {
    type Key = ();
    type Error = RefreshError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, RefreshError> {
        let hub = &self.refresher.hub;
        if !hub.stores().health().is_trusted() {
            return Ok(Action::requeue(CHECK_INTERVAL));
        }
        let applied = self
            .refresher
            .apply_lists(&mut *self.applied.lock().await)
            .await;
        let due = self.schedule.lock().due(hub, CONCURRENCY, Timestamp::now());
        for key in due {
            self.refresh.enqueue(key);
        }
        applied?;
        Ok(Action::requeue(CHECK_INTERVAL))
    }
}

/// The reconciler that refreshes the identities that the schedule has marked as running.
struct Identities {
    refresher: Refresher,
    schedule: Arc<Mutex<RefreshSchedule>>,
    plan: Trigger<()>,
}

impl Reconciler for Identities {
    type Key = IdentityKey;
    type Error = RefreshError;

    async fn reconcile(&self, key: &IdentityKey, _: &Attempt) -> Result<Action, RefreshError> {
        // The schedule decides about retries, because it knows the unreachable providers.
        if !self.schedule.lock().is_running(key) {
            return Ok(Action::await_change());
        }
        let refreshed = self.refresher.refresh(key).await;
        let outcome = refreshed.as_ref().ok().copied();
        self.schedule
            .lock()
            .record_outcome(key, outcome, Timestamp::now());
        self.plan.enqueue(());
        refreshed.map(|_| Action::await_change())
    }
}

#[cfg(test)]
mod tests;
