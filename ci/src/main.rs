//! The program `drover-ci`. `make check` and `make test` start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    drover_ci::command::run()
}
