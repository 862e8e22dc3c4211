//! The server: login, registration of clusters, the proxy to clusters, and the controllers.
//!
//! `wire` builds everything; `main` only starts it.

pub mod args;
#[cfg(feature = "server")]
pub mod controllers;
#[cfg(feature = "server")]
pub mod demo;
#[cfg(feature = "server")]
pub mod memory;
#[cfg(feature = "server")]
pub mod program;
#[cfg(feature = "server")]
pub mod ui;
#[cfg(feature = "server")]
pub mod wire;
