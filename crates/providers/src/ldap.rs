//! LDAP (RFC 4511) and Active Directory client.
//!
//! A sign-in has two steps. First the service account searches for the single entry with the
//! entered login name. Then Drover binds with that entry's name and the password on a separate
//! connection. A refresh uses only the service account, and searches for the entry by its immutable
//! ID. Drover establishes TLS before the first request. Each operation has a new connection, so
//! that an operation never uses the bind of a different user.

use std::time::Duration;

use drover_api::kinds::LdapSpec;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::timeout;

use crate::error::Refusal;
use crate::{ProviderError, ProviderUser};

mod account;
mod classification;
mod connection;
mod connection_test;
mod dn;
mod membership;
mod server;
mod session;
mod settings;
pub mod wire;

use account::{Account, AccountStatus};
use classification::SearchBase;
use connection::Connection;
use session::Session;
use settings::Settings;
use wire::filter::Filter;

pub use connection_test::{Check, CheckKind, ConnectionTest};

/// Timeout of a sign-in or a refresh, for all servers together.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum length of a login name, in bytes.
const MAX_LOGIN_BYTES: usize = 256;
const MAX_PASSWORD_BYTES: usize = 1024;

/// Client for one LDAP directory.
pub struct Directory {
    settings: Settings,
    password: SecretString,
}

impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Directory")
            .field(&self.settings.provider())
            .finish()
    }
}

impl Directory {
    /// Validates a configuration without connecting. `bind_password` is the value of the spec's
    /// `bindPassword`.
    pub fn new(spec: &LdapSpec, bind_password: SecretString) -> Result<Self, ProviderError> {
        if !can_be_password(&bind_password) {
            return Err(ProviderError::Misconfigured {
                field: "ldap.bindPassword",
                problem: format!(
                    "the key of the Secret is empty, longer than {MAX_PASSWORD_BYTES} bytes, or \
                     contains a zero byte: write the password of ldap.bindDn into the Secret"
                ),
            });
        }
        Ok(Self {
            settings: Settings::of(spec)?,
            password: bind_password,
        })
    }

    /// Authenticates a user by login name and password.
    ///
    /// For an unknown login name and for a wrong password, Drover sends the same requests and
    /// returns the same error, [`Credentials`](Refusal::Credentials). The result reveals a disabled
    /// account only after a correct password.
    pub async fn sign_in(
        &self,
        login: &str,
        password: &SecretString,
    ) -> Result<ProviderUser, ProviderError> {
        self.sign_in_with_hook(login, password, || ()).await
    }

    /// Authenticates a user like [`Self::sign_in`]. Calls `sending` immediately before Drover sends
    /// the password. After this call, the directory may count a failed attempt for the account.
    pub async fn sign_in_with_hook(
        &self,
        login: &str,
        password: &SecretString,
        sending: impl FnOnce() + Send,
    ) -> Result<ProviderUser, ProviderError> {
        // A bind with an empty password succeeds as an anonymous bind (RFC 4513 §5.1.2). Some
        // directories ignore the part of a password after a zero byte.
        if !can_sign_in(login, password) {
            return Err(ProviderError::Refused(Refusal::Credentials));
        }
        self.with_timeout(self.sign_in_unbounded(login, password, sending))
            .await
    }

    /// Reads the current state of a user by [`ProviderUser::id`].
    pub async fn refresh(&self, id: &str) -> Result<ProviderUser, ProviderError> {
        self.with_timeout(self.refresh_unbounded(id)).await
    }

    async fn sign_in_unbounded(
        &self,
        login: &str,
        password: &SecretString,
        sending: impl FnOnce() + Send,
    ) -> Result<ProviderUser, ProviderError> {
        let mut session = Session::open(&self.settings, &self.password).await?;
        let attribute = &self.settings.people.login_attribute;
        let login_filter = Filter::Equal(attribute.clone(), login.as_bytes().to_vec());
        let ambiguous = || ProviderError::Misconfigured {
            field: "ldap.users.loginAttribute",
            problem: format!(
                "several users have the same {attribute}, so none of them can sign in; \
                 choose an attribute with a unique value per user, or narrow ldap.users.base or \
                 ldap.users.filter"
            ),
        };
        let found = session.person(login_filter, ambiguous).await?;
        self.try_password(&session, found.as_ref(), password, sending)
            .await?;
        match found {
            Some(account) => self.describe(&mut session, account).await,
            None => Err(ProviderError::Refused(Refusal::Credentials)),
        }
    }

    /// Binds with the password on a separate connection. If the account does not exist, binds with
    /// a name that has no entry. The requests therefore do not reveal whether the account exists.
    async fn try_password(
        &self,
        session: &Session<'_>,
        account: Option<&Account>,
        password: &SecretString,
        sending: impl FnOnce() + Send,
    ) -> Result<(), ProviderError> {
        let provider = session.provider();
        let unknown = format!("cn=drover-unknown-user,{}", self.settings.people.base);
        let (name, status) = match account {
            Some(account) => (&account.name, account.status),
            None => (&unknown, AccountStatus::Active),
        };
        let opened = Connection::open(session.server(), &self.settings.tls).await;
        let mut connection =
            opened.map_err(|error| session::connect_error(session.server(), error))?;
        sending();
        let outcome = connection.bind(name, password).await.map_err(|failure| {
            classification::request_error(&provider, "check a password", failure)
        })?;
        let classification =
            classification::user_bind_result(&provider, self.settings.schema, status, outcome);
        match (account, classification) {
            // A missing account is rejected for every result of the bind.
            (None, Ok(()) | Err(ProviderError::Refused(_))) => {
                Err(ProviderError::Refused(Refusal::Credentials))
            }
            (_, classification) => classification,
        }
    }

    async fn refresh_unbounded(&self, id: &str) -> Result<ProviderUser, ProviderError> {
        let Some(condition) = self.settings.people.id.filter(id) else {
            return Err(ProviderError::Refused(Refusal::Gone));
        };
        let mut session = Session::open(&self.settings, &self.password).await?;
        let id_attribute = &self.settings.people.id;
        let ambiguous = || ProviderError::Misconfigured {
            field: id_attribute.field,
            problem: format!(
                "several users have the same {}; choose an attribute with a unique value per user",
                id_attribute.name
            ),
        };
        let Some(account) = session.person(condition, ambiguous).await? else {
            // A service account without read permission also receives an empty result, which does not
            // mean that the user was deleted.
            session
                .base(SearchBase::People, session::NO_ATTRIBUTES)
                .await?;
            if !session.has_visible_users().await? {
                return Err(no_visible_user(id_attribute));
            }
            return Err(ProviderError::Refused(Refusal::Gone));
        };
        if account.id != id {
            return Err(ProviderError::InvalidResponse {
                provider: session.provider(),
                problem: "the directory returned another user".to_owned(),
            });
        }
        match account.status {
            AccountStatus::Disabled => Err(ProviderError::Refused(Refusal::Disabled)),
            AccountStatus::Active => self.describe(&mut session, account).await,
        }
    }

    async fn describe(
        &self,
        session: &mut Session<'_>,
        account: Account,
    ) -> Result<ProviderUser, ProviderError> {
        let groups = match &self.settings.groups {
            Some(groups) => membership::of(session, groups, &account).await?,
            None => Vec::new(),
        };
        Ok(ProviderUser {
            id: account.id,
            login: account.logins.into_iter().next().unwrap_or_default(),
            display_name: account.display_name,
            email: account.email,
            groups,
        })
    }

    async fn with_timeout<T>(
        &self,
        operation: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        // Boxed to keep the futures of callers small.
        match timeout(TOTAL_TIMEOUT, Box::pin(operation)).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(ProviderError::Unavailable {
                provider: self.settings.provider(),
                action: format!("get an answer within {} s", TOTAL_TIMEOUT.as_secs()),
                source: Box::new(elapsed),
            }),
        }
    }
}

impl Settings {
    /// Returns all server URLs, for error messages.
    fn provider(&self) -> String {
        let servers: Vec<String> = self.servers.iter().map(ToString::to_string).collect();
        servers.join(", ")
    }
}

/// Reports whether Drover sends this login name and password to a directory. Drover rejects all
/// other values without a request.
pub fn can_sign_in(login: &str, password: &SecretString) -> bool {
    can_be_login(login) && can_be_password(password)
}

/// Reports whether a text is a valid login name.
///
/// Rejects control characters. Some directories, such as Samba, compare names only up to a zero
/// byte, so several names match the same entry.
fn can_be_login(login: &str) -> bool {
    !login.trim().is_empty() && login.len() <= MAX_LOGIN_BYTES && !login.contains(char::is_control)
}

fn can_be_password(password: &SecretString) -> bool {
    let password = password.expose_secret();
    !password.is_empty() && password.len() <= MAX_PASSWORD_BYTES && !password.contains('\0')
}

/// Returns the error for a service account that cannot read any user. The error prevents a removed
/// permission or a wrong setting from ending the access of all users.
fn no_visible_user(id: &settings::IdAttribute) -> ProviderError {
    ProviderError::Misconfigured {
        field: id.field,
        problem: format!(
            "no visible user has {}; correct the attribute or ldap.users.filter, or grant the \
             service account read access",
            id.name
        ),
    }
}
