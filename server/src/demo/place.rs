//! The directories of simulated clusters.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

/// Name of the file with a cluster's objects. The store adds suffixes to the name for further
/// files.
const STORE: &str = "cluster.db";
/// Name of the directory with one directory per node agent.
const NODE_AGENTS: &str = "node-agents";
/// Name of the file with the agent's token. The temporary file adds a suffix to the name.
const TOKEN: &str = "agent-token";

/// The directory of all simulated clusters. Only the operating system user of the server has
/// access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoFolder(PathBuf);

/// Reports whether a directory entry has the name of a simulated cluster. The module does not read
/// or remove entries with different names.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with("demo-")
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

impl DemoFolder {
    /// Returns the directory `demo` in the server's data folder.
    pub fn within(data: &Path) -> Self {
        Self(data.join("demo"))
    }

    /// Returns the names of the simulated clusters that have a directory.
    pub(super) fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.0) else {
            return Vec::new();
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names
            .filter(|name| is_name(name) && self.0.join(name).join(STORE).is_file())
            .collect()
    }

    pub(super) fn of(&self, name: &str) -> ClusterFolder {
        ClusterFolder(self.0.join(name))
    }
}

/// The directory of one simulated cluster.
#[derive(Clone, Debug)]
pub(super) struct ClusterFolder(PathBuf);

impl ClusterFolder {
    /// Returns the path of the file with the cluster's objects. Creates the directory with mode
    /// 0700.
    pub(super) fn file(&self) -> io::Result<PathBuf> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.0)?;
        Ok(self.0.join(STORE))
    }

    /// Returns the path of the file with the agent's service account token.
    pub(super) fn token(&self) -> PathBuf {
        self.0.join(TOKEN)
    }

    /// Returns the directory of a node agent's pod. Creates the directory with mode 0700.
    pub(super) fn node_agent(&self, pod_uid: &str) -> io::Result<NodeAgentFolder> {
        let folder = self.0.join(NODE_AGENTS).join(pod_uid);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
        Ok(NodeAgentFolder(folder))
    }

    /// Removes the cluster's files and the directory. Keeps the directory if it contains unknown
    /// files.
    pub(super) fn remove(&self) -> io::Result<()> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if name == NODE_AGENTS {
                fs::remove_dir_all(entry.path())?;
                continue;
            }
            let ours = [STORE, TOKEN].map(str::as_bytes);
            if ours
                .iter()
                .any(|own| name.as_encoded_bytes().starts_with(own))
            {
                fs::remove_file(entry.path())?;
            }
        }
        fs::remove_dir(&self.0)
    }
}

/// The directory with the files of one node agent.
#[derive(Clone, Debug)]
pub(super) struct NodeAgentFolder(PathBuf);

impl NodeAgentFolder {
    /// Returns the directory, in which the node agent stores its key.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of the file with the token for the API server.
    pub(super) fn token(&self) -> PathBuf {
        self.0.join("token")
    }

    /// Returns the path of the file with the token that proves the node.
    pub(super) fn node_token(&self) -> PathBuf {
        self.0.join("node-token")
    }
}

/// Replaces a file atomically. Only this user can read the file.
pub(super) fn write_private(path: &Path, content: &SecretString) -> io::Result<()> {
    let next = path.with_extension("next");
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&next)?;
    file.write_all(content.expose_secret().as_bytes())?;
    fs::rename(next, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demo_lists_only_folders_with_names_of_simulated_clusters() {
        let data = tempfile::tempdir().unwrap();
        let folder = DemoFolder::within(data.path());
        assert!(folder.names().is_empty());
        let small = folder.of("demo-small");
        fs::write(small.file().unwrap(), "").unwrap();
        for other in ["mine", "demo-UPPER", "demo-a.b", "demo-site"] {
            fs::create_dir(data.path().join("demo").join(other)).unwrap();
        }
        assert_eq!(folder.names(), ["demo-small"]);
        let foreign = data.path().join("demo/demo-small/notes");
        fs::write(&foreign, "").unwrap();
        assert!(small.remove().is_err());
        assert!(
            foreign.exists(),
            "a folder of another program must not be removed"
        );
        fs::remove_file(foreign).unwrap();
        small.remove().unwrap();
        assert!(folder.names().is_empty());
    }
}
