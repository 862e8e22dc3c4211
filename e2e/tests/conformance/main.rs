//! The embedded API beside the real kube-apiserver: both are sent the same scripts.
//!
//! `cargo test --workspace --test conformance -- [--scripts FOLDER] [--write-table] [NAME…]`

mod command;
mod embedded;
mod report;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
