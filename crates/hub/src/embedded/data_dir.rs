//! Where the embedded hub lies.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Folder of the hub in the data folder; nobody but the server's user gets into it.
const FOLDER: &str = "hub";
/// The hub's file in that folder.
const FILE: &str = "hub.db";
/// Only the owner.
const PRIVATE: u32 = 0o700;

/// Why there is no data_dir.
#[derive(Debug, Error)]
pub enum DataDirError {
    /// Nothing says where data lives.
    #[error(
        "no place for the server's state: name a folder with --data-dir, or a hub with --kubeconfig \
         (by default the folder lies in $XDG_DATA_HOME or $HOME, and neither is set)"
    )]
    NoHome,
    /// The folder cannot be made or made private.
    #[error(
        "cannot keep the server's state in {}: name another folder with --data-dir", path.display()
    )]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The data folder of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDir(PathBuf);

impl DataDir {
    /// In this data folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The default: `/var/lib/drover` for root, else `drover` where the user's data lives
    /// (XDG Base Directory Specification).
    pub fn of_user(
        root: bool,
        xdg_data_home: Option<&Path>,
        home: Option<&Path>,
    ) -> Result<Self, DataDirError> {
        if root {
            return Ok(Self::new("/var/lib/drover"));
        }
        // The specification has relative paths ignored.
        let absolute = |path: &&Path| path.is_absolute();
        let data = match (xdg_data_home.filter(absolute), home.filter(absolute)) {
            (Some(data), _) => data.to_owned(),
            (None, Some(home)) => home.join(".local/share"),
            (None, None) => return Err(DataDirError::NoHome),
        };
        Ok(Self::new(data.join("drover")))
    }

    /// The data folder itself.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The hub's file, whether it is there or not.
    pub fn file(&self) -> PathBuf {
        self.0.join(FOLDER).join(FILE)
    }

    /// Makes the folders, and the hub's own private whatever it was before.
    pub fn prepare(&self) -> Result<PathBuf, DataDirError> {
        let folder = self.0.join(FOLDER);
        let made = DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE)
            .create(&folder)
            .and_then(|()| fs::set_permissions(&folder, Permissions::from_mode(PRIVATE)));
        made.map_err(|source| DataDirError::Folder {
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
    fn the_default_is_the_systems_for_root_and_the_users_for_everybody_else() {
        let (data, home) = (Path::new("/data"), Path::new("/home/ann"));
        for (root, xdg, home, wanted) in [
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
            assert_eq!(got, wanted.map(DataDir::new), "{root} {xdg:?} {home:?}");
        }
    }

    #[test]
    fn the_hubs_folder_is_private_even_where_it_was_open_to_all() {
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
