//! Compares the embedded API with a real kube-apiserver. Both run the same scripts.
//!
//! `cargo test --workspace --test conformance -- [--scripts FOLDER] [--write-table] [NAME…]`

mod command;
mod embedded;
mod report;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
