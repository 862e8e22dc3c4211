//! The executable of the node agent.

use std::process::ExitCode;

use clap::Parser as _;
use drover_node_agent::args::Args;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match drover_node_agent::wire::main(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("drover-node-agent: {error}");
            ExitCode::FAILURE
        }
    }
}
