//! The first administrator of a new hub.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use drover_api::kinds::{User, UserSpec};
use kube::ResourceExt;
use kube::api::{ListParams, PostParams};
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;

use super::passwords::{PasswordError, Passwords, create_hash, random_password, read_hash};
use crate::hub::keys::NoRandomness;
use crate::hub::{Hub, HubError, call};

/// Name of the first administrator.
pub const NAME: &str = "admin";
/// Label of the first administrator, who gets a new password at a start when the old one is gone.
const LABEL: &str = "management.drover.dev/first-administrator";

/// Why the first administrator could not be made.
#[derive(Debug, Error)]
pub enum FirstAdministratorError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// No password could be made.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// No password could be made.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// The password could not be written to its file.
    #[error("cannot write the first password to {}: choose a path that does not exist yet in a folder that does", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Makes the administrator `admin` if the hub has no user, and tells the password once.
///
/// Each step is a creation that one server wins, so that two starting at once tell one password,
/// and a crash between the steps is healed by the next start.
pub async fn ensure(
    hub: &Hub,
    passwords: &Passwords,
    file: Option<&Path>,
) -> Result<(), FirstAdministratorError> {
    let Some(user) = find_or_create(hub).await? else {
        return Ok(());
    };
    let uid = user.uid().unwrap_or_default();
    if read_hash(hub, &uid).await?.phc.is_some() {
        return Ok(());
    }
    let password = random_password()?;
    let phc = passwords.hash(password.clone()).await?;
    if create_hash(hub, &user, &phc).await? {
        tell(&password, file)?;
    }
    Ok(())
}

/// The first administrator; `None` when the hub has users, but not that one.
async fn find_or_create(hub: &Hub) -> Result<Option<User>, HubError> {
    let api = hub.users();
    let found = call("read the first administrator", api.get_opt(NAME)).await?;
    if let Some(user) = found {
        return Ok(Some(user).filter(|user| user.labels().contains_key(LABEL)));
    }
    let any = call("list users", api.list(&ListParams::default().limit(1))).await?;
    if !any.items.is_empty() {
        return Ok(None);
    }
    match call(
        "create the first administrator",
        api.create(&PostParams::default(), &admin()),
    )
    .await
    {
        Ok(user) => Ok(Some(user)),
        Err(error) if error.is_conflict() => call("read the first administrator", api.get(NAME))
            .await
            .map(Some),
        Err(error) => Err(error),
    }
}

fn admin() -> User {
    let spec = UserSpec {
        display_name: Some("Administrator".to_owned()),
        enabled: true,
        administrator: true,
        must_change_password: true,
    };
    let mut user = User::new(NAME, spec);
    user.labels_mut()
        .insert(LABEL.to_owned(), "true".to_owned());
    user
}

/// The one place where a password leaves the server; not a log line, so that no collector has it.
fn tell(password: &SecretString, file: Option<&Path>) -> Result<(), FirstAdministratorError> {
    eprintln!(
        "\nThe first administrator is {NAME:?} with the password\n\n    {}\n\n\
         It is shown this once and must be changed at the first login: drover login\n",
        password.expose_secret()
    );
    let Some(path) = file else {
        return Ok(());
    };
    let failed = |source| FirstAdministratorError::File {
        path: path.to_owned(),
        source,
    };
    let mut options = std::fs::OpenOptions::new();
    let mut opened = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    opened
        .write_all(password.expose_secret().as_bytes())
        .and_then(|()| opened.write_all(b"\n"))
        .map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_password_file_is_the_owners_alone_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("first-password");
        tell(&SecretString::from("a first password"), Some(&path)).unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "a first password\n"
        );
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let again = tell(&SecretString::from("another"), Some(&path));
        assert!(matches!(again, Err(FirstAdministratorError::File { .. })));
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "a first password\n"
        );
    }
}
