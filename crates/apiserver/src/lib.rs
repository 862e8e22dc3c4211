//! A Kubernetes API server as a library: an axum router over SQLite.

pub mod access;
pub mod builtin;
pub mod crd;
pub mod discovery;
mod json;
mod jsonpath;
pub mod lifecycle;
pub mod merge;
pub mod names;
pub mod openapi;
pub mod resource;
pub mod schema;
pub mod select;
pub mod serve;
pub mod server;
pub mod status;
pub mod store;
pub mod strategy;
pub mod table;
