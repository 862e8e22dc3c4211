//! Drover's programs, started as users start them.

mod agent;
mod demo;
mod login;
mod programs;
mod server;

pub use agent::{Agent, AgentOptions};
pub use demo::{DemoOptions, DemoServer};
pub use programs::{MissingProgram, Programs};
pub use server::{Server, ServerOptions};

use std::io;
use std::path::PathBuf;

use crate::kubectl::CommandError;
use crate::ports::NoFreePort;
use crate::program::ProgramError;
use crate::wait::TimedOut;

/// The error of a program of Drover.
#[derive(Debug, thiserror::Error)]
pub enum DroverError {
    /// The program is not built.
    #[error(transparent)]
    Missing(#[from] MissingProgram),
    /// No port is free.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// The program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A file or folder could not be created, read or written.
    #[error("cannot prepare {path}")]
    Prepare {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A condition was not met in time.
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    /// A client could not be created.
    #[error("cannot create a client of {url}")]
    Client {
        /// The URL of the server.
        url: String,
        /// The error of the library.
        source: Box<kube::Error>,
    },
    /// An output cannot be parsed.
    #[error("cannot parse {what}: {text}")]
    Unreadable {
        /// The subject.
        what: &'static str,
        /// The beginning of the text.
        text: String,
    },
}

fn prepare(path: &std::path::Path) -> impl FnOnce(io::Error) -> DroverError {
    move |source| DroverError::Prepare {
        path: path.to_owned(),
        source,
    }
}
