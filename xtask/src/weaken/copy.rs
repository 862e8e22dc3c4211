//! A copy of the repository's sources, to which the patches are applied.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::patch::Patch;
use crate::build::{root, target};

/// The reason why the copy cannot be created or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    /// git cannot be started.
    #[error("cannot start git")]
    StartGit(#[source] io::Error),
    /// git does not manage this folder.
    #[error("cannot list the sources with git: {cause}", cause = .0)]
    List(String),
    /// A file cannot be copied or removed.
    #[error("cannot {operation} {path}")]
    File {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A patch does not apply.
    #[error("cannot apply {patch}: the sources have changed, so create the patch again\n{output}")]
    DoesNotApply { patch: String, output: String },
}

/// A copy of the sources, including uncommitted changes. The copy writes only files that differ, at
/// a constant path. Cargo therefore compiles only the files that a patch changes.
pub(super) struct Copy {
    root: PathBuf,
    files: BTreeSet<String>,
}

impl Copy {
    pub(super) fn of_sources() -> Result<Self, CopyError> {
        let output = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(root())
            .output()
            .map_err(CopyError::StartGit)?;
        if !output.status.success() {
            return Err(CopyError::List(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            ));
        }
        let files = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter(|file| root().join(file).is_file())
            .map(str::to_owned)
            .collect();
        let copy = Self {
            root: target().join("weaken"),
            files,
        };
        copy.remove_others(&copy.root)?;
        copy.restore()?;
        Ok(copy)
    }

    /// Returns the folder of the copy.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the paths of the files.
    pub(super) fn files(&self) -> &BTreeSet<String> {
        &self.files
    }

    /// Restores every file of the copy from the sources.
    pub(super) fn restore(&self) -> Result<(), CopyError> {
        for file in &self.files {
            let (from, to) = (root().join(file), self.root.join(file));
            let expected = fs::read(&from).map_err(failed("read", &from))?;
            if fs::read(&to).is_ok_and(|present| present == expected) {
                continue;
            }
            let folder = to.parent().unwrap_or(&self.root);
            fs::create_dir_all(folder).map_err(failed("create", folder))?;
            fs::write(&to, expected).map_err(failed("write", &to))?;
        }
        Ok(())
    }

    /// Applies a patch. [`Copy::restore`] reverts the patch.
    pub(super) fn apply(&self, patch: &Patch) -> Result<(), CopyError> {
        let mut git = Command::new("git")
            .args(["apply", "--whitespace=nowarn", "-"])
            .current_dir(&self.root)
            // The copy may be inside the repository, but git must treat it as a plain folder.
            .env("GIT_CEILING_DIRECTORIES", target())
            .env_remove("GIT_DIR")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(CopyError::StartGit)?;
        if let Some(mut input) = git.stdin.take() {
            // Ignore errors: git closes its input early when a patch is invalid, and prints the
            // reason.
            let _ = input.write_all(patch.text.as_bytes());
        }
        let output = git.wait_with_output().map_err(CopyError::StartGit)?;
        if output.status.success() {
            return Ok(());
        }
        Err(CopyError::DoesNotApply {
            patch: patch.name.clone(),
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Removes files from the copy that no longer exist in the sources.
    fn remove_others(&self, folder: &Path) -> Result<(), CopyError> {
        let Ok(entries) = fs::read_dir(folder) else {
            return Ok(());
        };
        for entry in entries {
            let path = entry.map_err(failed("list", folder))?.path();
            if path.is_dir() {
                self.remove_others(&path)?;
            } else if !path
                .strip_prefix(&self.root)
                .is_ok_and(|name| self.files.contains(&*name.to_string_lossy()))
            {
                fs::remove_file(&path).map_err(failed("remove", &path))?;
            }
        }
        Ok(())
    }
}

fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CopyError {
    move |source| CopyError::File {
        operation,
        path: path.to_owned(),
        source,
    }
}
