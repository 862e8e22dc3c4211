//! The hub of an environment: a separate control plane, or the embedded hub.

use std::path::{Path, PathBuf};

use super::error::{WorldError, prepare};
use super::{Server, TestUser};
use crate::control_plane::{ControlPlane, Options};
use crate::kubectl::{CommandError, CommandLine, Output};
use crate::scratch::Scratch;
use crate::tools::Tool;

/// The hub of an environment. The environment variable `DROVER_TEST_HUB=embedded` selects the
/// embedded hub.
#[derive(Debug)]
pub enum Hub {
    /// A separate control plane.
    Kubernetes(Box<ControlPlane>),
    /// The embedded hub in the process of the server.
    Embedded(EmbeddedHub),
}

/// The folder of an embedded hub, and kubectl for the cluster `local`.
#[derive(Debug)]
pub struct EmbeddedHub {
    folder: Scratch,
    kubectl: PathBuf,
}

impl Hub {
    /// Starts the hub that `DROVER_TEST_HUB` selects.
    pub(super) async fn start() -> Result<Self, WorldError> {
        if std::env::var("DROVER_TEST_HUB").as_deref() != Ok("embedded") {
            let options = Options {
                name: "hub".to_owned(),
                ..Options::default()
            };
            return Ok(Self::Kubernetes(Box::new(
                ControlPlane::start(options).await?,
            )));
        }
        Self::embedded().await
    }

    /// Creates a folder for the state of an embedded hub.
    pub async fn embedded() -> Result<Self, WorldError> {
        let folder = Scratch::make("hub").map_err(crate::control_plane::StartError::from)?;
        let kubectl = Tool::Kubectl
            .locate()
            .await
            .map_err(crate::control_plane::StartError::from)?;
        let hub = EmbeddedHub { folder, kubectl };
        for created in [
            hub.folder.path().join("logs"),
            hub.folder.path().join("home"),
        ] {
            std::fs::create_dir_all(&created).map_err(prepare(&created))?;
        }
        Ok(Self::Embedded(hub))
    }

    /// Returns the control plane of an external hub. Returns `None` for an embedded hub.
    pub fn control_plane(&mut self) -> Option<&mut ControlPlane> {
        match self {
            Self::Kubernetes(hub) => Some(hub),
            Self::Embedded(_) => None,
        }
    }

    /// Returns the folder of the hub, in which the environment also stores its own files.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Kubernetes(hub) => hub.folder(),
            Self::Embedded(hub) => hub.folder.path(),
        }
    }

    /// Returns the folder of the log files. Each program has one log file.
    pub fn logs(&self) -> PathBuf {
        match self {
            Self::Kubernetes(hub) => hub.logs(),
            Self::Embedded(hub) => hub.folder.path().join("logs"),
        }
    }

    fn kubeconfig(&self) -> PathBuf {
        match self {
            Self::Kubernetes(hub) => hub.kubeconfig_path().to_owned(),
            Self::Embedded(hub) => hub.folder.path().join("local.yaml"),
        }
    }

    /// Returns the server's arguments that select the hub.
    pub(super) fn arguments(&self) -> [std::ffi::OsString; 2] {
        match self {
            Self::Kubernetes(_) => ["--kubeconfig".into(), self.kubeconfig().into()],
            Self::Embedded(hub) => ["--data-dir".into(), hub.folder.path().join("data").into()],
        }
    }

    /// Returns a kubectl command for the hub. For an external hub, kubectl connects directly as the
    /// administrator. For an embedded hub, kubectl connects through the server to the cluster
    /// `local`.
    pub fn command_line(&self) -> CommandLine {
        match self {
            Self::Kubernetes(hub) => hub.command_line(),
            Self::Embedded(hub) => {
                let home = hub.folder.path().join("home");
                CommandLine::new(&hub.kubectl, &self.kubeconfig(), &home)
            }
        }
    }

    /// Runs kubectl on the hub. Returns an error if the exit code is not 0.
    pub async fn kubectl<A: AsRef<str>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Output, CommandError> {
        self.command_line().run(arguments).await
    }

    /// Writes a kubeconfig for the cluster `local` of an embedded hub. The kubeconfig contains a
    /// credential of the administrator.
    pub(super) async fn open_to(
        &self,
        admin: &TestUser,
        server: &Server,
    ) -> Result<(), WorldError> {
        if let Self::Kubernetes(_) = self {
            return Ok(());
        }
        let words = ["token", "create", "--description=hub", "--output=json"];
        let created = admin.drover().run(words).await?.stdout;
        let created: serde_json::Value = serde_json::from_str(&created).unwrap_or_default();
        let token = created["token"].as_str().ok_or(WorldError::NotPrinted {
            program: "drover token create",
            subject: "a token",
            printed: String::new(),
        })?;
        let url = format!("{}/k8s/clusters/local", server.url());
        // This connection skips certificate checks. Other tests check the server's certificate.
        let text = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "local",
            "clusters": [{ "name": "local", "cluster": {
                "server": url, "insecure-skip-tls-verify": true,
            } }],
            "users": [{ "name": "admin", "user": { "token": token } }],
            "contexts": [{ "name": "local", "context": { "cluster": "local", "user": "admin" } }],
        });
        let path = self.kubeconfig();
        std::fs::write(&path, text.to_string()).map_err(prepare(&path))
    }
}
