//! Compares two Kubernetes API servers. The same request scripts run on both servers. The responses
//! must be equal after UIDs, times, versions and generated names are normalized.
//!
//! `e2e/conformance/README.md` describes the scripts. This module does not start the servers:
//! [`Pair`] contains two [`Side`]s.

mod accepted;
mod answer;
mod cells;
mod client;
mod difference;
mod normal;
mod place;
mod run;
mod script;
mod streams;
mod substitute;

pub use accepted::{Accepted, AcceptedError, MAX_ACCEPTED, UnacceptedDifferences};
pub use cells::{Cells, CellsError};
pub use client::{Credential, Side, SideError};
pub use difference::Difference;
pub use run::{Outcome, Pair, RunError};
pub use script::{Script, ScriptError, load};

use std::path::{Path, PathBuf};

/// Returns the folder with the scripts, the list of features and the list of accepted differences.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}
