//! The data folder of the embedded hub.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Name of the hub's folder in the data folder. Only the server's user can access the folder.
const FOLDER: &str = "hub";
/// Name of the folder of git repositories in the data folder.
const REPOSITORIES: &str = "git";
/// Name of the hub's file in the hub's folder.
const FILE: &str = "hub.db";
/// File mode of a folder that only the owner can access.
const PRIVATE: u32 = 0o700;

/// The error of finding or preparing the data folder.
#[derive(Debug, Error)]
pub enum DataDirError {
    /// The environment contains no variable that determines the default data folder.
    #[error(
        "cannot locate the default folder for the server's state: neither $XDG_DATA_HOME nor \
         $HOME is set; set a folder with --data-dir, or a hub with --kubeconfig"
    )]
    NoHome,
    /// The folder cannot be created, or its mode cannot be changed to private.
    #[error("cannot store the server's state in {path}: set a different folder with --data-dir")]
    Folder {
        /// The folder's path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The data folder of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDir(PathBuf);

impl DataDir {
    /// Creates the value for this data folder. Does not access the file system.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Returns the default data folder: `/var/lib/drover` for root, else `drover` in the user's
    /// data folder (XDG Base Directory Specification).
    pub fn of_user(
        root: bool,
        xdg_data_home: Option<&Path>,
        home: Option<&Path>,
    ) -> Result<Self, DataDirError> {
        if root {
            return Ok(Self::new("/var/lib/drover"));
        }
        // The specification requires relative paths to be ignored.
        let absolute = |path: &&Path| path.is_absolute();
        let data = match (xdg_data_home.filter(absolute), home.filter(absolute)) {
            (Some(data), _) => data.to_owned(),
            (None, Some(home)) => home.join(".local/share"),
            (None, None) => return Err(DataDirError::NoHome),
        };
        Ok(Self::new(data.join("drover")))
    }

    /// Returns the path of the data folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Returns the path of the hub's file. The file may not exist.
    pub fn file(&self) -> PathBuf {
        self.0.join(FOLDER).join(FILE)
    }

    /// Returns the path of the folder of git repositories. The folder may not exist.
    pub fn repositories(&self) -> PathBuf {
        self.0.join(REPOSITORIES)
    }

    /// Creates the folders. Makes an existing hub folder private.
    pub fn prepare(&self) -> Result<PathBuf, DataDirError> {
        let folder = self.0.join(FOLDER);
        let created = DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE)
            .create(&folder)
            .and_then(|()| fs::set_permissions(&folder, Permissions::from_mode(PRIVATE)));
        created.map_err(|source| DataDirError::Folder {
            path: folder.clone(),
            source,
        })?;
        Ok(folder.join(FILE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_data_folder_is_var_lib_for_root_and_user_data_for_other_users() {
        let (data, home) = (Path::new("/data"), Path::new("/home/ann"));
        for (root, xdg, home, expected) in [
            (true, Some(data), Some(home), Some("/var/lib/drover")),
            (false, Some(data), Some(home), Some("/data/drover")),
            (
                false,
                Some(Path::new("data")),
                Some(home),
                Some("/home/ann/.local/share/drover"),
            ),
            (
                false,
                None,
                Some(home),
                Some("/home/ann/.local/share/drover"),
            ),
            (false, None, None, None),
            (false, None, Some(Path::new("ann")), None),
        ] {
            let got = DataDir::of_user(root, xdg, home).ok();
            assert_eq!(got, expected.map(DataDir::new), "{root} {xdg:?} {home:?}");
        }
    }

    #[test]
    fn public_hub_folder_is_made_private() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = DataDir::new(folder.path().join("data"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = data_dir.prepare().unwrap();
        let hub = file.parent().unwrap();
        assert_eq!((mode(hub), mode(hub.parent().unwrap())), (0o700, 0o700));
        fs::set_permissions(hub, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(data_dir.prepare().unwrap(), data_dir.file());
        assert_eq!(mode(hub), 0o700);
    }
}
