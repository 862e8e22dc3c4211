//! Why there is no page.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a build of the page ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BundleError {
    /// A file could not be read or written.
    #[error("{doing} {path}", path = path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("start {program}: {install}")]
    Start {
        /// Its name.
        program: &'static str,
        /// What to install.
        install: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A program refused; it has said why.
    #[error("{program} failed ({status})")]
    Failed {
        /// Its name.
        program: &'static str,
        /// How it ended.
        status: ExitStatus,
    },
    /// The program in WebAssembly has no JavaScript to live beside.
    #[error("wasm-bindgen: {0}")]
    Bindgen(String),
    /// A template asks for something that no step makes, or lacks something that one does.
    #[error("{template} {problem}")]
    Template {
        /// The template's name.
        template: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

impl BundleError {
    /// Names the file that an error is about.
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
