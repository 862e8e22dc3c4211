//! The key of the node agent and the record of its registration, in a folder that survives a restart of
//! the container.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drover_access::proof::PublicKey;
use drover_agent_link::key::{AgentKey, StoredKeys};
use drover_agent_link::registration::RegistrationError;
use drover_api::ids::ClusterUid;
use secrecy::{ExposeSecret as _, SecretSlice};
use serde::{Deserialize, Serialize};

/// Name of the file with the key, in PKCS#8.
const KEY: &str = "key.pkcs8";
/// Name of the file with the key that replaces the current key after the server has bound it.
const NEXT_KEY: &str = "next-key.pkcs8";
/// Name of the file with the record of the registration, in JSON.
const RECORD: &str = "registration.json";

/// The record that the server has bound the key to the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    /// UID of the Cluster.
    pub(crate) cluster_uid: ClusterUid,
    /// Name of the Cluster, used in messages.
    pub(crate) cluster_name: String,
}

/// The folder with the files of the node agent.
#[derive(Clone, Debug)]
pub(crate) struct Files(PathBuf);

impl Files {
    /// Creates access to the files in a folder.
    pub(crate) const fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Returns the stored keys. Generates and stores a key if there is no key.
    pub(crate) fn keys_or_create(&self) -> Result<StoredKeys, RegistrationError> {
        let current = Arc::new(self.key_or_create(KEY)?);
        // The server binds a different key only after it has requested the next key. A damaged next key
        // is replaced when the server requests it.
        let others = self.key(NEXT_KEY).ok().flatten().map(Arc::new);
        Ok(StoredKeys {
            current,
            others: others.into_iter().collect(),
        })
    }

    /// Returns the key that replaces the current key. Generates and stores the key if there is none.
    pub(crate) fn next_key(&self) -> Result<AgentKey, RegistrationError> {
        match self.key(NEXT_KEY) {
            Ok(Some(next)) => Ok(next),
            Ok(None) | Err(RegistrationError::Key(_)) => self.create_key(NEXT_KEY),
            Err(error) => Err(error),
        }
    }

    /// Makes the next key the current key, if it is `public`.
    pub(crate) fn use_key(&self, public: &PublicKey) -> Result<(), RegistrationError> {
        if self
            .key(NEXT_KEY)?
            .is_none_or(|next| next.public() != public)
        {
            return Ok(());
        }
        let (from, to) = (self.0.join(NEXT_KEY), self.0.join(KEY));
        fs::rename(&from, to)
            .and_then(|()| self.sync())
            .map_err(|source| failed("rename", from, source))
    }

    /// Writes the entries of the folder to the disk.
    fn sync(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }

    fn key_or_create(&self, name: &str) -> Result<AgentKey, RegistrationError> {
        match self.key(name)? {
            Some(key) => Ok(key),
            None => self.create_key(name),
        }
    }

    fn create_key(&self, name: &str) -> Result<AgentKey, RegistrationError> {
        let key = AgentKey::generate()?;
        self.write(name, key.expose_secret())?;
        Ok(AgentKey::from_pkcs8(&key)?)
    }

    fn key(&self, name: &str) -> Result<Option<AgentKey>, RegistrationError> {
        let stored = self.read(name)?;
        Ok(stored.map(|key| AgentKey::from_pkcs8(&key)).transpose()?)
    }

    fn read(&self, name: &str) -> Result<Option<SecretSlice<u8>>, RegistrationError> {
        let path = self.0.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(SecretSlice::from(bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(failed("read", path, source)),
        }
    }

    /// Returns the record of the registration. A file that cannot be parsed is no record, so that the
    /// node agent registers again.
    pub(crate) fn record(&self) -> Option<Record> {
        let bytes = fs::read(self.0.join(RECORD)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Stores the record of the registration.
    pub(crate) fn write_record(&self, record: &Record) -> Result<(), RegistrationError> {
        let json = serde_json::to_vec(record).expect("a record can be serialized as JSON");
        self.write(RECORD, &json)
    }

    /// Writes a complete file that only this user can read.
    fn write(&self, name: &str, content: &[u8]) -> Result<(), RegistrationError> {
        let path = self.0.join(name);
        let unfinished = self.0.join(format!("{name}.new"));
        write_private(&unfinished, content)
            .and_then(|()| fs::rename(&unfinished, &path))
            .and_then(|()| self.sync())
            .map_err(|source| failed("write", path, source))
    }
}

/// Reads the token that proves the node.
pub(crate) fn read_token(path: &Path) -> Result<String, RegistrationError> {
    let token = fs::read_to_string(path);
    let token = token.map_err(|source| failed("read", path.to_owned(), source))?;
    Ok(token.trim().to_owned())
}

fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

const fn failed(operation: &'static str, path: PathBuf, source: io::Error) -> RegistrationError {
    RegistrationError::File {
        operation,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn key_survives_a_restart_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().to_owned());
        let first = files.keys_or_create().unwrap();
        let again = Files::new(folder.path().to_owned());
        let again = again.keys_or_create().unwrap();
        assert_eq!(first.current.public(), again.current.public());
        let mode = fs::metadata(folder.path().join(KEY)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }

    #[test]
    fn next_key_becomes_the_current_key_only_when_it_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().to_owned());
        let stored = || {
            let StoredKeys { current, others } = files.keys_or_create().unwrap();
            let others: Vec<_> = others.iter().map(|key| key.public().clone()).collect();
            (current.public().clone(), others)
        };
        let (first, _) = stored();
        let next = files.next_key().unwrap().public().clone();
        assert_eq!(files.next_key().unwrap().public(), &next);
        files.use_key(&first).unwrap();
        assert_eq!(stored(), (first, vec![next.clone()]));
        for _ in 0..2 {
            files.use_key(&next).unwrap();
            assert_eq!(stored(), (next.clone(), Vec::new()));
        }
    }

    #[test]
    fn damaged_next_key_does_not_prevent_a_connection_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().to_owned());
        let first = files.keys_or_create().unwrap();
        fs::write(folder.path().join(NEXT_KEY), "no key").unwrap();
        let stored = files.keys_or_create().unwrap();
        assert_eq!(stored.current.public(), first.current.public());
        let next = files.next_key().unwrap();
        files.use_key(next.public()).unwrap();
        let stored = files.keys_or_create().unwrap();
        assert_eq!(stored.current.public(), next.public());
    }

    #[test]
    fn damaged_files_are_errors_or_no_record() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().to_owned());
        assert_eq!(files.record(), None);
        let record = Record {
            cluster_uid: ClusterUid::new("uid"),
            cluster_name: "production".to_owned(),
        };
        files.write_record(&record).unwrap();
        assert_eq!(files.record(), Some(record));
        fs::write(folder.path().join(RECORD), "{").unwrap();
        assert_eq!(files.record(), None);
        fs::write(folder.path().join(KEY), "no key").unwrap();
        assert!(matches!(
            files.keys_or_create(),
            Err(RegistrationError::Key(_))
        ));
    }

    #[test]
    fn error_of_a_missing_folder_names_the_file() {
        let files = Files::new("/nonexistent/drover".into());
        let error = files.keys_or_create().unwrap_err().to_string();
        assert!(error.contains("/nonexistent/drover/key.pkcs8"), "{error}");
    }
}
