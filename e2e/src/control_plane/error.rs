//! Errors of a control plane.

use std::io;
use std::path::PathBuf;

use crate::kubectl::CommandError;
use crate::pki::PkiError;
use crate::ports::NoFreePort;
use crate::program::ProgramError;
use crate::scratch::ScratchError;
use crate::tools::BuildError;
use crate::wait::TimedOut;

/// The reason why a control plane cannot start or failed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A Kubernetes program cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A certificate cannot be created.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// A temporary folder cannot be created.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// All ports that tests can lease are in use.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// A program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A control plane is already running in the same folder.
    #[error(
        "cannot use port {port} of {folder}: the port is in use; check whether this cluster is already running"
    )]
    PortInUse {
        /// The port that is already in use.
        port: u16,
        /// Path of the control plane's folder.
        folder: PathBuf,
    },
    /// A file or folder cannot be created, read or written.
    #[error("cannot prepare {path}")]
    Prepare {
        /// Path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file with the stored ports cannot be parsed.
    #[error("cannot read the ports in {path}; remove that file to choose new ones")]
    ReadPorts {
        /// Path of the file.
        path: PathBuf,
        /// Error of the parser of the ports.
        source: serde_json::Error,
    },
    /// The audit log cannot be parsed.
    #[error("cannot read line {line} of the audit log")]
    ReadAudit {
        /// Number of the invalid line. The first line has number 1.
        line: usize,
        /// Error of the JSON parser.
        source: serde_json::Error,
    },
    /// The Kubernetes client library rejects the kubeconfig.
    #[error("cannot create the administrator's client from its kubeconfig")]
    Kubeconfig(#[source] kube::config::KubeconfigError),
    /// The Kubernetes client cannot be created.
    #[error("cannot create the administrator's client")]
    Client(#[source] kube::Error),
    /// etcd rejects a request.
    #[error("cannot read or write the objects in etcd")]
    Store(#[source] reqwest::Error),
    /// The objects of a shared control plane cannot be restored.
    #[error("cannot restore the state of the control plane after its start")]
    Restore(#[source] TimedOut),
    /// A token of a service account cannot be created.
    #[error("cannot create a token of a service account")]
    Token(#[source] Box<CommandError>),
    /// The operation requires a scheduler, but the control plane runs no scheduler.
    #[error("this control plane has no scheduler: start it with `scheduler: true`")]
    NoScheduler,
}
