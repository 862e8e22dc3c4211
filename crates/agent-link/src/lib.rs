//! The connection between an agent and the server, for cluster agents and node agents.
//!
//! *Owns* the agent's key and registration, the connection to the server, the check of every
//! tunnelled request, and the forwarding of requests to the API server. *Never* accepts a
//! credential or an address from the server. *Never* forwards a request to a target other than the
//! API server of its own cluster.
//!
//! An agent consists of a [`connection::Connection`], a [`enrollment::Enrollment`] and
//! [`lanes::Lanes`]. The enrollment supplies the server's address and the key. The lanes serve the
//! tunnelled requests.

pub mod binding;
pub mod connection;
pub mod enrollment;
mod error_chain;
pub mod hub;
pub mod key;
pub mod lanes;
pub mod memory;
pub mod probes;
pub mod program;
pub mod registration;
mod rotation;
pub mod server;
pub mod status;
pub mod upstream;
