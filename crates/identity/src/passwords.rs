//! Passwords: their rules, argon2id, and the Secret that keeps a hash.

use std::sync::Arc;
use std::time::Duration;

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use drover_api::kinds::User;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Resource as _, ResourceExt};
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use tokio::sync::Semaphore;

use drover_entropy::{NoRandomness, random_password};
use drover_http_edge::status::Status;
use drover_hub::secret::{Data, entry, secret};
use drover_hub::{Hub, HubError, call};

/// Characters that a password has at least and at most.
pub const LENGTH: std::ops::RangeInclusive<usize> = 12..=512;
/// Name of the entry in a password's Secret: a PHC string.
const HASH: &str = "hash";
/// Longest that a hash may wait for its turn.
const TURN_WITHIN: Duration = Duration::from_secs(5);

/// Why a password could not be hashed, checked or kept.
#[derive(Debug, Error)]
pub enum PasswordError {
    /// It breaks a rule; completes "the password …".
    #[error("{0}")]
    Rule(&'static str),
    /// Too many log-ins at once.
    #[error("too many passwords are being checked at once")]
    Busy,
    /// A hash could not be made or read.
    #[error("a password could not be hashed")]
    Hash,
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
}

impl PasswordError {
    /// The answer, where `field` of the request holds the new password.
    pub fn into_status(self, field: &str) -> Status {
        match self {
            Self::Rule(rule) => Status::invalid(field, rule),
            Self::Busy => Status::unavailable(
                "too many people log in at this moment; try again in some seconds",
                2,
            ),
            Self::Hash => Status::internal(
                "the password could not be hashed or its stored hash is damaged; an administrator \
                 can set a new one",
            ),
            Self::Hub(error) => error.into(),
        }
    }
}

impl From<NoRandomness> for PasswordError {
    fn from(_: NoRandomness) -> Self {
        Self::Hash
    }
}

/// Checks the rules that a new password has to keep.
pub fn check_rules(password: &str) -> Result<(), PasswordError> {
    if LENGTH.contains(&password.chars().count()) {
        Ok(())
    } else {
        Err(PasswordError::Rule("must have 12 to 512 characters"))
    }
}

/// Hashes and checks passwords off the async threads, a bounded number at once; cheap to clone.
#[derive(Clone)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    /// Hash of a password that nobody knows, to take the same time for users who do not exist.
    nobody: Arc<str>,
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passwords").finish_non_exhaustive()
    }
}

impl Passwords {
    /// As many at once as there are processors: each takes 19 MiB and some 20 ms of one.
    pub fn new() -> Result<Self, PasswordError> {
        let at_once = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Ok(Self {
            turns: Arc::new(Semaphore::new(at_once)),
            nobody: hash(random_password()?.expose_secret())?.into(),
        })
    }

    /// The PHC string of a password that keeps the rules.
    pub async fn hash(&self, password: SecretString) -> Result<String, PasswordError> {
        check_rules(password.expose_secret())?;
        self.in_turn(move || hash(password.expose_secret())).await
    }

    /// Whether the password fits the PHC string; as slow when there is none.
    pub async fn verify(
        &self,
        password: SecretString,
        stored: Option<String>,
    ) -> Result<bool, PasswordError> {
        let exists = stored.is_some();
        let nobody = Arc::clone(&self.nobody);
        self.in_turn(move || {
            let stored = stored.as_deref().unwrap_or(&nobody);
            let verdict =
                Argon2::default().verify_password(password.expose_secret().as_bytes(), stored);
            match verdict {
                Ok(()) => Ok(exists),
                Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
                Err(_) => Err(PasswordError::Hash),
            }
        })
        .await
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
    ) -> Result<T, PasswordError> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        let turn = tokio::time::timeout(TURN_WITHIN, turn).await;
        let turn = turn
            .map_err(|_| PasswordError::Busy)?
            .map_err(|_| PasswordError::Busy)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(turn);
            result
        });
        done.await.map_err(|_| PasswordError::Hash)?
    }
}

fn hash(password: &str) -> Result<String, PasswordError> {
    let hashed = Argon2::default().hash_password(password.as_bytes());
    hashed
        .map(|phc| phc.to_string())
        .map_err(|_| PasswordError::Hash)
}

/// Name of the Secret that keeps a user's hash.
pub fn secret_name(user_uid: &str) -> String {
    format!("password-{user_uid}")
}

/// A hash as the hub holds it.
#[derive(Default)]
pub struct Stored {
    /// The PHC string, if there is one.
    pub phc: Option<String>,
    /// Which password it is of: another after every change.
    pub version: PasswordVersion,
}

/// Tells a user's passwords apart, one set again included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordVersion(Option<(String, String)>);

/// The stored password of the user with this UID.
pub async fn read_hash(hub: &Hub, user_uid: &str) -> Result<Stored, HubError> {
    let api = hub.secrets();
    let stored = call("read a password", api.get_opt(&secret_name(user_uid))).await?;
    let Some(stored) = stored else {
        return Ok(Stored::default());
    };
    let text = entry(&stored, HASH).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let version = stored.uid().zip(stored.resource_version());
    Ok(Stored {
        phc: text,
        version: PasswordVersion(version),
    })
}

/// Keeps a hash for a user who has none yet; `false` if there is one already.
pub async fn create_hash(hub: &Hub, user: &User, phc: &str) -> Result<bool, HubError> {
    let api = hub.secrets();
    let params = PostParams::default();
    match call(
        "keep a password",
        api.create(&params, &hash_secret(user, phc)),
    )
    .await
    {
        Ok(_) => Ok(true),
        Err(error) if error.is_conflict() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Keeps a hash in place of what there was.
pub async fn write_hash(hub: &Hub, user: &User, phc: &str) -> Result<(), HubError> {
    if create_hash(hub, user, phc).await? {
        return Ok(());
    }
    let new = hash_secret(user, phc);
    let name = new.name_any();
    let (api, params) = (hub.secrets(), PostParams::default());
    call("keep a password", api.replace(&name, &params, &new))
        .await
        .map(|_| ())
}

/// The Secret goes with its user: the hub's garbage collector sees to it.
fn hash_secret(user: &User, phc: &str) -> Secret {
    let name = secret_name(&user.uid().unwrap_or_default());
    let data = Data::from([(HASH.to_owned(), phc.as_bytes().to_vec())]);
    let mut made = secret(&name, "Opaque", data);
    made.metadata.owner_references = user.owner_ref(&()).map(|owner| vec![owner]);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_have_12_to_512_characters_of_any_script() {
        for (password, allowed) in [
            ("", false),
            ("elevenchars", false),
            ("twelve chars", true),
            ("zwölf Zeichn", true),
            (&"p".repeat(512), true),
            (&"p".repeat(513), false),
        ] {
            assert_eq!(
                check_rules(password).is_ok(),
                allowed,
                "{} characters",
                password.len()
            );
        }
    }

    #[test]
    fn random_passwords_follow_the_rules() {
        let password = random_password().unwrap();
        assert!(check_rules(password.expose_secret()).is_ok());
    }

    #[tokio::test]
    async fn a_password_of_nobody_takes_as_long_as_somebodys() {
        let passwords = Passwords::new().unwrap();
        let phc = passwords.hash("correct horse".into()).await.unwrap();
        let mut shortest = [Duration::MAX; 2];
        // In turns, so that what else the machine does is in both.
        for _ in 0..5 {
            for (shortest, stored) in shortest.iter_mut().zip([Some(phc.clone()), None]) {
                let begun = std::time::Instant::now();
                passwords.verify("x".into(), stored).await.unwrap();
                *shortest = begun.elapsed().min(*shortest);
            }
        }
        let [somebodys, nobodys] = shortest;
        assert!(nobodys > somebodys / 4, "{nobodys:?} and {somebodys:?}");
    }

    #[tokio::test]
    async fn a_password_fits_its_own_hash_only_and_nobody_fits_none() {
        let passwords = Passwords::new().unwrap();
        let phc = passwords.hash("correct horse".into()).await.unwrap();
        assert!(phc.starts_with("$argon2id$"), "{phc}");
        assert!(
            passwords
                .verify("correct horse".into(), Some(phc.clone()))
                .await
                .unwrap()
        );
        assert!(
            !passwords
                .verify("battery staple".into(), Some(phc))
                .await
                .unwrap()
        );
        assert!(
            !passwords
                .verify("correct horse".into(), None)
                .await
                .unwrap()
        );
        let damaged = passwords
            .verify("correct horse".into(), Some("$argon2id$".into()))
            .await;
        assert!(matches!(damaged, Err(PasswordError::Hash)));
    }
}
