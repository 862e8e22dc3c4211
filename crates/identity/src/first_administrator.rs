//! The first administrator of a new hub.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use drover_api::kinds::{User, UserSpec};
use kube::ResourceExt;
use kube::api::ListParams;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use thiserror::Error;

use super::administrators::is_administrator;
use super::passwords::{PasswordError, Passwords, create_hash, read_hash, write_hash};
use drover_entropy::{NoRandomness, random_password};
use drover_hub::{Hub, HubError, call};

/// The name of the first administrator.
pub const NAME: &str = "admin";
/// The label of the first administrator. If the Secret with the password is missing at startup, the
/// server creates a new password for the user with this label.
const LABEL: &str = "management.drover.dev/first-administrator";

/// The annotation that the first administrator has until the server has printed the password.
const PASSWORD_PENDING: &str = "management.drover.dev/first-password-untold";

/// The error of creating the first administrator.
#[derive(Debug, Error)]
pub enum FirstAdministratorError {
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The server cannot generate or hash the password.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// The random generator of the operating system failed.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// The server cannot write the password file.
    #[error(
        "cannot write the first password to {path}: use the path of a new file in an existing \
        folder"
    )]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// Creates the administrator `admin` if the hub has no user, and prints the password once.
///
/// If several servers start concurrently, only one server creates each object, so only this server
/// prints a password. The User records whether the password was printed. After a crash before this
/// record, the next start prints a new password. The server opens the file before the first write
/// to the hub, so that a file error changes nothing on the hub.
pub async fn ensure(
    hub: &Hub,
    passwords: &Passwords,
    file: Option<&Path>,
) -> Result<(), FirstAdministratorError> {
    let found = find_or_create(hub).await?;
    warn_without_administrator(hub, found.as_ref());
    let Some(user) = found else {
        return Ok(());
    };
    let stored = read_hash(hub, &user.uid().unwrap_or_default()).await?.phc;
    let not_printed =
        user.annotations().contains_key(PASSWORD_PENDING) && user.spec.must_change_password;
    if stored.is_some() && !not_printed {
        return Ok(());
    }
    let output = file.map(PasswordFile::create).transpose()?;
    let password = random_password()?;
    let phc = passwords.hash(password.clone()).await?;
    if stored.is_some() {
        write_hash(hub, &user, &phc).await?;
    } else if !create_hash(hub, &user, &phc).await? {
        // Another server prints the password.
        return Ok(());
    }
    print(&password, output)?;
    record_printed(hub).await;
    Ok(())
}

/// Logs a warning if the hub has no enabled administrator. Admission prevents this state, but
/// earlier versions of the server allowed it.
fn warn_without_administrator(hub: &Hub, found: Option<&User>) {
    let users = hub.stores().users.all();
    let known = users.iter().map(AsRef::as_ref).chain(found);
    if !known.into_iter().any(is_administrator) {
        tracing::warn!(
            "no enabled administrator exists; stop the server and run \"drover server recover\" \
             on the hub of the server"
        );
    }
}

/// A new password file. Dropping the value before the password is written removes the file.
struct PasswordFile {
    path: PathBuf,
    file: Option<File>,
}

impl PasswordFile {
    fn create(path: &Path) -> Result<Self, FirstAdministratorError> {
        let mut options = File::options();
        let opened = options.write(true).create_new(true).mode(0o600).open(path);
        let file = opened.map_err(|source| FirstAdministratorError::File {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            file: Some(file),
        })
    }

    fn fill(mut self, password: &SecretString) -> Result<(), FirstAdministratorError> {
        let Some(mut file) = self.file.take() else {
            return Ok(());
        };
        // One write, so that a reader sees a complete line.
        let line = format!("{}\n", password.expose_secret());
        let written = file
            .write_all(line.as_bytes())
            .and_then(|()| file.sync_all());
        written.map_err(|source| FirstAdministratorError::File {
            path: self.path.clone(),
            source,
        })
    }
}

impl Drop for PasswordFile {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Removes the annotation [`PASSWORD_PENDING`]. If the removal fails, the next start prints a new
/// password, unless the user has changed the password.
async fn record_printed(hub: &Hub) {
    let patch = json!({ "metadata": { "annotations": { PASSWORD_PENDING: null } } });
    // The function runs at startup and reads the hub, not the stores.
    let writer = hub.writer::<User>().without_wait();
    let operation = "record that the first password was printed";
    let noted = writer.patch(operation, NAME, &patch);
    if let Err(error) = noted.await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            "failed to record that the first password was printed; the next start may print a \
             new password"
        );
    }
}

/// Finds or creates the first administrator. Returns `None` if the hub has other users.
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
    // The function runs at startup and reads the hub, not the stores.
    let writer = hub.writer().without_wait();
    let new = admin();
    let created = writer.create("create the first administrator", &new);
    match created.await {
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
    user.annotations_mut()
        .insert(PASSWORD_PENDING.to_owned(), "true".to_owned());
    user.labels_mut()
        .insert(LABEL.to_owned(), "true".to_owned());
    user
}

/// Prints the password to standard error. The password is not in the log, because log collectors
/// store logs.
fn print(
    password: &SecretString,
    place: Option<PasswordFile>,
) -> Result<(), FirstAdministratorError> {
    // One write, so that output of other threads does not interleave.
    let text = format!(
        "\nThe first administrator is {NAME:?} with the password\n\n    {}\n\n\
         It is shown this once and must be changed at the first login: drover login\n\n",
        password.expose_secret()
    );
    // Without standard error, use the file or `drover server recover`.
    let _ = std::io::stderr().write_all(text.as_bytes());
    place.map_or(Ok(()), |place| place.fill(password))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn password_file_is_private_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("first-password");
        let output = PasswordFile::create(&path).unwrap();
        print(&SecretString::from("a first password"), Some(output)).unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "a first password\n"
        );
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let again = PasswordFile::create(&path);
        assert!(matches!(again, Err(FirstAdministratorError::File { .. })));
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "a first password\n"
        );
        let unused = folder.path().join("unused");
        drop(PasswordFile::create(&unused).unwrap());
        assert!(!unused.exists(), "a file without a password would mislead");
    }
}
