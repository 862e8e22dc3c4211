//! The command line client: the commands of `drover` that call a server.
//!
//! Standard output contains only the result of a command. All other text goes to standard error. A
//! command prints a secret only if the secret is its result.

pub mod args;
mod client;
mod commands;
mod completion;
mod config;
mod environment;
mod failure;
pub mod jsonpath;
mod kubeconfig;
mod kubernetes;
mod output;
mod platform;
mod table;
mod terminal;
mod trust;
mod wait;

pub use client::{CallError, Refusal};
pub use commands::{MissingValues, Program, chart_values, run, safe_line};
pub use completion::{complete_for_kubectl, complete_for_shell};
pub use config::ConfigError;
pub use environment::Environment;
pub use failure::Failure;
pub use kubeconfig::KubeconfigError;
pub use output::{Page, one};
pub use table::describe;
pub use terminal::{AskError, PrintError, notice, output_is_terminal, print};
pub use trust::{Fingerprint, TrustError};
