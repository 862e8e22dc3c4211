//! The errors of a build.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// The error that stopped a build of the web UI.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BundleError {
    /// A file cannot be read or written.
    #[error("cannot {operation} {path}", operation = .doing, path = path.display())]
    File {
        /// The failed operation, such as `read`.
        doing: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A program cannot be started.
    #[error("cannot start {program}: {install_instructions}", install_instructions = .install)]
    Start {
        /// The name of the program.
        program: &'static str,
        /// The instructions to install the program.
        install: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A program failed. The program has printed its error.
    #[error("{program} failed ({status})")]
    Failed {
        /// The name of the program.
        program: &'static str,
        /// The exit status of the program.
        status: ExitStatus,
    },
    /// The program cannot be split into chunks.
    #[error("cannot split the program into chunks: {cause}", cause = .0)]
    Split(String),
    /// The JavaScript module cannot be generated.
    #[error("cannot generate the JavaScript module: {cause}", cause = .0)]
    Bindgen(String),
    /// The placeholders of a template differ from the values for the template.
    #[error("cannot fill the template {template}: {problem}")]
    Template {
        /// The file name of the template.
        template: &'static str,
        /// The placeholder without a value, or the value without a placeholder.
        problem: String,
    },
}

impl BundleError {
    /// Returns a function that adds the operation and the path to an I/O error.
    pub(crate) fn file(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            doing,
            path,
            source,
        }
    }
}
