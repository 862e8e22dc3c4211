//! What can go wrong with a control plane.

use std::io;
use std::path::PathBuf;

use crate::pki::PkiError;
use crate::ports::NoFreePort;
use crate::program::ProgramError;
use crate::scratch::ScratchError;
use crate::tools::BuildError;

/// Why a control plane did not start or could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A Kubernetes program could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A certificate could not be made.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// There is no temporary folder.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// There is no free port.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// A program did not run as it should.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A fixed folder's cluster runs already.
    #[error("port {port}, which {folder} remembers, is in use: is this cluster running already?")]
    PortInUse {
        /// The port.
        port: u16,
        /// The cluster's folder.
        folder: PathBuf,
    },
    /// A file or folder could not be made, read or written.
    #[error("prepare {path}")]
    Prepare {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The ports that a fixed folder remembers are damaged.
    #[error("read the ports in {path}; remove that file to choose new ones")]
    ReadPorts {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The audit log holds something else than audit events.
    #[error("read line {line} of the audit log")]
    ReadAudit {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The kubeconfig made here does not suit the client library.
    #[error("make the administrator's client from its kubeconfig")]
    Kubeconfig(#[source] kube::config::KubeconfigError),
    /// The client library refused the configuration.
    #[error("make the administrator's client")]
    Client(#[source] kube::Error),
    /// The cluster was started without a scheduler.
    #[error("this control plane has no scheduler: start it with `scheduler: true`")]
    NoScheduler,
}
