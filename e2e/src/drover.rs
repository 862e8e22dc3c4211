//! Runs Drover's programs with the commands that users run.

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

/// The reason why a program of Drover failed.
#[derive(Debug, thiserror::Error)]
pub enum DroverError {
    /// A program of Drover has not been built.
    #[error(transparent)]
    Missing(#[from] MissingProgram),
    /// All ports that tests can lease are in use.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// The server or an agent failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A command of the Drover CLI failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A file or folder cannot be created, read or written.
    #[error("cannot prepare {path}")]
    Prepare {
        /// Path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A condition was not met before the timeout.
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    /// A client cannot be created.
    #[error("cannot create a client of {url}")]
    Client {
        /// The URL of the server.
        url: String,
        /// Error of the client library.
        source: Box<kube::Error>,
    },
    /// The output of a program cannot be parsed.
    #[error("cannot parse {subject}: {text}")]
    Unreadable {
        /// Description of the value that the output should contain.
        subject: &'static str,
        /// First characters of the program's output.
        text: String,
    },
}

fn prepare(path: &std::path::Path) -> impl FnOnce(io::Error) -> DroverError {
    move |source| DroverError::Prepare {
        path: path.to_owned(),
        source,
    }
}
