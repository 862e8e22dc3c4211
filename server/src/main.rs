//! The program `drover`.

use std::process::ExitCode;

#[cfg(feature = "server")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    drover_server::program::main()
}
