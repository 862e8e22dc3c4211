//! Users of Drover. Each user has a separate home folder.

use std::path::{Path, PathBuf};

use super::error::{WorldError, prepare};
use crate::drover::Programs;
use crate::kubectl::CommandLine;

/// A user with a password and a home folder. After the first login, the home folder contains a
/// stored login.
#[derive(Clone, Debug)]
pub struct TestUser {
    /// The user name, which the login requires.
    pub name: String,
    /// The current password of the user.
    pub password: String,
    home: PathBuf,
    drover: CommandLine,
    kubectl: CommandLine,
}

impl TestUser {
    /// Creates a user with an existing password and a new home folder in `folder`.
    ///
    /// `kubectl` is the path of the user's kubectl program. The search path of kubectl contains
    /// `drover`.
    pub fn new(
        name: &str,
        password: &str,
        folder: &Path,
        kubectl: &CommandLine,
    ) -> Result<Self, WorldError> {
        let home = folder.join(name);
        std::fs::create_dir_all(&home).map_err(prepare(&home))?;
        let program = Programs::find()?.drover;
        let kubeconfig = home.join(".kube/config");
        let path = std::env::join_paths(program.parent().map(Path::to_owned).into_iter().chain(
            std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()),
        ))
        .unwrap_or_default();
        let drover = CommandLine::new(&program, &kubeconfig, &home);
        let kubectl = kubectl
            .clone()
            .with_kubeconfig(&kubeconfig)
            .env("HOME", &home)
            .env("PATH", path);
        Ok(Self {
            name: name.to_owned(),
            password: password.to_owned(),
            home,
            drover,
            kubectl,
        })
    }

    /// Returns the user's home folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns a `drover` command with the user's home folder.
    pub fn drover(&self) -> CommandLine {
        self.drover.clone()
    }

    /// Returns a kubectl command with the kubeconfig in the user's home folder. `drover cluster
    /// kubeconfig --merge` has written this kubeconfig.
    pub fn kubectl(&self) -> CommandLine {
        self.kubectl.clone()
    }

    /// Returns the user's kubectl with the kubeconfig at this path.
    pub fn kubectl_with(&self, kubeconfig: &Path) -> CommandLine {
        self.kubectl.clone().with_kubeconfig(kubeconfig)
    }

    /// Logs the user in for the first time. Changes the password, because the first login requires
    /// a change.
    pub async fn log_in_first(
        &mut self,
        url: &str,
        fingerprint: &str,
        new_password: &str,
    ) -> Result<(), WorldError> {
        let typed = format!("{}\n{new_password}\n", self.password);
        self.drover
            .clone()
            .with_stdin(typed)
            .run([
                "login",
                url,
                "--username",
                &self.name,
                "--ca-fingerprint",
                fingerprint,
                "--password-stdin",
                "--new-password-stdin",
            ])
            .await?;
        new_password.clone_into(&mut self.password);
        Ok(())
    }

    /// Creates a kubeconfig with a token for one cluster. Writes the kubeconfig to a new file and
    /// returns its path.
    pub async fn token_kubeconfig(&self, cluster: &str) -> Result<PathBuf, WorldError> {
        let file = (0..1000)
            .map(|number| self.home.join(format!("{cluster}-{number}.yaml")))
            .find(|file| !file.exists())
            .unwrap_or_default();
        let path = file.display().to_string();
        self.drover
            .run([
                "cluster",
                "kubeconfig",
                cluster,
                "--credential=token",
                "--output-file",
                &path,
            ])
            .await?;
        Ok(file)
    }
}
