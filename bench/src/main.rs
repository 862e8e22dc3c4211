//! The program `drover-bench`, which `make bench-NAME` runs.

mod access;
mod administrator;
mod api;
mod args;
mod backend;
mod certificate;
mod figures;
mod fleet;
mod hub;
mod load;
mod meter;
mod process;
mod proxy;
mod scale;
mod ui;

/// The same allocator as in the program `drover`, whose library some benchmarks measure.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    args::run()
}
