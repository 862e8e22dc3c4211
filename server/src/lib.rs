//! The server: log-in, registration of clusters, the road to them, and the controllers.
//!
//! `wire` builds everything; `main` only starts it.

pub mod args;
pub mod audit;
pub mod backoff;
pub mod cli;
pub mod controllers;
pub mod demo;
pub mod hub;
pub mod identity;
pub mod listen;
pub mod networks;
pub mod proxy;
pub mod registration;
pub mod rest;
pub mod routes;
pub mod settings;
pub mod status;
pub mod telemetry;
pub mod tunnels;
mod turns;
pub mod ui;
pub mod wire;
