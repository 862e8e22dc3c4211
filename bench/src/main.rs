//! The program `drover-bench`, which `make bench-NAME` runs.

mod access;
mod administrator;
mod api;
mod args;
mod backend;
mod calls;
mod certificate;
mod failover;
mod figures;
mod gitops;
mod hub;
mod limits;
mod load;
mod manifest;
mod meter;
mod process;
mod proxy;
mod scale;
mod ui;

/// The allocator of the program `drover`. Some benchmarks measure the library of `drover` in this
/// process.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    args::run()
}
