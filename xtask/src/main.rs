//! The project's recipes: `cargo run -p xtask -- help`.

mod args;
mod build;
mod demo;
mod images;
mod kubernetes;
mod pictures;
mod release;
mod schemas;
mod tokens;
mod weaken;
mod wording;

use std::process::ExitCode;

fn main() -> ExitCode {
    args::run()
}
