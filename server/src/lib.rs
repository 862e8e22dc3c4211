//! The program `drover`: the server's construction, its arguments, the web UI's files, and the demo.
//!
//! `wire` builds everything; `main` only starts it.

pub mod args;
#[cfg(feature = "server")]
pub mod demo;
#[cfg(feature = "server")]
pub mod memory;
pub mod program;
#[cfg(feature = "server")]
pub mod ui;
#[cfg(feature = "server")]
pub mod wire;
