//! Kubeconfigs and addresses of API servers from untrusted users.
//!
//! *Owns* the check of a kubeconfig that a user stores on the hub: it contains only embedded data, so that
//! its use reads no file and starts no program of this machine. *Never* opens a connection or a file.

mod address;
mod file;
mod url;

pub use address::{ForbiddenAddress, check_address};
pub use drover_addresses::Loopback;
pub use file::{Access, Authorization, ClientCertificate, KubeconfigError, parse};
pub use url::{HttpsUrl, HttpsUrlError};
