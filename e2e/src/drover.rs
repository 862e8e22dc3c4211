//! Drover's own programs, started the way that people start them.

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

/// Why one of Drover's programs did not start or could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum DroverError {
    /// It has not been built.
    #[error(transparent)]
    Missing(#[from] MissingProgram),
    /// There is no free port.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// It did not run as it should.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A command refused.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A file or folder could not be made, read or written.
    #[error("prepare {path}")]
    Prepare {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Something did not happen in time.
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    /// A client could not be made.
    #[error("make a client of {url}")]
    Client {
        /// Of what.
        url: String,
        /// What the library said.
        source: Box<kube::Error>,
    },
    /// An answer is not what it should be.
    #[error("{what} is not readable: {text}")]
    Unreadable {
        /// Of what.
        what: &'static str,
        /// The beginning of it.
        text: String,
    },
}

fn prepare(path: &std::path::Path) -> impl FnOnce(io::Error) -> DroverError {
    move |source| DroverError::Prepare {
        path: path.to_owned(),
        source,
    }
}
