//! The connection between an agent and the server, for cluster agents and node agents.
//!
//! *Owns* the agent's key, its registration, the dialled connection, the check of every tunnelled
//! request and the forwarding to the API server. *Never* accepts a credential or an address from
//! the server, and never forwards to a target other than the API server of its own cluster.
//!
//! An agent is a [`connection::Connection`] with an [`connection::Enrollment`], which supplies the
//! server's address and the key, and [`lanes::Lanes`], in which the agent can handle lanes itself.

pub mod binding;
pub mod connection;
mod error_chain;
pub mod key;
pub mod lanes;
pub mod memory;
pub mod probes;
pub mod registration;
pub mod server;
pub mod status;
pub mod upstream;
