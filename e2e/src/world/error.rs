//! Errors of the test environment.

use std::io;
use std::path::PathBuf;

use super::images::MissingImage;
use crate::control_plane::StartError;
use crate::drover::MissingProgram;
use crate::kubectl::CommandError;
use crate::monitoring::MetricsError;
use crate::node::JoinError;
use crate::ports::NoFreePort;
use crate::program::ProgramError;
use crate::wait::TimedOut;

/// The reason why the test environment failed.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// A program under test has not been built.
    #[error(transparent)]
    Missing(#[from] MissingProgram),
    /// A container image has not been built.
    #[error(transparent)]
    MissingImage(#[from] MissingImage),
    /// A control plane did not start.
    #[error(transparent)]
    ControlPlane(#[from] StartError),
    /// The node did not become ready.
    #[error(transparent)]
    Node(#[from] JoinError),
    /// metrics-server did not start.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// All ports that tests can lease are in use.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// The server or an agent did not start, or stopped unexpectedly.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A command that a user runs failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A condition was not met before the timeout.
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    /// The output of a program does not contain an expected value.
    #[error("{program} did not print {subject}; it printed:\n{printed}")]
    NotPrinted {
        /// Name of the program.
        program: &'static str,
        /// Description of the expected value.
        subject: &'static str,
        /// Complete output of the program.
        printed: String,
    },
    /// A file of the environment cannot be written or read.
    #[error("cannot prepare {path}")]
    Prepare {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

pub(super) fn prepare(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> WorldError {
    let path = path.into();
    move |source| WorldError::Prepare { path, source }
}
