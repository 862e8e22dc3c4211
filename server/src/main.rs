//! The program `drover`.

use std::process::ExitCode;

#[cfg(feature = "server")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    drover_server::program::main()
}
