//! Encoding and decoding of LDAP messages (RFC 4511 §4, §5.1) without I/O.
//!
//! Drover parses untrusted responses. Before StartTLS, the responses come from a server without a
//! verified certificate. Drover therefore has its own LDAP codec. The crate ldap3 0.12 panics on
//! unexpected responses such as `30 00`. With `panic = "abort"`, the panic ends the program. ldap3
//! also parses nested elements recursively and accepts responses of any length.
//!
//! In this module, each length has a maximum, functions do not recurse over received data, and
//! unexpected data causes an error.

pub(crate) mod ber;
pub mod filter;
pub mod message;

use thiserror::Error;

/// Error of parsing bytes that are not a valid LDAP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);
