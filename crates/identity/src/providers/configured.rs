//! Builds provider clients from AuthProviders and their Secrets. The cache replaces a client when
//! its AuthProvider or Secret changes.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use drover_access::admission::is_servers_secret;
use drover_api::group::PROVIDER_SECRET_LABEL;
use drover_api::ids::ProviderUid;
use drover_api::kinds::{AuthProvider, AuthProviderSpec, SecretKey, TokenProvider};
use drover_providers::ProviderError;
use drover_providers::github::{Github, RequestedAs, TemporaryFailure};
use drover_providers::ldap::Directory;
use drover_providers::oidc::Oidc;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use parking_lot::Mutex;
use secrecy::SecretString;
use thiserror::Error;
use tokio::sync::{MutexGuard, Semaphore};
use tokio::time::{Instant, timeout};

use drover_entropy::backoff::Backoff;
use drover_hub::{Hub, HubError, call};

/// The duration for which a Secret is cached.
const SECRET_CACHE_TTL: Duration = Duration::from_secs(15);
/// The minimum and the maximum backoff after a provider rejects Drover's own credentials. Without a
/// backoff, repeated attempts can lock Drover's account at the provider.
const CREDENTIALS_BACKOFF: (Duration, Duration) = (Duration::from_mins(1), Duration::from_mins(10));
/// The maximum number of concurrent logins at one provider.
const MAX_CONCURRENT_LOGINS: usize = 16;
/// The timeout to wait for the exclusive permit. A permit is exclusive until the provider accepts
/// Drover's own credentials.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(10);
/// The fields of an AuthProvider that contain Drover's own credentials at a directory.
const OWN_CREDENTIALS: [&str; 2] = ["ldap.bindDn", "ldap.bindPassword"];

/// The error of using a provider.
#[derive(Debug, Error)]
pub enum UseError {
    /// The provider with this name does not exist or is disabled.
    #[error("the identity provider {name:?} does not exist or is disabled", name = .0)]
    NoSuch(String),
    /// The provider is misconfigured.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
}

/// The client of the provider's protocol.
#[derive(Debug)]
pub enum ProtocolClient {
    /// OpenID Connect.
    Oidc(Oidc),
    /// GitHub.
    Github(Github),
    /// LDAP.
    Ldap(Directory),
}

/// A provider with its current configuration.
#[derive(Debug)]
pub struct Configured {
    /// The name and UID of the provider, in the format of stored tokens.
    pub reference: TokenProvider,
    /// The AuthProvider's spec.
    pub spec: AuthProviderSpec,
    /// The client of the provider's protocol.
    pub client: ProtocolClient,
    /// The resource version of the Secret from which the client was built.
    secret_version: Option<String>,
    responses: Mutex<ResponseState>,
    /// The limit of concurrent logins at this provider. With this limit, an unresponsive provider
    /// cannot block logins at other providers.
    pub(super) login_permits: Semaphore,
    /// The lock that serializes requests until the provider accepts Drover's own credentials.
    trying: tokio::sync::Mutex<()>,
}

/// A permit to send requests to a provider. The permit is exclusive until the provider accepts
/// Drover's own credentials.
#[derive(Debug)]
pub struct RequestPermit<'a> {
    _alone: Option<MutexGuard<'a, ()>>,
}

/// The state that results from the provider's previous responses.
#[derive(Debug)]
struct ResponseState {
    last_answer: Option<Timestamp>,
    not_before: Option<Timestamp>,
    credentials_backoff: Backoff,
    /// True if the provider accepted Drover's own credentials in the last response.
    credentials_accepted: bool,
}

impl Configured {
    /// Builds the client. Sends no request to the provider.
    pub fn new(
        name: &str,
        uid: ProviderUid,
        spec: &AuthProviderSpec,
        secret: Option<SecretString>,
    ) -> Result<Self, ProviderError> {
        let client = match (&spec.oidc, &spec.github, &spec.ldap) {
            (Some(oidc), None, None) => ProtocolClient::Oidc(Oidc::new(oidc, secret)?),
            (None, Some(github), None) => {
                ProtocolClient::Github(Github::new(github, secret.unwrap_or_default())?)
            }
            (None, None, Some(ldap)) => {
                ProtocolClient::Ldap(Directory::new(ldap, secret.unwrap_or_default())?)
            }
            _ => {
                return Err(ProviderError::Misconfigured {
                    field: "spec",
                    problem: "set exactly one of oidc, github and ldap".to_owned(),
                });
            }
        };
        let (first, longest) = CREDENTIALS_BACKOFF;
        // Only directories lock accounts, so other providers need no test.
        let credentials_accepted = !matches!(client, ProtocolClient::Ldap(_));
        Ok(Self {
            reference: TokenProvider {
                name: name.to_owned(),
                uid,
            },
            spec: spec.clone(),
            client,
            secret_version: None,
            responses: Mutex::new(ResponseState {
                last_answer: None,
                not_before: None,
                credentials_backoff: Backoff::new(first, longest),
                credentials_accepted,
            }),
            login_permits: Semaphore::new(MAX_CONCURRENT_LOGINS),
            trying: tokio::sync::Mutex::default(),
        })
    }

    /// Returns the label of the provider's login button.
    pub fn title(&self) -> &str {
        title(&self.reference.name, &self.spec)
    }

    /// Acquires a permit to send requests to the provider. Returns an error during a backoff.
    ///
    /// The permit is exclusive until the provider accepts Drover's own credentials. Many concurrent
    /// requests with a wrong password can lock Drover's account.
    pub async fn acquire(&self, now: Timestamp) -> Result<RequestPermit<'_>, ProviderError> {
        self.check_backoff(now)?;
        if self.responses.lock().credentials_accepted {
            return Ok(RequestPermit { _alone: None });
        }
        let alone = timeout(PERMIT_TIMEOUT, self.trying.lock()).await;
        let alone = alone.map_err(|elapsed| self.unavailable("get a permit", elapsed))?;
        // The previous holder may have started a backoff.
        self.check_backoff(now)?;
        let is_good = self.responses.lock().credentials_accepted;
        Ok(RequestPermit {
            _alone: Some(alone).filter(|_| !is_good),
        })
    }

    fn check_backoff(&self, now: Timestamp) -> Result<(), ProviderError> {
        match self.responses.lock().not_before {
            Some(until) if now < until => {
                let reason = format!("backoff until {until}");
                Err(self.unavailable("send a request during the backoff", reason))
            }
            _ => Ok(()),
        }
    }

    fn unavailable(
        &self,
        action: &str,
        reason: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> ProviderError {
        ProviderError::Unavailable {
            provider: self.reference.name.clone(),
            action: action.to_owned(),
            source: reason.into(),
        }
    }

    /// Updates the backoff and the state from a response.
    pub fn record_answer<T>(&self, answer: Result<&T, &ProviderError>, now: Timestamp) {
        let mut responses = self.responses.lock();
        match answer {
            Ok(_) | Err(ProviderError::Refused(_)) => {
                responses.last_answer = Some(now);
                responses.not_before = None;
                responses.credentials_backoff.reset();
                responses.credentials_accepted = true;
            }
            Err(ProviderError::Misconfigured { field, .. }) if OWN_CREDENTIALS.contains(field) => {
                let (least, _) = CREDENTIALS_BACKOFF;
                let pause = least + responses.credentials_backoff.next_delay();
                let pause = SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX);
                responses.not_before = now.checked_add(pause).ok();
                responses.credentials_accepted = false;
            }
            Err(error) => {
                if let Some(until) = not_before(error, RequestedAs::Client) {
                    responses.not_before = Some(until);
                }
            }
        }
    }

    /// Returns the time of the provider's last response.
    pub fn last_answer(&self) -> Option<Timestamp> {
        self.responses.lock().last_answer
    }
}

/// Returns the label of a provider's login button.
pub fn title<'a>(name: &'a str, spec: &'a AuthProviderSpec) -> &'a str {
    let desired = spec.display_name.as_deref();
    desired
        .filter(|text| !text.trim().is_empty())
        .unwrap_or(name)
}

/// Returns the time until which the provider refuses requests with the credentials `requested_as`.
/// Returns `None` if the error contains no time, or if the rate limit applies to other credentials.
pub fn not_before(error: &ProviderError, requested_as: RequestedAs) -> Option<Timestamp> {
    let mut below = std::iter::successors(error.source(), |&error| error.source());
    let not_now = below.find_map(|error| error.downcast_ref::<TemporaryFailure>())?;
    not_now
        .until
        .filter(|_| not_now.requested_as == requested_as)
}

/// The cache of all provider clients. Clones share the cache.
#[derive(Clone, Debug)]
pub struct Providers {
    hub: Hub,
    cache: Arc<Mutex<HashMap<String, CachedProvider>>>,
}

#[derive(Debug)]
struct CachedProvider {
    configured: Arc<Configured>,
    checked: Instant,
}

impl Providers {
    /// Creates an empty cache.
    pub fn new(hub: Hub) -> Self {
        Self {
            hub,
            cache: Arc::default(),
        }
    }

    /// Returns the enabled provider with this name.
    pub async fn enabled(&self, name: &str) -> Result<Arc<Configured>, UseError> {
        let found = self.hub.stores().auth_providers.by_name(name);
        let found = found.filter(|found| found.spec.enabled && is_not_deleted(found));
        let found = found.ok_or_else(|| UseError::NoSuch(name.to_owned()))?;
        self.configured(&found).await
    }

    /// Returns the client of this provider, enabled or disabled.
    pub async fn configured(&self, provider: &AuthProvider) -> Result<Arc<Configured>, UseError> {
        let uid = provider.uid().unwrap_or_default();
        let same_spec = |cached: &&CachedProvider| cached.configured.spec == provider.spec;
        let former = {
            let cache = self.cache.lock();
            let former = cache.get(&uid).filter(same_spec);
            match former {
                Some(cached) if cached.checked.elapsed() < SECRET_CACHE_TTL => {
                    return Ok(Arc::clone(&cached.configured));
                }
                former => former.map(|cached| Arc::clone(&cached.configured)),
            }
        };
        let (secret, version) = match secret_of(&provider.spec) {
            Some((field, key)) => {
                let (secret, version) =
                    read_secret(&self.hub, field, key, &provider.name_any()).await?;
                (Some(secret), version)
            }
            None => (None, None),
        };
        let configured = if let Some(former) = former.filter(|one| one.secret_version == version) {
            former
        } else {
            let (name, uid) = (provider.name_any(), ProviderUid::new(&*uid));
            let mut new = Configured::new(&name, uid, &provider.spec, secret)?;
            new.secret_version = version;
            Arc::new(new)
        };
        self.store_in_cache(uid, &configured);
        Ok(configured)
    }

    /// Returns the time of a provider's last response to this server.
    pub fn last_answer(&self, uid: &str) -> Option<Timestamp> {
        self.cache.lock().get(uid)?.configured.last_answer()
    }

    fn store_in_cache(&self, uid: String, configured: &Arc<Configured>) {
        let stores = self.hub.stores();
        let mut cache = self.cache.lock();
        cache.retain(|uid, _| stores.auth_providers.by_uid(uid).is_some());
        let checked = Instant::now();
        let configured = Arc::clone(configured);
        cache.insert(
            uid,
            CachedProvider {
                configured,
                checked,
            },
        );
    }
}

/// Reports whether the provider has no deletion timestamp.
pub fn is_not_deleted(provider: &AuthProvider) -> bool {
    provider.metadata.deletion_timestamp.is_none()
}

/// Returns the reference to the Secret of a provider, with the name of the field that contains the
/// reference.
pub fn secret_of(spec: &AuthProviderSpec) -> Option<(&'static str, &SecretKey)> {
    let oidc = spec.oidc.as_ref().and_then(|oidc| {
        let key = oidc.client_secret.as_ref()?;
        Some(("oidc.clientSecret", key))
    });
    let github = spec.github.as_ref();
    let github = github.map(|github| ("github.clientSecret", &github.client_secret));
    let ldap = spec.ldap.as_ref();
    let ldap = ldap.map(|ldap| ("ldap.bindPassword", &ldap.bind_password));
    oidc.or(github).or(ldap)
}

/// Reads the Secret of an AuthProvider. Allows only Secrets with Drover's label, because the author
/// of a provider chooses the address that receives the secret.
async fn read_secret(
    hub: &Hub,
    field: &'static str,
    key: &SecretKey,
    provider: &str,
) -> Result<(SecretString, Option<String>), UseError> {
    let wrong = |problem: String| ProviderError::Misconfigured { field, problem };
    let name = &key.name;
    if is_servers_secret(name) {
        return Err(wrong(format!(
            "the Secret {name:?} belongs to the server: use a different Secret"
        ))
        .into());
    }
    let found = call("read a provider's Secret", hub.secrets().get_opt(name)).await?;
    let secret = found.ok_or_else(|| {
        let place = hub.namespace();
        wrong(format!(
            "there is no Secret {name:?} in {place:?} on the hub: create it"
        ))
    })?;
    let whose = secret.labels().get(PROVIDER_SECRET_LABEL);
    if whose.map(String::as_str) != Some(provider) {
        return Err(wrong(format!(
            "the Secret {name:?} does not have the label {PROVIDER_SECRET_LABEL}={provider}: add it"
        ))
        .into());
    }
    let text = text_in(&secret, &key.key).ok_or_else(|| {
        let key = &key.key;
        wrong(format!(
            "the Secret {name:?} has no text under the key {key:?}: add it"
        ))
    })?;
    Ok((text, secret.resource_version()))
}

fn text_in(secret: &Secret, key: &str) -> Option<SecretString> {
    let bytes = secret.data.as_ref()?.get(key)?;
    let text = std::str::from_utf8(&bytes.0).ok()?;
    Some(SecretString::from(text))
}

#[cfg(test)]
mod tests {
    use drover_providers::error::Refusal;

    use super::*;

    fn configured() -> Configured {
        let ldap = serde_json::json!({
            "servers": ["ldaps://127.0.0.1"],
            "bindDn": "cn=drover,dc=example,dc=org",
            "bindPassword": { "name": "corp", "key": "bindPassword" },
            "users": { "base": "ou=people,dc=example,dc=org" },
        });
        let spec = AuthProviderSpec {
            ldap: Some(serde_json::from_value(ldap).unwrap()),
            ..AuthProviderSpec::default()
        };
        let secret = Some(SecretString::from("password"));
        Configured::new("corp", ProviderUid::new("p1"), &spec, secret).unwrap()
    }

    #[test]
    fn rejected_service_account_password_of_provider_starts_a_backoff() {
        let provider = configured();
        let now = Timestamp::UNIX_EPOCH;
        let after = |seconds| now + SignedDuration::from_secs(seconds);
        let wrong = |field| ProviderError::Misconfigured {
            field,
            problem: String::new(),
        };
        provider.record_answer(Err::<&(), _>(&wrong("ldap.users.base")), now);
        assert!(provider.check_backoff(now).is_ok());
        provider.record_answer(Err::<&(), _>(&wrong("ldap.bindPassword")), now);
        assert!(provider.check_backoff(after(59)).is_err());
        assert!(provider.check_backoff(after(121)).is_ok());
        assert_eq!(provider.last_answer(), None);
        // A wrong password of a user is a response.
        let refused = ProviderError::Refused(Refusal::Credentials);
        provider.record_answer(Err::<&(), _>(&refused), after(1));
        assert!(provider.check_backoff(after(1)).is_ok());
        assert_eq!(provider.last_answer(), Some(after(1)));
    }

    fn not_now(requested_as: RequestedAs, until: Timestamp) -> ProviderError {
        ProviderError::Unavailable {
            provider: "corp".to_owned(),
            action: "ask".to_owned(),
            source: Box::new(TemporaryFailure {
                status: 429,
                until: Some(until),
                requested_as,
            }),
        }
    }

    #[test]
    fn provider_receives_no_requests_before_its_retry_time() {
        let provider = configured();
        let now = Timestamp::UNIX_EPOCH;
        let until = now + SignedDuration::from_secs(30);
        let error = not_now(RequestedAs::Client, until);
        provider.record_answer(Err::<&(), _>(&error), now);
        assert!(provider.check_backoff(now).is_err());
        assert!(provider.check_backoff(until).is_ok());
    }

    #[test]
    fn rate_limit_for_one_user_does_not_block_other_users_of_the_provider() {
        let provider = configured();
        let now = Timestamp::UNIX_EPOCH;
        let until = now + SignedDuration::from_hours(1);
        let error = not_now(RequestedAs::User, until);
        provider.record_answer(Err::<&(), _>(&error), now);
        assert!(provider.check_backoff(now).is_ok());
        assert_eq!(not_before(&error, RequestedAs::User), Some(until));
    }

    #[tokio::test(start_paused = true)]
    async fn untested_service_account_password_is_sent_by_one_request_at_a_time() {
        let provider = configured();
        let now = Timestamp::UNIX_EPOCH;
        let first = provider.acquire(now).await.unwrap();
        assert!(
            provider.acquire(now).await.is_err(),
            "the wait has a timeout"
        );
        provider.record_answer(Ok::<_, &ProviderError>(&()), now);
        drop(first);
        let _one = provider.acquire(now).await.unwrap();
        let _other = provider.acquire(now).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_request_fails_after_service_account_password_is_rejected() {
        let provider = configured();
        let now = Timestamp::UNIX_EPOCH;
        let first = provider.acquire(now).await.unwrap();
        let second = provider.acquire(now);
        let refuse = async {
            let wrong = ProviderError::Misconfigured {
                field: "ldap.bindPassword",
                problem: String::new(),
            };
            provider.record_answer(Err::<&(), _>(&wrong), now);
            drop(first);
        };
        let (second, ()) = tokio::join!(second, refuse);
        assert!(second.is_err());
    }
}
