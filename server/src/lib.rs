//! The program `drover`: the server's modules, the command line arguments, the web UI's files, and
//! the demo.
//!
//! `wire` creates and connects all modules. `main` only starts the program.

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
