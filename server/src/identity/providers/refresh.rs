//! Asking providers anew who people are: regularly, and when an administrator wants to know.
//!
//! Only a provider's own no, and that of its list of who is allowed, end anything at once. Whatever
//! else goes wrong leaves what was said before to the grace time ([`standing`](super::standing)).

mod agenda;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use drover_api::ids::ProviderUid;
use drover_api::kinds::auth_provider::Allowed;
use drover_api::kinds::{AuthProvider, IdentityState, ProviderIdentity, User};
use drover_providers::allowed;
use drover_providers::{Person, ProviderError};
use jiff::Timestamp;
use kube::ResourceExt as _;
use thiserror::Error;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::agenda::Agenda;
use super::configured::{Configured, Providers, Speaker, UseError, is_there};
use super::kept::{self, Kept, KeptError};
use super::one_by_one::OneByOne;
use super::people::{self, PeopleError};
use super::sign_in::NOT_ALLOWED;
use super::{seen, standing};
use crate::backoff::Backoff;
use crate::hub::lease::Leadership;
use crate::hub::{Hub, HubError};
use crate::status::Status;

/// Between two looks at who is due.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// Pause after a change of the stores, so that a burst of them is one look.
const BREATH: Duration = Duration::from_millis(200);
/// People who are asked about at once.
const AT_ONCE: usize = 8;
/// Tries to keep what a provider gave: many take what was kept before no more.
const KEEP_TRIES: u32 = 4;

/// What came of asking about somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The provider says who they are.
    Confirmed,
    /// It, or its list of who is allowed, says no.
    Refused,
    /// It says nothing that can be believed.
    Unreachable,
    /// It gave nothing to ask it with, or is not there any more; who they are stays as it was.
    NotAsked,
}

/// Why nothing came of it.
#[derive(Debug, Error)]
pub enum RefreshError {
    /// The user's identity could not be written.
    #[error(transparent)]
    People(#[from] PeopleError),
    /// What to ask with could not be read or kept.
    #[error(transparent)]
    Kept(#[from] KeptError),
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
}

impl From<RefreshError> for Status {
    fn from(error: RefreshError) -> Self {
        let said = error.to_string();
        match error {
            RefreshError::People(PeopleError::Hub(error))
            | RefreshError::Kept(KeptError::Hub(error))
            | RefreshError::Hub(error) => error.into(),
            RefreshError::People(_) | RefreshError::Kept(_) => Self::unavailable(said, 1),
        }
    }
}

/// Asks providers; cheap to clone.
#[derive(Clone, Debug)]
pub struct Refresher {
    hub: Hub,
    providers: Providers,
    people: OneByOne,
}

/// Who is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Whom {
    user: String,
    provider: ProviderUid,
}

impl Refresher {
    /// Asks these providers; `people` is shared with sign-ins.
    pub fn new(hub: Hub, providers: Providers, people: OneByOne) -> Self {
        Self {
            hub,
            providers,
            people,
        }
    }

    /// Asks all providers of somebody about them, whoever is due or not.
    pub async fn refresh_all(&self, user: &User) -> Result<(), RefreshError> {
        let identities = user.status.iter().flat_map(|status| &status.identities);
        for identity in identities {
            let whom = Whom {
                user: user.uid().unwrap_or_default(),
                provider: identity.provider_uid.clone(),
            };
            self.refresh(&whom).await?;
        }
        Ok(())
    }

    /// Asks a provider about somebody, and writes what it says.
    async fn refresh(&self, whom: &Whom) -> Result<Outcome, RefreshError> {
        let Some((_, known)) = self.known(whom) else {
            return Ok(Outcome::NotAsked);
        };
        let _alone = self.people.alone(&whom.provider, &known.id).await;
        // As it is now, when nobody else is at it.
        let (Some((user, known)), Some(provider)) = (self.known(whom), self.current(whom)) else {
            return Ok(Outcome::NotAsked);
        };
        if known.state == IdentityState::Refused {
            return Ok(Outcome::Refused);
        }
        let now = Timestamp::now();
        let said = match self.providers.configured(&provider).await {
            Ok(configured) => self.ask(&configured, &user, &known, now).await?,
            Err(UseError::Provider(error)) => Some(Err(error)),
            Err(UseError::Hub(error)) => return Err(error.into()),
            Err(UseError::NoSuch(_)) => None,
        };
        let Some(said) = said else {
            return Ok(Outcome::NotAsked);
        };
        // What a provider said that is another by now is nothing.
        let current = self.current(whom);
        if current.is_none_or(|current| current.spec != provider.spec) {
            return Ok(Outcome::NotAsked);
        }
        self.record(&provider, &user, &known, said, now).await
    }

    fn known(&self, whom: &Whom) -> Option<(Arc<User>, ProviderIdentity)> {
        let user = self.hub.stores().users.by_uid(&whom.user)?;
        let identity = standing::identity(&user, &whom.provider)?.clone();
        Some((user, identity))
    }

    fn current(&self, whom: &Whom) -> Option<Arc<AuthProvider>> {
        let providers = &self.hub.stores().auth_providers;
        let current = providers.by_uid(whom.provider.as_str());
        current.filter(|current| current.spec.enabled && is_there(current))
    }

    /// What a provider says of somebody; `None` if it gave nothing to ask it with.
    async fn ask(
        &self,
        provider: &Configured,
        user: &User,
        known: &ProviderIdentity,
        now: Timestamp,
    ) -> Result<Option<Result<Person, ProviderError>>, RefreshError> {
        if let Err(error) = provider.ask_now(now) {
            return Ok(Some(Err(error)));
        }
        let said = match &provider.speaker {
            Speaker::Ldap(directory) => directory.refresh(&known.id).await,
            Speaker::Github(github) => {
                let kept = kept::read(&self.hub, user, &known.provider_uid).await?;
                let Some(token) = &kept.renews else {
                    return Ok(None);
                };
                let seen = github.refresh(token, &known.id, now).await;
                seen.map(|seen| seen.person)
            }
            Speaker::Oidc(oidc) => {
                let kept = kept::read(&self.hub, user, &known.provider_uid).await?;
                let Some(token) = &kept.renews else {
                    return Ok(None);
                };
                let renewed = oidc.refresh(token, &known.id, now).await;
                let new = Kept {
                    renews: renewed.refresh_token,
                    id_token: renewed.id_token,
                };
                if !new.is_empty() {
                    self.keep(user, &known.provider_uid, &new.or(kept)).await?;
                }
                renewed.outcome
            }
        };
        provider.heard(said.as_ref(), now);
        Ok(Some(said))
    }

    /// Keeps what a provider gave, before it is used and whatever else it said.
    async fn keep(
        &self,
        user: &User,
        provider: &ProviderUid,
        new: &Kept,
    ) -> Result<(), RefreshError> {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(5));
        let mut tries = 1;
        loop {
            match kept::write(&self.hub, user, provider, new).await {
                Ok(()) => return Ok(()),
                Err(error) if tries == KEEP_TRIES => return Err(error.into()),
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
        said: Result<Person, ProviderError>,
        now: Timestamp,
    ) -> Result<Outcome, RefreshError> {
        let (identity, outcome) = match said {
            Ok(person) => {
                let reference = drover_api::kinds::TokenProvider {
                    name: provider.name_any(),
                    uid: known.provider_uid.clone(),
                };
                let new = seen::identity(&reference, &person, now);
                match allowed::check(provider.spec.allowed.as_ref(), &seen::person(&new)) {
                    Ok(()) => (new, Outcome::Confirmed),
                    Err(_) => (seen::refused(&new, NOT_ALLOWED, now), Outcome::Refused),
                }
            }
            Err(ProviderError::Refused(why)) => {
                let refused = seen::refused(known, &why.to_string(), now);
                (refused, Outcome::Refused)
            }
            Err(error) => {
                let said = &error as &dyn std::error::Error;
                let (provider, user) = (&known.provider, user.name_any());
                tracing::warn!(
                    error = said,
                    provider.name = provider,
                    user.name = user,
                    "a provider says nothing of somebody"
                );
                let silent = seen::unreachable(known, &error.to_string(), now);
                (silent, Outcome::Unreachable)
            }
        };
        if identity != *known {
            people::write(&self.hub, user, &identity).await?;
        }
        if outcome == Outcome::Refused {
            let (name, provider) = (user.name_any(), &known.provider);
            tracing::info!(
                user.name = name,
                provider.name = provider,
                why = identity.message,
                "a provider refuses somebody"
            );
            kept::forget(&self.hub, user, &known.provider_uid).await?;
        }
        Ok(outcome)
    }

    /// Asks about whoever is due until `stop`, while this server leads.
    pub async fn run(self, leadership: Leadership, stop: CancellationToken) {
        let mut changed = self.hub.stores().changed();
        let (mut agenda, mut lists) = (Agenda::default(), HashMap::new());
        let mut asking = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(done) = asking.join_next() => {
                    if let Ok((whom, outcome)) = done {
                        agenda.heard(&whom, outcome, Timestamp::now());
                    }
                }
                _ = changed.changed() => tokio::time::sleep(BREATH).await,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            changed.mark_unchanged();
            let stores = self.hub.stores();
            if !leadership.standing().may_control() || !stores.health().is_trusted() {
                continue;
            }
            self.apply_lists(&mut lists).await;
            let room = AT_ONCE.saturating_sub(asking.len());
            for whom in agenda.due(&self.hub, room, Timestamp::now()) {
                let refresher = self.clone();
                asking.spawn(async move {
                    let outcome = refresher.refresh(&whom).await;
                    if let Err(error) = &outcome {
                        let error = error as &dyn std::error::Error;
                        tracing::warn!(
                            error,
                            "what a provider says could not be asked for or kept"
                        );
                    }
                    (whom, outcome.ok())
                });
            }
        }
        // What a provider gave in exchange for what was kept is kept.
        while asking.join_next().await.is_some() {}
    }

    /// Refuses whoever is not in a list any more that has changed.
    async fn apply_lists(&self, applied: &mut HashMap<String, Option<Allowed>>) {
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
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "a provider's list of who is allowed is not applied yet"
                    );
                }
            }
        }
    }

    async fn apply_list(
        &self,
        provider: &ProviderUid,
        list: Option<&Allowed>,
    ) -> Result<(), RefreshError> {
        for user in self.hub.stores().users.all() {
            let Some(known) = standing::identity(&user, provider) else {
                continue;
            };
            let listed = allowed::check(list, &seen::person(known)).is_ok();
            if !listed && known.state != IdentityState::Refused {
                let refused = seen::refused(known, NOT_ALLOWED, Timestamp::now());
                people::write(&self.hub, &user, &refused).await?;
            }
        }
        Ok(())
    }
}
