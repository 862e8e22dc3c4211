//! Upgraded connections (exec, attach, port-forward) through the tunnel.
//!
//! ```text
//! kubectl ──POST, Upgrade: SPDY/3.1──► server ──CONNECT, :protocol = SPDY/3.1──► agent
//!                                                                                  │
//!             API server ◄──POST, Upgrade: SPDY/3.1 (HTTP/1.1 of its own)──────────┘
//! ```
//!
//! Inside the tunnel, the API server's 101 response is a 200 response with [`SWITCHED_HEADER`]. The
//! server converts this response back to a 101 response. All other responses are forwarded
//! unchanged with their bodies, because clients select their next protocol by the response. After
//! the switch, the bytes are copied in both directions without parsing.

mod agent;
mod server;
mod splice;

pub use agent::{RelayBody, RelayError, Tunneled, is_upgrade, relay, upstream_request};
pub use server::{Forwarded, Splice, forward, token};
pub use splice::{SpliceEnd, splice};

use http::HeaderMap;

pub use crate::upgrade_headers::{METHOD_HEADER, STATUS_HEADER, SWITCHED_HEADER, TOKEN_HEADER};

/// Removes the headers of the tunnel protocol from an untrusted message.
fn strip_private(headers: &mut HeaderMap) {
    for name in [METHOD_HEADER, TOKEN_HEADER, SWITCHED_HEADER, STATUS_HEADER] {
        headers.remove(name);
    }
}
