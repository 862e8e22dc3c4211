//! Drover as programs, with agents beside the cluster: what needs no pods.

fn main() -> std::process::ExitCode { std::process::ExitCode::SUCCESS }
