//! The executable of the cluster agent.

use std::process::ExitCode;

use clap::Parser as _;
use drover_agent::args::Args;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match drover_agent::wire::main(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("drover-agent: {error}");
            ExitCode::FAILURE
        }
    }
}
