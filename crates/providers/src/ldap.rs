//! Directories: LDAP (RFC 4511) and Active Directory.
//!
//! Somebody signs in in two steps. The service account looks for the one entry that has the login
//! that was typed; then the password is tried for that entry, on a connection of its own. Later the
//! service account alone finds the entry again, by the id that never changes, and says what has
//! become of it. Nothing is said before TLS stands, and each conversation has a new connection, so
//! that nobody's bind is ever left over for another.

use std::time::Duration;

use drover_api::kinds::LdapSpec;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::timeout;

use crate::error::Refusal;
use crate::{Person, ProviderError};

mod account;
mod connection;
mod dn;
mod membership;
mod server;
mod session;
mod settings;
mod trial;
mod verdict;
pub mod wire;

use account::{Account, AccountStatus};
use connection::Connection;
use session::Session;
use settings::Settings;
use verdict::SearchBase;
use wire::filter::Filter;

pub use trial::{Check, CheckKind, ConnectionTest};

/// How long a sign-in or a refresh may take, however many servers are tried.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Nobody types more.
const MAX_LOGIN_BYTES: usize = 256;
const MAX_PASSWORD_BYTES: usize = 1024;

/// A directory whose people can sign in.
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
    /// Checks a configuration, `bind_password` being what its `bindPassword` names; says nothing to
    /// the directory yet.
    pub fn new(spec: &LdapSpec, bind_password: SecretString) -> Result<Self, ProviderError> {
        if !can_be_password(&bind_password) {
            return Err(ProviderError::Misconfigured {
                field: "ldap.bindPassword",
                problem: format!(
                    "the key of the Secret is empty, longer than {MAX_PASSWORD_BYTES} bytes, or \
                     holds a zero byte: put the password of ldap.bindDn there"
                ),
            });
        }
        Ok(Self {
            settings: Settings::of(spec)?,
            password: bind_password,
        })
    }

    /// Finds out who somebody is by what they typed.
    ///
    /// An unknown name and a wrong password have the same answer,
    /// [`Credentials`](Refusal::Credentials), after the same conversation; that an account is
    /// disabled is told after its right password only.
    pub async fn sign_in(
        &self,
        login: &str,
        password: &SecretString,
    ) -> Result<Person, ProviderError> {
        self.sign_in_with_hook(login, password, || ()).await
    }

    /// As [`Self::sign_in`]; calls `sending` just before the directory is sent the password, which it
    /// may count against the account.
    pub async fn sign_in_with_hook(
        &self,
        login: &str,
        password: &SecretString,
        sending: impl FnOnce() + Send,
    ) -> Result<Person, ProviderError> {
        // With an empty password a directory says yes and means nobody (RFC 4513 §5.1.2), and some
        // take what follows a zero byte for no part of it.
        if !can_sign_in(login, password) {
            return Err(ProviderError::Refused(Refusal::Credentials));
        }
        self.in_time(self.sign_in_unbounded(login, password, sending))
            .await
    }

    /// Finds out what has become of somebody who signed in before, by [`Person::id`].
    pub async fn refresh(&self, id: &str) -> Result<Person, ProviderError> {
        self.in_time(self.refresh_unbounded(id)).await
    }

    async fn sign_in_unbounded(
        &self,
        login: &str,
        password: &SecretString,
        sending: impl FnOnce() + Send,
    ) -> Result<Person, ProviderError> {
        let mut session = Session::open(&self.settings, &self.password).await?;
        let attribute = &self.settings.people.login_attribute;
        let typed = Filter::Equal(attribute.clone(), login.as_bytes().to_vec());
        let ambiguous = || ProviderError::Misconfigured {
            field: "ldap.users.loginAttribute",
            problem: format!(
                "several people have the same {attribute}, and none of them can sign in with it; \
                 choose an attribute that is each person's own, or narrow ldap.users.base or \
                 ldap.users.filter"
            ),
        };
        let found = session.person(typed, ambiguous).await?;
        self.try_password(&session, found.as_ref(), password, sending)
            .await?;
        match found {
            Some(account) => self.describe(&mut session, account).await,
            None => Err(ProviderError::Refused(Refusal::Credentials)),
        }
    }

    /// Tries a password on a connection of its own. Where there is nobody, it is tried for an entry
    /// that nobody has, so that it cannot be heard whether a name is known.
    async fn try_password(
        &self,
        session: &Session<'_>,
        account: Option<&Account>,
        password: &SecretString,
        sending: impl FnOnce() + Send,
    ) -> Result<(), ProviderError> {
        let provider = session.provider();
        let nobody = format!("cn=nobody-of-drover,{}", self.settings.people.base);
        let (name, standing) = match account {
            Some(account) => (&account.name, account.standing),
            None => (&nobody, AccountStatus::Active),
        };
        let opened = Connection::open(session.server(), &self.settings.tls).await;
        let mut connection = opened.map_err(|error| session::unopened(session.server(), error))?;
        sending();
        let outcome = connection
            .bind(name, password)
            .await
            .map_err(|failure| verdict::unanswered(&provider, "check a password", failure))?;
        let verdict = verdict::of_person_bind(&provider, self.settings.schema, standing, outcome);
        match (account, verdict) {
            // Whatever is said of nobody's password, they are not let in.
            (None, Ok(()) | Err(ProviderError::Refused(_))) => {
                Err(ProviderError::Refused(Refusal::Credentials))
            }
            (_, verdict) => verdict,
        }
    }

    async fn refresh_unbounded(&self, id: &str) -> Result<Person, ProviderError> {
        let Some(condition) = self.settings.people.id.filter(id) else {
            return Err(ProviderError::Refused(Refusal::Gone));
        };
        let mut session = Session::open(&self.settings, &self.password).await?;
        let id_attribute = &self.settings.people.id;
        let ambiguous = || ProviderError::Misconfigured {
            field: id_attribute.field,
            problem: format!(
                "several people have the same {}; choose an attribute that is each person's own",
                id_attribute.name
            ),
        };
        let Some(account) = session.person(condition, ambiguous).await? else {
            // A directory shows an empty place, too, to whoever may not look there any more, and
            // that is no word about anybody.
            session
                .base(SearchBase::People, session::NO_ATTRIBUTES)
                .await?;
            if !session.sees_people().await? {
                return Err(unseen(id_attribute));
            }
            return Err(ProviderError::Refused(Refusal::Gone));
        };
        if account.id != id {
            return Err(ProviderError::InvalidResponse {
                provider: session.provider(),
                problem: "it answers with another person than it was asked about".to_owned(),
            });
        }
        match account.standing {
            AccountStatus::Disabled => Err(ProviderError::Refused(Refusal::Disabled)),
            AccountStatus::Active => self.describe(&mut session, account).await,
        }
    }

    async fn describe(
        &self,
        session: &mut Session<'_>,
        account: Account,
    ) -> Result<Person, ProviderError> {
        let groups = match &self.settings.groups {
            Some(groups) => membership::of(session, groups, &account).await?,
            None => Vec::new(),
        };
        Ok(Person {
            id: account.id,
            login: account.logins.into_iter().next().unwrap_or_default(),
            display_name: account.display_name,
            email: account.email,
            groups,
        })
    }

    async fn in_time<T>(
        &self,
        asked: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        // On the heap, for conversations are long and callers' own futures should stay small.
        match timeout(TOTAL_TIMEOUT, Box::pin(asked)).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(ProviderError::Unavailable {
                provider: self.settings.provider(),
                what: format!("get an answer within {} s", TOTAL_TIMEOUT.as_secs()),
                source: Box::new(elapsed),
            }),
        }
    }
}

impl Settings {
    /// All servers, for errors.
    fn provider(&self) -> String {
        let servers: Vec<String> = self.servers.iter().map(ToString::to_string).collect();
        servers.join(", ")
    }
}

/// Whether this is a login and a password that a directory is asked about at all; it is told nothing
/// of others, and they are nobody's.
pub fn can_sign_in(login: &str, password: &SecretString) -> bool {
    can_be_login(login) && can_be_password(password)
}

/// Some directories, Samba for one, compare up to a zero byte only: one name would be many.
fn can_be_login(login: &str) -> bool {
    !login.trim().is_empty() && login.len() <= MAX_LOGIN_BYTES && !login.contains(char::is_control)
}

fn can_be_password(password: &SecretString) -> bool {
    let password = password.expose_secret();
    !password.is_empty() && password.len() <= MAX_PASSWORD_BYTES && !password.contains('\0')
}

/// Nobody at all: one right or one word of the configuration that is missing would otherwise end
/// everybody's access at once.
fn unseen(id: &settings::IdAttribute) -> ProviderError {
    ProviderError::Misconfigured {
        field: id.field,
        problem: format!(
            "nobody is seen who has {}; correct the attribute or ldap.users.filter, or let the \
             service account read it",
            id.name
        ),
    }
}
