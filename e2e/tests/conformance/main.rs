//! Compares the embedded API with a real kube-apiserver. The test runs the same scripts on both
//! servers.
//!
//! Run the test with `cargo test --workspace --test conformance -- [--scripts FOLDER]
//! [--write-table] [NAME…]`

mod command;
mod embedded;
mod report;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
