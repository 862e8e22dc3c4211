//! `drover-bench`: what `make bench-NAME` runs.

mod args;
mod backend;
mod certificate;
mod figures;
mod fleet;
mod load;
mod machine;
mod process;
mod road;

use std::process::ExitCode;

fn main() -> ExitCode {
    args::run()
}
