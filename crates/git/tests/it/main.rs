//! Tests of the worker with real git servers.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod fuzz_corpus;
mod hostile;
mod http;
mod http_server;
mod repository;
mod ssh;
mod ssh_server;
mod submodules;
mod support;
mod worker;
