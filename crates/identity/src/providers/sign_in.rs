//! Provider logins: with a redirect in a browser, or with a login and a password.

mod error;

use std::net::IpAddr;
use std::sync::Arc;

use drover_access::setting::Setting;
use drover_api::kinds::{AuthProvider, ProviderIdentity, Token, TokenProvider, TokenPurpose, User};
use drover_providers::allowed;
use drover_providers::error::Refusal;
use drover_providers::ldap::can_sign_in;
use drover_providers::{ProviderError, ProviderUser};
use jiff::Timestamp;
use reqwest::Url;
use secrecy::SecretString;
use tokio::sync::SemaphorePermit;
use tracing::Instrument as _;

pub use self::error::SignInError;
use super::configured::{Configured, ProtocolClient, Providers, is_not_deleted};
use super::keyed_lock::KeyedLock;
use super::login_state::{AlreadyFinished, FinishedLogins, LoginState, Pending, ReturnPath};
use super::provider_tokens::{self, ProviderTokens};
use super::{mapping, users};
use crate::LoginClient;
use crate::last_login::record_login;
use crate::limits::{LoginLimits, RetryAfter};
use crate::tokens;
use crate::tokens::NewToken;
use drover_hub::Hub;
use drover_hub::settings::Settings;
use drover_hub::stores::identity_status;

/// The redirect to the provider at the start of a login.
#[derive(Debug)]
pub struct LoginRedirect {
    /// The URL of the provider's login page.
    pub url: Url,
    /// The encrypted login state for the cookie.
    pub cookie: SecretString,
}

/// The token that a completed login created.
#[derive(Debug)]
pub struct CompletedLogin {
    /// The secret text of the token. The server returns this text once.
    pub secret: SecretString,
    /// The Token object on the hub.
    pub token: Token,
}

/// Provider logins. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct ProviderLogins {
    hub: Hub,
    settings: Settings,
    providers: Providers,
    limits: LoginLimits,
    finished: FinishedLogins,
    locks: KeyedLock,
}

impl ProviderLogins {
    /// Creates the service. Password logins use the same rate limits `limits`.
    pub fn new(hub: Hub, settings: Settings, providers: Providers, limits: LoginLimits) -> Self {
        Self {
            hub,
            settings,
            providers,
            limits,
            finished: FinishedLogins::default(),
            locks: KeyedLock::default(),
        }
    }

    /// Returns the cache of provider clients.
    pub fn providers(&self) -> &Providers {
        &self.providers
    }

    /// Returns the locks that serialize changes of the same identity.
    pub fn locks(&self) -> &KeyedLock {
        &self.locks
    }

    /// Returns the AuthProviders that are enabled and are not being deleted.
    pub fn enabled_providers(&self) -> Vec<Arc<AuthProvider>> {
        let all = self.hub.stores().auth_providers.all().into_iter();
        all.filter(|one| one.spec.enabled && is_not_deleted(one))
            .collect()
    }

    /// Starts a login at a provider with a login page.
    pub async fn begin(
        &self,
        name: &str,
        return_path: ReturnPath,
        previous_session: Option<String>,
        address: IpAddr,
    ) -> Result<LoginRedirect, SignInError> {
        self.check_enabled(name)?;
        self.limits
            .check_begin(address)
            .map_err(SignInError::TooMany)?;
        let provider = self.providers.enabled(name).await?;
        let (back, now) = (self.callback_url(name)?, Timestamp::now());
        let (url, pending) = match &provider.client {
            ProtocolClient::Oidc(oidc) => {
                let _permit = acquire_login_permit(&provider)?;
                let (url, pending) = oidc.authorize(&back, now).await?;
                (url, Pending::Oidc(pending))
            }
            ProtocolClient::Github(github) => {
                let (url, pending) = github.authorize(&back, now);
                (url, Pending::Github(pending))
            }
            ProtocolClient::Ldap(_) => return Err(SignInError::OtherWay("login and password")),
        };
        let login_state = LoginState::new(pending, return_path, previous_session)?;
        let cookie = login_state.seal(self.hub.keys().login_state(), &provider.reference.uid)?;
        Ok(LoginRedirect { url, cookie })
    }

    /// Finishes a login in the browser that started the login. `query` is the callback's query.
    pub async fn finish(
        &self,
        name: &str,
        cookie: Option<&SecretString>,
        query: &str,
        address: IpAddr,
    ) -> Result<(CompletedLogin, LoginState), SignInError> {
        self.check_enabled(name)?;
        self.limits
            .check_begin(address)
            .map_err(SignInError::TooMany)?;
        let provider = self.providers.enabled(name).await?;
        let (seal, uid) = (self.hub.keys().login_state(), &provider.reference.uid);
        let login_state = cookie.and_then(|cookie| LoginState::open(seal, uid, cookie));
        let login_state = login_state.ok_or(SignInError::NotBegunHere)?;
        // A forged callback link does not finish another login.
        if !login_state.pending.matches_state(query) {
            return Err(SignInError::OtherSignIn);
        }
        let now = Timestamp::now();
        let ending =
            self.finished
                .begin_finish(&login_state, now)
                .map_err(|ended| match ended {
                    AlreadyFinished::Yes => SignInError::EndedBefore,
                    AlreadyFinished::Unknown => SignInError::TooMany(RetryAfter::ONE_MINUTE),
                })?;
        let (person, new_tokens) = {
            let _permit = acquire_login_permit(&provider)?;
            let redeemed = redeem(&provider, &login_state.pending, query, now).await;
            self.record_response(&provider, &redeemed, now);
            redeemed?
        };
        ending.commit();
        let completed = self
            .create_token(&provider, person, new_tokens, LoginClient::Browser)
            .await?;
        Ok((completed, login_state))
    }

    /// Updates the provider's backoff from the result of a login.
    ///
    /// Ignores results for users who may not sign in. Also ignores rejections, because a client can
    /// cause a rejection without a request to the provider.
    fn record_response(
        &self,
        provider: &Configured,
        redeemed: &Result<(ProviderUser, ProviderTokens), SignInError>,
        now: Timestamp,
    ) {
        match redeemed {
            Ok((person, _)) => {
                let identity = mapping::identity(&provider.reference, person, now);
                let listed = self.check_allowed(&provider.reference, &mapping::person(&identity));
                if listed.is_ok() {
                    provider.record_answer(Ok::<_, &ProviderError>(person), now);
                }
            }
            Err(SignInError::Provider(ProviderError::Refused(_))) => {}
            Err(SignInError::Provider(error)) => {
                provider.record_answer(Err::<&ProviderUser, _>(error), now);
            }
            Err(_) => {}
        }
    }

    /// Signs a user in at a provider with a login and a password.
    pub async fn with_password(
        &self,
        name: &str,
        login: &str,
        password: &SecretString,
        address: IpAddr,
        by: LoginClient,
    ) -> Result<CompletedLogin, SignInError> {
        self.check_enabled(name)?;
        if !can_sign_in(login, password) {
            return Err(ProviderError::Refused(Refusal::Credentials).into());
        }
        let attempt = self.limits.check_at(name, login, address);
        let attempt = attempt.map_err(SignInError::TooMany)?;
        let mut sent = false;
        let checked = self.check_password(name, login, password, &mut sent).await;
        let (provider, person) = match checked {
            Ok(checked) => {
                attempt.succeeded();
                checked
            }
            Err(error) if sent => return Err(error),
            Err(error) => {
                attempt.not_sent();
                return Err(error);
            }
        };
        let completed = self
            .create_token(&provider, person, ProviderTokens::default(), by)
            .await?;
        self.limits.succeeded_at(name, login, address);
        Ok(completed)
    }

    /// Checks a password at a directory. Sets `sent` to true when the server sends the password to
    /// the directory.
    async fn check_password(
        &self,
        name: &str,
        login: &str,
        password: &SecretString,
        sent: &mut bool,
    ) -> Result<(Arc<Configured>, ProviderUser), SignInError> {
        let provider = self.providers.enabled(name).await?;
        let ProtocolClient::Ldap(directory) = &provider.client else {
            return Err(SignInError::OtherWay("its own login page"));
        };
        let now = Timestamp::now();
        let response = {
            let _permit = acquire_login_permit(&provider)?;
            let _permit = provider.acquire(now).await?;
            let sending = || *sent = true;
            let response = directory.sign_in_with_hook(login, password, sending).await;
            provider.record_answer(response.as_ref(), now);
            response?
        };
        Ok((provider, response))
    }

    /// Creates a token for a user that the provider has confirmed. The creation runs to completion
    /// even if the caller is dropped.
    async fn create_token(
        &self,
        provider: &Configured,
        person: ProviderUser,
        new_tokens: ProviderTokens,
        by: LoginClient,
    ) -> Result<CompletedLogin, SignInError> {
        let (provider_logins, reference) = (self.clone(), provider.reference.clone());
        let entering = async move {
            provider_logins
                .create_token_uncancelled(&reference, &person, new_tokens, by)
                .await
        };
        tokio::spawn(entering.in_current_span()).await?
    }

    async fn create_token_uncancelled(
        &self,
        reference: &TokenProvider,
        person: &ProviderUser,
        new_tokens: ProviderTokens,
        by: LoginClient,
    ) -> Result<CompletedLogin, SignInError> {
        let _alone = self.locks.lock_identity(&reference.uid, &person.id).await;
        let now = Timestamp::now();
        let identity = mapping::identity(reference, person, now);
        // The check uses the stored form of the identity.
        let counts = mapping::person(&identity);
        if let Err(error) = self.check_allowed(reference, &counts) {
            // Uses the stores only, so that an unknown user does not cause a list of all users.
            let known = users::find_in_store(&self.hub, &reference.uid, &person.id);
            return Err(self.refuse(known.as_deref(), &identity, error).await?);
        }
        let user = match users::find(&self.hub, &reference.uid, &person.id).await? {
            Some(user) if !may_sign_in(&user) => return Err(SignInError::Disabled),
            Some(user) => users::write_identity(&self.hub, &user, &identity).await?,
            None => users::create_with_roles(&self.hub, person, &identity).await?,
        };
        // A concurrent change of the list did not see this identity.
        if let Err(error) = self.check_allowed(reference, &counts) {
            return Err(self.refuse(Some(&user), &identity, error).await?);
        }
        if !new_tokens.is_empty() {
            let before = provider_tokens::read(&self.hub, &user, &reference.uid).await?;
            provider_tokens::write(&self.hub, &user, &reference.uid, &new_tokens.or(before))
                .await?;
        }
        let new_token = self.new_token(by, reference.clone());
        let (secret, token) = tokens::create(&self.hub, &user, new_token).await?;
        record_login(&self.hub, &user).await;
        Ok(CompletedLogin { secret, token })
    }

    /// Marks the identity as rejected if the error is [`SignInError::NotAllowed`]. Returns the
    /// error.
    async fn refuse(
        &self,
        user: Option<&User>,
        identity: &ProviderIdentity,
        error: SignInError,
    ) -> Result<SignInError, SignInError> {
        if let (Some(user), SignInError::NotAllowed(_)) = (user, &error) {
            let refused = mapping::refused(identity, NOT_ALLOWED, Timestamp::now());
            users::write_identity(&self.hub, user, &refused).await?;
            provider_tokens::forget(&self.hub, user, &identity.provider_uid).await?;
        }
        Ok(error)
    }

    /// Checks that an enabled provider has this name.
    fn check_enabled(&self, name: &str) -> Result<(), SignInError> {
        let found = self.hub.stores().auth_providers.by_name(name);
        let open = found.is_some_and(|found| found.spec.enabled && is_not_deleted(&found));
        let nothing = || SignInError::NoSuch(name.to_owned());
        open.then_some(()).ok_or_else(nothing)
    }

    /// Checks the user against the provider's current list of allowed users. A deleted or disabled
    /// provider allows no user.
    fn check_allowed(
        &self,
        provider: &TokenProvider,
        person: &ProviderUser,
    ) -> Result<(), SignInError> {
        let current = self
            .hub
            .stores()
            .auth_providers
            .by_uid(provider.uid.as_str());
        let current = current.filter(|current| current.spec.enabled && is_not_deleted(current));
        let current = current.ok_or_else(|| SignInError::NoSuch(provider.name.clone()))?;
        Ok(allowed::check(current.spec.allowed.as_ref(), person)?)
    }

    fn new_token(&self, by: LoginClient, provider: TokenProvider) -> NewToken {
        let longest = self.settings.ttl(Setting::SessionTtl);
        let idle = self.settings.ttl(Setting::SessionIdleTtl);
        let (purpose, idle) = match by {
            LoginClient::Program => (TokenPurpose::Session, None),
            LoginClient::Browser => (TokenPurpose::Browser, Some(idle)),
        };
        NewToken {
            purpose,
            cluster: None,
            provider: Some(provider),
            description: None,
            expires_at: Timestamp::now() + longest,
            idle,
        }
    }

    /// Returns the callback URL of a provider.
    pub fn callback_url(&self, name: &str) -> Result<Url, ProviderError> {
        let url = format!(
            "{}/v1/providers/{name}/callback",
            self.settings.server_url()
        );
        url.parse().map_err(|_| ProviderError::Misconfigured {
            field: "server-url",
            problem: "the setting is not a URL: use https://host or https://host:port".to_owned(),
        })
    }
}

/// Acquires a permit for a login at the provider.
fn acquire_login_permit(provider: &Configured) -> Result<SemaphorePermit<'_>, SignInError> {
    let permit = provider.login_permits.try_acquire();
    permit.map_err(|_| SignInError::TooMany(RetryAfter::ONE_SECOND))
}

/// The message for a user that the list of allowed users does not contain.
pub const NOT_ALLOWED: &str =
    "spec.allowed of the AuthProvider contains neither the user nor a group of the user";

/// Reports whether the user is enabled and is not being deleted.
fn may_sign_in(user: &User) -> bool {
    user.spec.enabled && user.metadata.deletion_timestamp.is_none()
}

async fn redeem(
    provider: &Configured,
    pending: &Pending,
    query: &str,
    now: Timestamp,
) -> Result<(ProviderUser, ProviderTokens), SignInError> {
    match (&provider.client, pending) {
        (ProtocolClient::Oidc(oidc), Pending::Oidc(pending)) => {
            let signed_in = oidc.redeem(query, pending, now).await?;
            let new_tokens = ProviderTokens {
                refresh_token: signed_in.refresh_token,
                id_token: signed_in.id_token,
            };
            Ok((signed_in.person, new_tokens))
        }
        (ProtocolClient::Github(github), Pending::Github(pending)) => {
            let signed_in = github.redeem(query, pending, now).await?;
            let new_tokens = ProviderTokens {
                refresh_token: Some(signed_in.access_token),
                id_token: None,
            };
            Ok((signed_in.person, new_tokens))
        }
        _ => Err(SignInError::NotBegunHere),
    }
}

/// Reports whether the server may create a token for the user. If the token depends on a provider,
/// the user's identity at this provider must be valid.
pub fn is_login_valid(
    hub: &Hub,
    user: &User,
    provider: Option<&TokenProvider>,
    now: Timestamp,
) -> bool {
    let stands = |one| identity_status::check_link(one, user, hub.stores(), now).is_ok();
    may_sign_in(user) && provider.is_none_or(stands)
}
