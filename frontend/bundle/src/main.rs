//! The build tool of `make ui`. Builds the web UI into `frontend/dist`.

mod compile;
mod dist;
mod error;
mod folders;
mod node;
mod page;
mod recipe;

use std::process::ExitCode;

fn main() -> ExitCode {
    recipe::run()
}
