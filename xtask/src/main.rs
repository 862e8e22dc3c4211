//! The recipes of the project. Run `cargo run -p xtask -- help` for a list.

mod args;
mod bench;
mod build;
mod compat_fleet;
mod demo;
mod images;
mod instructions;
mod kubernetes;
mod limited;
mod optimized;
mod pictures;
mod print;
mod release;
mod renderer;
mod schemas;
mod tokens;
mod weaken;
mod wording;

use std::process::ExitCode;

fn main() -> ExitCode {
    args::run()
}
