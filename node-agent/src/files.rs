//! The key of the node agent and the record of its registration, in a folder that survives a restart of
//! the container.

use std::fs::{self, OpenOptions};
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
/// Name of the file with the key that replaces the present key after the server has bound it.
const NEXT_KEY: &str = "next-key.pkcs8";
/// Name of the file with the replaced key. The node agent needs it after the restore of a backup of the
/// hub.
const PREVIOUS_KEY: &str = "previous-key.pkcs8";
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
        let current = self.key_or_create(KEY)?;
        let mut others = Vec::new();
        for name in [NEXT_KEY, PREVIOUS_KEY] {
            others.extend(self.key(name)?.map(Arc::new));
        }
        let current = Arc::new(current);
        Ok(StoredKeys { current, others })
    }

    /// Returns the key that replaces the present key. Generates and stores the key if there is none.
    pub(crate) fn next_key(&self) -> Result<AgentKey, RegistrationError> {
        self.key_or_create(NEXT_KEY)
    }

    /// Makes the stored key `public` the key for new connections. Returns false if no stored key
    /// matches.
    pub(crate) fn switch_key(&self, public: &PublicKey) -> Result<bool, RegistrationError> {
        let is_stored = |name| -> Result<bool, RegistrationError> {
            Ok(self.key(name)?.is_some_and(|key| key.public() == public))
        };
        if is_stored(KEY)? {
            return Ok(true);
        }
        let Some(current) = self.read(KEY)? else {
            return Ok(false);
        };
        if is_stored(NEXT_KEY)? {
            self.write(PREVIOUS_KEY, current.expose_secret())?;
            let (from, to) = (self.0.join(NEXT_KEY), self.0.join(KEY));
            fs::rename(&from, to).map_err(|source| failed("rename", from, source))?;
            return Ok(true);
        }
        if !is_stored(PREVIOUS_KEY)? {
            return Ok(false);
        }
        if let Some(previous) = self.read(PREVIOUS_KEY)? {
            self.write(KEY, previous.expose_secret())?;
            self.write(PREVIOUS_KEY, current.expose_secret())?;
        }
        Ok(true)
    }

    fn key_or_create(&self, name: &str) -> Result<AgentKey, RegistrationError> {
        if let Some(key) = self.key(name)? {
            return Ok(key);
        }
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
    fn next_key_replaces_the_key_and_the_replaced_key_can_return() {
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
        assert_eq!(stored(), (first.clone(), vec![next.clone()]));
        assert!(files.switch_key(&next).unwrap());
        assert!(files.switch_key(&next).unwrap());
        assert_eq!(stored(), (next.clone(), vec![first.clone()]));
        assert!(files.switch_key(&first).unwrap());
        assert_eq!(stored(), (first, vec![next]));
        assert!(!files.switch_key(&PublicKey::from_bytes([1; 32])).unwrap());
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
