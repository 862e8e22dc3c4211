//! Password rules, argon2id hashes, and the Secrets that store the hashes.

use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::{Algorithm, Argon2, PasswordHasher as _, PasswordVerifier as _, Version};
use drover_api::kinds::User;
use k8s_openapi::api::core::v1::Secret;
use kube::{Resource as _, ResourceExt};
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use tokio::sync::Semaphore;

use drover_entropy::{NoRandomness, random};
use drover_http_edge::status::Status;
use drover_hub::secret::{Data, entry, secret};
use drover_hub::{Hub, HubError, call};

/// The minimum and the maximum number of characters in a password.
pub const LENGTH: std::ops::RangeInclusive<usize> = 12..=512;
/// The key of the PHC string in the Secret.
const HASH: &str = "hash";
/// The timeout to wait for a free hashing slot.
const SLOT_TIMEOUT: Duration = Duration::from_secs(5);

/// The error of hashing, checking or storing a password.
#[derive(Debug, Error)]
pub enum PasswordError {
    /// The password violates a rule. The text completes "the password …".
    #[error("{0}")]
    Rule(&'static str),
    /// The wait for a free hashing slot timed out because of too many concurrent logins.
    #[error("too many concurrent password checks; try again in a few seconds")]
    Busy,
    /// The server cannot create or parse a hash.
    #[error("cannot hash the password")]
    Hash,
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
}

impl PasswordError {
    /// Converts the error to a Kubernetes `Status`. `field` is the name of the request field that
    /// contains the new password.
    pub fn into_status(self, field: &str) -> Status {
        match self {
            Self::Rule(rule) => Status::invalid(field, rule),
            Self::Busy => {
                Status::unavailable("too many concurrent logins; try again in a few seconds", 2)
            }
            Self::Hash => Status::internal(
                "cannot check the password: the hash function failed, or the stored hash is \
                 damaged; ask an administrator to set a new password",
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

/// Checks the rules for a new password.
pub fn check_rules(password: &str) -> Result<(), PasswordError> {
    if LENGTH.contains(&password.chars().count()) {
        Ok(())
    } else {
        Err(PasswordError::Rule("must have 12 to 512 characters"))
    }
}

/// The service that hashes and checks passwords on blocking threads with a concurrency limit.
/// Cloning is cheap.
#[derive(Clone)]
pub struct Passwords {
    slots: Arc<Semaphore>,
    /// A hash with a random output, which matches no known password. For an unknown user, the server
    /// checks the password against this hash, to take the same time as for an existing user.
    dummy_hash: Arc<str>,
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passwords").finish_non_exhaustive()
    }
}

impl Passwords {
    /// Creates a hasher with one concurrent hash per CPU. Each hash takes 19 MiB and about 20 ms.
    pub fn new() -> Result<Self, PasswordError> {
        let at_once = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Ok(Self {
            slots: Arc::new(Semaphore::new(at_once)),
            dummy_hash: dummy_hash()?.into(),
        })
    }

    /// Checks the rules for a password, and hashes the password. Returns the PHC string.
    pub async fn hash(&self, password: SecretString) -> Result<String, PasswordError> {
        check_rules(password.expose_secret())?;
        self.with_slot(move || hash(password.expose_secret())).await
    }

    /// Reports whether the password matches the PHC string. Without a PHC string, takes the same
    /// time and returns false.
    pub async fn verify(
        &self,
        password: SecretString,
        stored: Option<String>,
    ) -> Result<bool, PasswordError> {
        let exists = stored.is_some();
        let dummy_hash = Arc::clone(&self.dummy_hash);
        self.with_slot(move || {
            let stored = stored.as_deref().unwrap_or(&dummy_hash);
            let result =
                Argon2::default().verify_password(password.expose_secret().as_bytes(), stored);
            match result {
                Ok(()) => Ok(exists),
                Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
                Err(_) => Err(PasswordError::Hash),
            }
        })
        .await
    }

    async fn with_slot<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
    ) -> Result<T, PasswordError> {
        let slot = Arc::clone(&self.slots).acquire_owned();
        let slot = tokio::time::timeout(SLOT_TIMEOUT, slot).await;
        let slot = slot
            .map_err(|_| PasswordError::Busy)?
            .map_err(|_| PasswordError::Busy)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(slot);
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

/// Returns a PHC string with the parameters of [`hash`], and a random salt and output. The function
/// hashes no password, because a hash would delay the start of the server.
fn dummy_hash() -> Result<String, PasswordError> {
    let argon2 = Argon2::default();
    let phc = PasswordHash {
        algorithm: Algorithm::default().ident(),
        version: Some(Version::default().into()),
        params: ParamsString::try_from(argon2.params()).map_err(|_| PasswordError::Hash)?,
        salt: Some(Salt::new(&random::<16>()?).map_err(|_| PasswordError::Hash)?),
        hash: Some(Output::new(&random::<32>()?).map_err(|_| PasswordError::Hash)?),
    };
    Ok(phc.to_string())
}

/// Returns the name of the Secret with a user's hash.
pub fn secret_name(user_uid: &str) -> String {
    format!("password-{user_uid}")
}

/// The stored password hash of a user.
#[derive(Default)]
pub struct Stored {
    /// The PHC string, if the user has a password.
    pub phc: Option<String>,
    /// The version of the password. Each change of the password changes the version.
    pub version: PasswordVersion,
}

/// The version of a stored password, from the Secret's UID and resource version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordVersion(Option<(String, String)>);

/// Reads the stored hash of the user with this UID.
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

/// Stores a hash for a user without a password. Returns false if the user already has a hash.
pub async fn create_hash(hub: &Hub, user: &User, phc: &str) -> Result<bool, HubError> {
    let (writer, new) = (hub.secret_writer(), hash_secret(user, phc));
    match writer.create("store a password", &new).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_conflict() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Stores a hash for a user, or replaces the user's stored hash.
pub async fn write_hash(hub: &Hub, user: &User, phc: &str) -> Result<(), HubError> {
    if create_hash(hub, user, phc).await? {
        return Ok(());
    }
    let new = hash_secret(user, phc);
    let writer = hub.secret_writer();
    writer.replace("store a password", &new).await.map(drop)
}

/// Returns a Secret with a hash and an owner reference to the user. The hub's garbage collector
/// deletes the Secret together with the user.
fn hash_secret(user: &User, phc: &str) -> Secret {
    let name = secret_name(&user.uid().unwrap_or_default());
    let data = Data::from([(HASH.to_owned(), phc.as_bytes().to_vec())]);
    let mut made = secret(&name, "Opaque", data);
    made.metadata.owner_references = user.owner_ref(&()).map(|owner| vec![owner]);
    made
}

#[cfg(test)]
mod tests {
    use drover_entropy::random_password;

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
    fn random_passwords_satisfy_the_password_rules() {
        let password = random_password().unwrap();
        assert!(check_rules(password.expose_secret()).is_ok());
    }

    #[test]
    fn dummy_hash_has_the_parameters_of_a_real_hash() {
        let shape = |phc: String| {
            let phc = PasswordHash::new(&phc).unwrap();
            let lengths = (phc.salt.unwrap().len(), phc.hash.unwrap().len());
            (phc.algorithm, phc.version, phc.params, lengths)
        };
        let (dummy, real) = (dummy_hash().unwrap(), hash("correct horse").unwrap());
        assert_eq!(shape(dummy), shape(real));
    }

    #[tokio::test]
    async fn password_check_takes_equal_time_for_unknown_and_known_users() {
        let passwords = Passwords::new().unwrap();
        let phc = passwords.hash("correct horse".into()).await.unwrap();
        let mut shortest = [Duration::MAX; 2];
        // Alternates the cases, so that other load on the machine affects both.
        for _ in 0..5 {
            for (shortest, stored) in shortest.iter_mut().zip([Some(phc.clone()), None]) {
                let begun = std::time::Instant::now();
                passwords.verify("x".into(), stored).await.unwrap();
                *shortest = begun.elapsed().min(*shortest);
            }
        }
        let [known, unknown] = shortest;
        assert!(unknown > known / 4, "{unknown:?} and {known:?}");
    }

    #[tokio::test]
    async fn password_matches_only_its_own_hash() {
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
