//! Signing in with a provider: begun and ended in a browser, or with a name and a password.

mod error;

use std::net::IpAddr;
use std::sync::Arc;

use drover_access::setting::Setting;
use drover_api::kinds::{AuthProvider, Token, TokenProvider, TokenPurpose, User};
use drover_providers::allowed;
use drover_providers::{Person, ProviderError};
use jiff::Timestamp;
use reqwest::Url;
use secrecy::SecretString;
use tokio::sync::Semaphore;

pub use self::error::SignInError;
use super::begun::{Begun, Ended, EndedBefore, Pending, WayBack};
use super::configured::{Configured, Providers, Speaker, is_there};
use super::kept::{self, Kept};
use super::one_by_one::OneByOne;
use super::{people, seen, standing};
use crate::hub::Hub;
use crate::identity::By;
use crate::identity::limits::{LoginLimits, RetryAfter};
use crate::identity::tokens::{self, TokenWish};
use crate::settings::Settings;

/// Conversations with providers that sign-ins have at once.
const AT_ONCE: usize = 64;

/// A sign-in that a browser is to go on with.
#[derive(Debug)]
pub struct Sent {
    /// Where it goes.
    pub url: Url,
    /// What it keeps until it comes back.
    pub cookie: SecretString,
}

/// Somebody who signed in.
#[derive(Debug)]
pub struct Entered {
    /// The token's text.
    pub secret: SecretString,
    /// The token.
    pub token: Token,
}

/// Signing in with providers; cheap to clone.
#[derive(Clone, Debug)]
pub struct SignIns {
    hub: Hub,
    settings: Settings,
    providers: Providers,
    limits: LoginLimits,
    ended: Ended,
    talking: Arc<Semaphore>,
    people: OneByOne,
}

impl SignIns {
    /// Sign-ins on a hub; `limits` are those of passwords.
    pub fn new(hub: Hub, settings: Settings, providers: Providers, limits: LoginLimits) -> Self {
        Self {
            hub,
            settings,
            providers,
            limits,
            ended: Ended::default(),
            talking: Arc::new(Semaphore::new(AT_ONCE)),
            people: OneByOne::default(),
        }
    }

    /// The providers.
    pub fn providers(&self) -> &Providers {
        &self.providers
    }

    /// People whose identities change one after another.
    pub fn people(&self) -> &OneByOne {
        &self.people
    }

    /// Providers that people can sign in with now.
    pub fn open(&self) -> Vec<Arc<AuthProvider>> {
        let all = self.hub.stores().auth_providers.all().into_iter();
        all.filter(|one| one.spec.enabled && is_there(one))
            .collect()
    }

    /// Begins a sign-in at a provider that has a page of its own.
    pub async fn begin(
        &self,
        name: &str,
        way_back: WayBack,
        former: Option<String>,
        address: IpAddr,
    ) -> Result<Sent, SignInError> {
        self.limits
            .check_begin(address)
            .map_err(SignInError::TooMany)?;
        let provider = self.providers.enabled(name).await?;
        let (back, now) = (self.back(name)?, Timestamp::now());
        let (url, pending) = match &provider.speaker {
            Speaker::Oidc(oidc) => {
                let _talking = self.talk()?;
                let begun = oidc.authorize(&back, now).await;
                let (url, pending) = heard(&provider, begun, now)?;
                (url, Pending::Oidc(pending))
            }
            Speaker::Github(github) => {
                let (url, pending) = github.authorize(&back, now);
                (url, Pending::Github(pending))
            }
            Speaker::Ldap(_) => return Err(SignInError::OtherWay("login and password")),
        };
        let begun = Begun::new(pending, way_back, former)?;
        let cookie = begun.seal(self.hub.keys().sign_in(), &provider.reference.uid)?;
        Ok(Sent { url, cookie })
    }

    /// Ends a sign-in in the browser that began it; `query` is what it came back with.
    pub async fn end(
        &self,
        name: &str,
        cookie: Option<&SecretString>,
        query: &str,
        address: IpAddr,
    ) -> Result<(Entered, Begun), SignInError> {
        self.limits
            .check_begin(address)
            .map_err(SignInError::TooMany)?;
        let provider = self.providers.enabled(name).await?;
        let (seal, uid) = (self.hub.keys().sign_in(), &provider.reference.uid);
        let begun = cookie.and_then(|cookie| Begun::open(seal, uid, cookie));
        let begun = begun.ok_or(SignInError::NotBegunHere)?;
        let now = Timestamp::now();
        self.ended.end(&begun, now).map_err(|ended| match ended {
            EndedBefore::Yes => SignInError::EndedBefore,
            EndedBefore::Unknown => SignInError::TooMany(RetryAfter::A_MINUTE),
        })?;
        let (person, kept) = {
            let _talking = self.talk()?;
            redeem(&provider, &begun.pending, query, now).await?
        };
        let entered = self.enter(&provider, &person, kept, By::Browser).await?;
        Ok((entered, begun))
    }

    /// Signs somebody in at a provider that takes a login and a password.
    pub async fn with_password(
        &self,
        name: &str,
        login: &str,
        password: &SecretString,
        address: IpAddr,
        by: By,
    ) -> Result<Entered, SignInError> {
        self.limits
            .check_at(name, login, address)
            .map_err(SignInError::TooMany)?;
        let provider = self.providers.enabled(name).await?;
        let Speaker::Ldap(directory) = &provider.speaker else {
            return Err(SignInError::OtherWay("a page of its own"));
        };
        let now = Timestamp::now();
        provider.ask_now(now)?;
        let person = {
            let _talking = self.talk()?;
            heard(&provider, directory.sign_in(login, password).await, now)?
        };
        let entered = self.enter(&provider, &person, Kept::default(), by).await?;
        self.limits.succeeded_at(name, login, address);
        Ok(entered)
    }

    /// Gives somebody whom the provider has just named a token that stands on it.
    async fn enter(
        &self,
        provider: &Configured,
        person: &Person,
        kept: Kept,
        by: By,
    ) -> Result<Entered, SignInError> {
        let reference = &provider.reference;
        let _alone = self.people.alone(&reference.uid, &person.id).await;
        let now = Timestamp::now();
        let identity = seen::identity(reference, person, now);
        let known = people::find(&self.hub, &reference.uid, &person.id).await?;
        // What counts here is all that the list can look at.
        let listed = self.check_allowed(reference, &seen::person(&identity));
        if let Err(error) = listed {
            if let Some(user) = &known {
                let refused = seen::refused(&identity, NOT_ALLOWED, now);
                people::write(&self.hub, user, &refused).await?;
            }
            return Err(error);
        }
        let user = match known {
            Some(user) if !may_enter(&user) => return Err(SignInError::Disabled),
            Some(user) => people::write(&self.hub, &user, &identity).await?,
            None => people::make(&self.hub, person, &identity).await?,
        };
        if !kept.is_empty() {
            let before = kept::read(&self.hub, &user, &reference.uid).await?;
            kept::write(&self.hub, &user, &reference.uid, &kept.or(before)).await?;
        }
        let wish = self.wish(by, reference.clone());
        let (secret, token) = tokens::create(&self.hub, &user, wish).await?;
        people::record_login(&self.hub, &user).await;
        Ok(Entered { secret, token })
    }

    /// Whether somebody is among those who may sign in, as the provider's spec says now: what came
    /// from another, or from one that was switched off meanwhile, is nobody's.
    fn check_allowed(&self, provider: &TokenProvider, person: &Person) -> Result<(), SignInError> {
        let current = self
            .hub
            .stores()
            .auth_providers
            .by_uid(provider.uid.as_str());
        let current = current.filter(|current| current.spec.enabled && is_there(current));
        let current = current.ok_or_else(|| SignInError::NoSuch(provider.name.clone()))?;
        Ok(allowed::check(current.spec.allowed.as_ref(), person)?)
    }

    fn wish(&self, by: By, provider: TokenProvider) -> TokenWish {
        let longest = self.settings.ttl(Setting::SessionTtl);
        let idle = self.settings.ttl(Setting::SessionIdleTtl);
        let (purpose, idle) = match by {
            By::Program => (TokenPurpose::Session, None),
            By::Browser => (TokenPurpose::Browser, Some(idle)),
        };
        TokenWish {
            purpose,
            cluster: None,
            provider: Some(provider),
            description: None,
            expires_at: Timestamp::now() + longest,
            idle,
        }
    }

    /// Where providers send browsers back to.
    pub fn back(&self, name: &str) -> Result<Url, ProviderError> {
        let url = format!(
            "{}/v1/providers/{name}/callback",
            self.settings.server_url()
        );
        url.parse().map_err(|_| ProviderError::Misconfigured {
            field: "server-url",
            problem: "the setting is no URL: write https://host or https://host:port".to_owned(),
        })
    }

    fn talk(&self) -> Result<tokio::sync::SemaphorePermit<'_>, SignInError> {
        let talking = self.talking.try_acquire();
        talking.map_err(|_| SignInError::TooMany(RetryAfter::A_SECOND))
    }
}

/// What stands in the identity of who is not in the list any more.
pub const NOT_ALLOWED: &str =
    "the AuthProvider's spec.allowed lists neither this person nor a group of theirs";

/// Whether a user may use Drover at all.
fn may_enter(user: &User) -> bool {
    user.spec.enabled && user.metadata.deletion_timestamp.is_none()
}

/// Lets the provider learn from an answer.
fn heard<T>(
    provider: &Configured,
    answer: Result<T, ProviderError>,
    now: Timestamp,
) -> Result<T, ProviderError> {
    provider.heard(answer.as_ref(), now);
    answer
}

async fn redeem(
    provider: &Configured,
    pending: &Pending,
    query: &str,
    now: Timestamp,
) -> Result<(Person, Kept), SignInError> {
    match (&provider.speaker, pending) {
        (Speaker::Oidc(oidc), Pending::Oidc(pending)) => {
            let signed_in = oidc.redeem(query, pending, now).await;
            let signed_in = heard(provider, signed_in, now)?;
            let kept = Kept {
                renews: signed_in.refresh_token,
                id_token: signed_in.id_token,
            };
            Ok((signed_in.person, kept))
        }
        (Speaker::Github(github), Pending::Github(pending)) => {
            let signed_in = github.redeem(query, pending, now).await;
            let signed_in = heard(provider, signed_in, now)?;
            let kept = Kept {
                renews: Some(signed_in.access_token),
                id_token: None,
            };
            Ok((signed_in.person, kept))
        }
        _ => Err(SignInError::NotBegunHere),
    }
}

/// Whether what stands on a provider may be handed on for this user, such as to a program.
pub fn still_stands(
    hub: &Hub,
    user: &User,
    provider: Option<&TokenProvider>,
    now: Timestamp,
) -> bool {
    let stands = |one| standing::of_link(one, user, hub.stores(), now).is_ok();
    may_enter(user) && provider.is_none_or(stands)
}
