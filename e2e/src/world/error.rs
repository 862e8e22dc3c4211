//! Errors of the environment.

use std::io;
use std::path::PathBuf;

use super::images::MissingImage;
use crate::control_plane::StartError;
use crate::drover::MissingProgram;
use crate::kubectl::CommandError;
use crate::metrics_server::MetricsError;
use crate::node::JoinError;
use crate::ports::NoFreePort;
use crate::program::ProgramError;
use crate::wait::TimedOut;

/// The error of the environment.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// A program under test was not built.
    #[error(transparent)]
    Missing(#[from] MissingProgram),
    /// An image was not built.
    #[error(transparent)]
    MissingImage(#[from] MissingImage),
    /// A control plane did not start.
    #[error(transparent)]
    ControlPlane(#[from] StartError),
    /// The node did not join.
    #[error(transparent)]
    Node(#[from] JoinError),
    /// There are no metrics.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// No port is free.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// The server or an agent did not run as it should.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A command of a user failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Something did not come in time.
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    /// A program did not print what a user needs.
    #[error("{program} did not print {what}; it printed:\n{printed}")]
    NotPrinted {
        /// The program.
        program: &'static str,
        /// What was missing.
        what: &'static str,
        /// What it printed instead.
        printed: String,
    },
    /// A file of the world could not be written or read.
    #[error("cannot prepare {path}")]
    Prepare {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

pub(super) fn prepare(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> WorldError {
    let path = path.into();
    move |source| WorldError::Prepare { path, source }
}
