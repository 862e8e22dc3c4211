//! Upgraded connections (exec, attach, port-forward) through the tunnel.
//!
//! ```text
//! kubectl ──POST, Upgrade: SPDY/3.1──► server ──CONNECT, :protocol = SPDY/3.1──► agent
//!                                                                                  │
//!             API server ◄──POST, Upgrade: SPDY/3.1 (HTTP/1.1 of its own)──────────┘
//! ```
//!
//! The upstream's 101 response becomes a 200 with [`SWITCHED_HEADER`] inside the tunnel and a 101
//! again on the server. Other responses are relayed unchanged with their bodies, because clients
//! choose their next protocol by them. After the switch, the bytes are copied in both directions
//! without parsing.

mod agent;
mod server;
mod splice;

pub use agent::{RelayBody, RelayError, Tunneled, is_upgrade, relay, upstream_request};
pub use server::{Forwarded, Splice, forward, token};
pub use splice::{SpliceEnd, splice};

use http::HeaderMap;

pub use crate::upgrade_headers::{METHOD_HEADER, STATUS_HEADER, SWITCHED_HEADER, TOKEN_HEADER};

/// Removes the headers of the tunnel's own protocol from an untrusted message.
fn strip_private(headers: &mut HeaderMap) {
    for name in [METHOD_HEADER, TOKEN_HEADER, SWITCHED_HEADER, STATUS_HEADER] {
        headers.remove(name);
    }
}
