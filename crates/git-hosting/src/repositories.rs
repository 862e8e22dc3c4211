//! The folder of the repositories.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::process::Command;

use crate::git;
use crate::name::RepositoryName;

/// Name of the empty folder, which is the home folder of git and the folder of its hooks.
const EMPTY: &str = ".empty";
/// Beginning of the names of folders that contain a new repository until it is complete.
const UNFINISHED: &str = ".new-";
/// Timeout of each git command that creates a repository.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The folder of the repositories cannot be used.
#[derive(Debug, Error)]
#[error("cannot use the folder of git repositories {path}: check its owner and mode")]
pub struct OpenError {
    path: PathBuf,
    source: io::Error,
}

/// The reason why a repository was not created.
#[derive(Debug, Error)]
pub enum CreateError {
    /// A repository with this name exists.
    #[error("the repository {name} already exists: choose another name", name = .0)]
    Exists(RepositoryName),
    /// The program git is not installed.
    #[error("the program git is not installed: install git on the server's machine")]
    NoGit,
    /// The path of a file in the first commit is not a relative path without `..`.
    #[error("the path {path:?} of a file is not a relative path without \"..\"", path = .0)]
    Path(String),
    /// A folder cannot be created, written or renamed.
    #[error("cannot write the repository {name}: check the disk of the server's data folder")]
    Disk {
        /// The name of the repository.
        name: RepositoryName,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A git command failed.
    #[error("\"git {operation}\" failed for the repository {name}: {problem}")]
    Git {
        /// The failed git command.
        operation: &'static str,
        /// The name of the repository.
        name: RepositoryName,
        /// The first line of the command's error output.
        problem: String,
    },
}

/// The first commit of a new repository, on the branch `main`.
#[derive(Clone, Copy, Debug)]
pub struct InitialCommit<'a> {
    /// Relative paths and contents of the files.
    pub files: &'a [(&'a str, &'a str)],
    /// Name of the author and committer.
    pub author: &'a str,
    /// E-mail address of the author and committer.
    pub email: &'a str,
    /// Message of the commit.
    pub message: &'a str,
}

/// The bare repositories in a folder: `FOLDER/NAME.git`. Clones share the folder.
#[derive(Clone, Debug)]
pub struct Repositories {
    folder: Arc<Path>,
}

impl Repositories {
    /// Creates the folder if necessary, and removes repositories whose creation was interrupted.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, OpenError> {
        let path = folder.into();
        let opened = prepare(&path);
        match opened {
            Ok(()) => Ok(Self {
                folder: path.into(),
            }),
            Err(source) => Err(OpenError { path, source }),
        }
    }

    /// Returns the names of all repositories in alphabetical order.
    pub fn list(&self) -> io::Result<Vec<RepositoryName>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let name = name.to_str().map(RepositoryName::from_segment);
            names.extend(name.and_then(Result::ok));
        }
        names.sort();
        Ok(names)
    }

    /// Reports whether a repository exists.
    pub fn contains(&self, name: &RepositoryName) -> bool {
        self.path(name).is_dir()
    }

    /// Creates an empty repository with the default branch `main`.
    pub async fn create(&self, name: &RepositoryName) -> Result<(), CreateError> {
        self.create_with(name, None).await
    }

    /// Creates a repository with the default branch `main` and an optional first commit. A
    /// repository becomes visible when it is complete.
    pub async fn create_with(
        &self,
        name: &RepositoryName,
        commit: Option<InitialCommit<'_>>,
    ) -> Result<(), CreateError> {
        if self.contains(name) {
            return Err(CreateError::Exists(name.clone()));
        }
        let unfinished = Unfinished::create(&self.folder).map_err(|source| disk(name, source))?;
        let done = self.fill(name, &unfinished, commit).await;
        let renamed = match done {
            // The rename fails if another task has created the same repository meanwhile, because
            // the folder of a repository is never empty.
            Ok(()) => fs::rename(unfinished.repository(), self.path(name)),
            Err(error) => return Err(error),
        };
        match renamed {
            Ok(()) => Ok(()),
            Err(_) if self.contains(name) => Err(CreateError::Exists(name.clone())),
            Err(source) => Err(disk(name, source)),
        }
    }

    async fn fill(
        &self,
        name: &RepositoryName,
        unfinished: &Unfinished,
        commit: Option<InitialCommit<'_>>,
    ) -> Result<(), CreateError> {
        let run = async |operation: &'static str, command: &mut Command| {
            run(name, operation, command).await
        };
        let mut init = self.command(&[]);
        init.args([
            "init",
            "--quiet",
            "--bare",
            "--template=",
            "--initial-branch=main",
        ]);
        run("init", init.arg(unfinished.repository())).await?;
        let Some(commit) = commit else {
            return Ok(());
        };
        unfinished.write(name, commit.files)?;
        let author = [
            ("user.name", commit.author),
            ("user.email", commit.email),
            ("commit.gpgSign", "false"),
        ];
        let in_files = || {
            let mut command = self.command(&author);
            command.env("GIT_DIR", unfinished.repository());
            command.env("GIT_WORK_TREE", unfinished.files());
            command
        };
        run(
            "add",
            in_files()
                .args(["add", "--all", "--force", "."])
                .current_dir(unfinished.files()),
        )
        .await?;
        let message = format!("--message={}", commit.message);
        run("commit", in_files().args(["commit", "--quiet", &message])).await?;
        // A bare repository has no index.
        let _ = fs::remove_file(unfinished.repository().join("index"));
        Ok(())
    }

    pub(crate) fn command(&self, settings: &[(&str, &str)]) -> Command {
        git::command(&self.folder, &self.folder.join(EMPTY), settings)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, name: &RepositoryName) -> PathBuf {
        self.folder.join(name.segment())
    }
}

fn prepare(folder: &Path) -> io::Result<()> {
    let create = |folder: &Path| DirBuilder::new().recursive(true).mode(0o700).create(folder);
    create(folder)?;
    let empty = folder.join(EMPTY);
    // A file in this folder would be a configuration or a hook.
    match fs::remove_dir_all(&empty) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => create(&empty)?,
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn disk(name: &RepositoryName, source: io::Error) -> CreateError {
    CreateError::Disk {
        name: name.clone(),
        source,
    }
}

/// The folder of a repository that is not complete. Dropping the value removes the folder.
struct Unfinished(PathBuf);

impl Unfinished {
    fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("{UNFINISHED}{}", uuid::Uuid::new_v4()));
        let this = Self(path);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(this.files())?;
        Ok(this)
    }

    fn repository(&self) -> PathBuf {
        self.0.join("repository")
    }

    fn files(&self) -> PathBuf {
        self.0.join("files")
    }

    fn write(&self, name: &RepositoryName, files: &[(&str, &str)]) -> Result<(), CreateError> {
        for (path, content) in files {
            let plain = |part| matches!(part, std::path::Component::Normal(_));
            if !Path::new(path).components().all(plain) {
                return Err(CreateError::Path((*path).to_owned()));
            }
            let file = self.files().join(path);
            let written = file
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&file, content));
            written.map_err(|source| disk(name, source))?;
        }
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // The next start of the server removes a folder that remains.
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn run(
    name: &RepositoryName,
    operation: &'static str,
    command: &mut Command,
) -> Result<(), CreateError> {
    let failed = |problem: String| CreateError::Git {
        operation,
        name: name.clone(),
        problem,
    };
    let running = command.stdin(Stdio::null()).output();
    match tokio::time::timeout(TIMEOUT, running).await {
        Ok(Ok(output)) if output.status.success() => Ok(()),
        Ok(Ok(output)) => Err(failed(problem(&output))),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => Err(CreateError::NoGit),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("no result within {} s", TIMEOUT.as_secs()))),
    }
}

fn problem(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map_or_else(|| output.status.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
