//! The program `drover-instructions`, whose instructions `xtask instructions` counts with valgrind.

mod headers;
mod measure;
mod permits;
mod roles;
mod tunnel;
mod watches;
mod work;

fn main() -> std::process::ExitCode {
    measure::run()
}
