//! The cluster agent: dials the server, and serves requests on that connection.
//!
//! *Owns* the cluster's key, its registration, the check of every tunnelled request, and the
//! report. *Never* takes a credential or an address from the server, and never forwards to
//! anything but the API server of its own cluster.

pub mod args;
pub mod connect;
pub mod health;
pub mod key;
pub mod lanes;
pub mod memory;
pub mod registration;
pub mod report;
pub mod server;
pub mod status;
pub mod upstream;
pub mod wire;
