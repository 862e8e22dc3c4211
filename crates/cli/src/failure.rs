//! The one edge at which errors become a sentence on standard error and an exit code.

use std::error::Error;
use std::process::ExitCode;

use crate::client::CallError;
use crate::config::ConfigError;
use crate::kubeconfig::KubeconfigError;
use crate::terminal::{AskError, PrintError};
use crate::trust::TrustError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server could not be asked, or said no.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The file of logins cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server's certificate is not trusted.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A person's answer could not be had.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The output could not be written.
    #[error(transparent)]
    Print(#[from] PrintError),
    /// A kubeconfig could not be written or merged.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// The command line asks for something that makes no sense together.
    #[error("{0}")]
    Usage(String),
    /// Nobody is logged in, or not any more.
    #[error("{0}")]
    NotLoggedIn(String),
    /// What was waited for did not come in time.
    #[error("{0}")]
    TimedOut(String),
    /// A file that was named on the command line cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The error of a command outside of this crate, such as `drover server`.
    #[error(transparent)]
    Command(Box<dyn Error + Send + Sync>),
    /// No runtime could be started.
    #[error("cannot start: {0}")]
    Start(#[source] std::io::Error),
    /// What was named is not there.
    #[error("{0}")]
    Absent(String),
    /// Everything else, already a sentence with advice.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// Wraps the error of a command outside of this crate.
    pub fn command(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Command(Box::new(error))
    }

    /// The exit code, as `drover --help` documents it.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Ask(AskError::Nobody { .. }) => 2,
            Self::NotLoggedIn(_) => 3,
            Self::Call(error) => error.exit_code(),
            Self::Absent(_) => 5,
            Self::Trust(_) => 6,
            Self::TimedOut(_) => 7,
            Self::Print(PrintError::ReaderGone) => 141,
            _ => 1,
        }
    }

    /// The message with what is below it, as far as it says more.
    pub fn text(&self) -> String {
        let mut text = self.to_string();
        let mut below = self.source();
        while let Some(error) = below {
            let more = error.to_string();
            if !text.contains(&more) {
                text.push_str(": ");
                text.push_str(&more);
            }
            below = error.source();
        }
        text
    }

    /// Says it on standard error and gives the exit code.
    pub fn report(&self) -> ExitCode {
        if !matches!(self, Self::Print(PrintError::ReaderGone)) {
            crate::terminal::notice(&format!(
                "drover: {}",
                crate::table::printable(&self.text())
            ));
        }
        ExitCode::from(self.code())
    }
}
