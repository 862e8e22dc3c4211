//! Upgraded connections (exec, attach, port-forward) through the tunnel.
//!
//! ```text
//! kubectl ──POST, Upgrade: SPDY/3.1──► server ──CONNECT, :protocol = SPDY/3.1──► agent
//!                                                                                  │
//!             API server ◄──POST, Upgrade: SPDY/3.1 (HTTP/1.1 of its own)──────────┘
//! ```
//!
//! The upstream's 101 travels as a 200 marked with [`SWITCHED_HEADER`] and becomes a 101
//! again; any other answer is relayed as it is, body included, because clients decide by it
//! what to try next. After the switch the bytes are copied both ways and never parsed.

mod agent;
mod server;
mod splice;

pub use agent::{RelayBody, RelayError, Tunneled, is_upgrade, relay, upstream_request};
pub use server::{Forwarded, Splice, forward, token};
pub use splice::{SpliceEnd, splice};

use http::{HeaderMap, HeaderName};

/// The method of the request that asked for the upgrade; CONNECT has taken its place.
pub const METHOD_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-method");
/// The `Upgrade` header's value, which HTTP/2 has no place for: the client's going, the
/// upstream's coming.
pub const TOKEN_HEADER: HeaderName = HeaderName::from_static("drover-upgrade");
/// On a 200: the upstream switched protocols.
pub const SWITCHED_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-switched");
/// The upstream's status, where a refusal's own cannot travel: a CONNECT that is answered
/// 2xx is open, so a 200 that does not switch needs another.
pub const STATUS_HEADER: HeaderName = HeaderName::from_static("drover-upgrade-status");

/// Takes our private headers out of what a stranger sent.
fn strip_private(headers: &mut HeaderMap) {
    for name in [METHOD_HEADER, TOKEN_HEADER, SWITCHED_HEADER, STATUS_HEADER] {
        headers.remove(name);
    }
}
