//! Encoding and decoding of LDAP messages (RFC 4511 §4, §5.1) without I/O.
//!
//! Drover has its own LDAP codec because it parses untrusted responses, before StartTLS even from a
//! server without a verified certificate. The crate ldap3 0.12 panics on unexpected responses such
//! as `30 00`, which aborts a program built with `panic = "abort"`. ldap3 also parses nested
//! elements recursively and accepts responses of any length. In this module each length is bounded,
//! no function recurses over received data, and unexpected data is an error.

pub(crate) mod ber;
pub mod filter;
pub mod message;

use thiserror::Error;

/// Error of parsing bytes that are not an expected LDAP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);
