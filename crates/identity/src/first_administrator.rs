//! The first administrator of a new hub.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use drover_api::kinds::{User, UserSpec};
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use thiserror::Error;

use super::administrators::is_administrator;
use super::passwords::{PasswordError, Passwords, create_hash, read_hash, write_hash};
use drover_entropy::{NoRandomness, random_password};
use drover_hub::{Hub, HubError, call};

/// Name of the first administrator.
pub const NAME: &str = "admin";
/// Label of the first administrator, who gets a new password at a start when the old one is gone.
const LABEL: &str = "management.drover.dev/first-administrator";

/// Annotation of the first administrator while nobody has been told the password.
const PASSWORD_PENDING: &str = "management.drover.dev/first-password-untold";

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
/// Each step is a creation that one server wins, so that two starting at once tell one password.
/// The user says whether its password was told: a crash before that costs a second password, at
/// the next start. The file is there before anything is stored, so that it cannot be what fails.
pub async fn ensure(
    hub: &Hub,
    passwords: &Passwords,
    file: Option<&Path>,
) -> Result<(), FirstAdministratorError> {
    let found = find_or_create(hub).await?;
    warn_if_nobody_administers(hub, found.as_ref());
    let Some(user) = found else {
        return Ok(());
    };
    let stored = read_hash(hub, &user.uid().unwrap_or_default()).await?.phc;
    let untold =
        user.annotations().contains_key(PASSWORD_PENDING) && user.spec.must_change_password;
    if stored.is_some() && !untold {
        return Ok(());
    }
    let place = file.map(Place::create).transpose()?;
    let password = random_password()?;
    let phc = passwords.hash(password.clone()).await?;
    if stored.is_some() {
        write_hash(hub, &user, &phc).await?;
    } else if !create_hash(hub, &user, &phc).await? {
        // Another server tells it.
        return Ok(());
    }
    tell(&password, place)?;
    note_told(hub).await;
    Ok(())
}

/// Whoever only writes to the hub cannot make it so, but its administrators' older ways could.
fn warn_if_nobody_administers(hub: &Hub, found: Option<&User>) {
    let users = hub.stores().users.all();
    let known = users.iter().map(AsRef::as_ref).chain(found);
    if !known.into_iter().any(is_administrator) {
        tracing::warn!(
            "nobody administers Drover: every administrator is disabled or deleted; stop the server \
             and run \"drover server recover\" on its hub"
        );
    }
}

/// A new file for a password; removed when dropped without one.
struct Place {
    path: PathBuf,
    file: Option<File>,
}

impl Place {
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
        // At once, so that whoever watches the file reads a whole line.
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

impl Drop for Place {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// From now on the password stays; a failure costs another password at the next start, unless
/// somebody has changed this one by then.
async fn note_told(hub: &Hub) {
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { PASSWORD_PENDING: null } } }));
    let (api, params) = (hub.users(), PatchParams::default());
    let noted = call(
        "note that the first password was told",
        api.patch(NAME, &params, &patch),
    );
    if let Err(error) = noted.await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "the next start may tell another first password");
    }
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
    user.annotations_mut()
        .insert(PASSWORD_PENDING.to_owned(), "true".to_owned());
    user.labels_mut()
        .insert(LABEL.to_owned(), "true".to_owned());
    user
}

/// The one place where a password leaves the server; not a log line, so that no collector has it.
fn tell(password: &SecretString, place: Option<Place>) -> Result<(), FirstAdministratorError> {
    // In one piece, so that nothing of another thread comes in between.
    let text = format!(
        "\nThe first administrator is {NAME:?} with the password\n\n    {}\n\n\
         It is shown this once and must be changed at the first login: drover login\n\n",
        password.expose_secret()
    );
    // Who starts a server without standard error has a file, or uses `drover server recover`.
    let _ = std::io::stderr().write_all(text.as_bytes());
    place.map_or(Ok(()), |place| place.fill(password))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_password_file_is_the_owners_alone_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("first-password");
        let place = Place::create(&path).unwrap();
        tell(&SecretString::from("a first password"), Some(place)).unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "a first password\n"
        );
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let again = Place::create(&path);
        assert!(matches!(again, Err(FirstAdministratorError::File { .. })));
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "a first password\n"
        );
        let unused = folder.path().join("unused");
        drop(Place::create(&unused).unwrap());
        assert!(!unused.exists(), "a file without a password would mislead");
    }
}
