//! Errors of commands, with their message and exit code.

use std::error::Error;
use std::process::ExitCode;

use crate::client::CallError;
use crate::config::ConfigError;
use crate::kubeconfig::KubeconfigError;
use crate::terminal::{AskError, PrintError};
use crate::trust::TrustError;

/// The error of a command.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A request failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The login file cannot be read or written.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server's certificate is not trusted.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The command cannot ask the user for a value.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The output cannot be written.
    #[error(transparent)]
    Print(#[from] PrintError),
    /// A kubeconfig cannot be written or merged.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    /// The CLI has no stored login, or the stored login has expired.
    #[error("{0}")]
    NotLoggedIn(String),
    /// The wait for a condition timed out.
    #[error("{0}")]
    TimedOut(String),
    /// A file that the command line names cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Path of the file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The error of a command outside of this crate, such as `drover server`.
    #[error(transparent)]
    Command(Box<dyn Error + Send + Sync>),
    /// The runtime cannot be started.
    #[error("cannot start the program: {cause}", cause = .0)]
    Start(#[source] std::io::Error),
    /// An object or file does not exist.
    #[error("{0}")]
    Absent(String),
    /// The mode of the terminal cannot be changed.
    #[error("cannot change the mode of the terminal: {cause}", cause = .0)]
    Terminal(#[source] std::io::Error),
    /// A remote command ended with an exit code that is not 0.
    #[error("{message}")]
    RemoteExit {
        /// The exit code of the remote command.
        code: u8,
        /// Description of the end of the command.
        message: String,
    },
    /// Compared objects differ.
    #[error("{0}")]
    Differences(String),
    /// A command failure without a separate variant. The message contains the next step.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// Wraps the error of a command outside of this crate.
    pub fn command(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Command(Box::new(error))
    }

    /// Returns the exit code. `drover --help` documents the exit codes.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Ask(AskError::NotInteractive { .. }) => 2,
            Self::RemoteExit { code, .. } => *code,
            Self::NotLoggedIn(_) => 3,
            Self::Call(error) => error.exit_code(),
            Self::Absent(_) => 5,
            Self::Trust(_) => 6,
            Self::TimedOut(_) => 7,
            Self::Differences(_) => 8,
            Self::Print(PrintError::ClosedPipe) => 141,
            _ => 1,
        }
    }

    /// Returns the error message, followed by the messages of the error's sources. Skips sources
    /// whose message the text already contains.
    pub fn text(&self) -> String {
        let mut text = self.to_string();
        let mut source = self.source();
        while let Some(error) = source {
            let more = error.to_string();
            if !text.contains(&more) {
                text.push_str(": ");
                text.push_str(&more);
            }
            source = error.source();
        }
        text
    }

    /// Prints the message to standard error and returns the exit code.
    pub fn report(&self) -> ExitCode {
        if !matches!(self, Self::Print(PrintError::ClosedPipe)) {
            crate::terminal::notice(&format!(
                "drover: {}",
                crate::table::printable(&self.text())
            ));
        }
        ExitCode::from(self.code())
    }
}
