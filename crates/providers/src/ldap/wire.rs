//! LDAP's messages and their bytes (RFC 4511 §4, §5.1), with no network in it.
//!
//! Drover speaks LDAP itself because what a directory answers is read before it is believed, on the
//! way to StartTLS even before it has shown a certificate. The client that there is, ldap3 0.12,
//! panics on answers it does not expect, `30 00` for one, which ends a program built with
//! `panic = "abort"`; it follows nested elements by recursion and keeps answers of any length.
//! Here every length is bounded, nothing recurses over what was received, and anything unexpected
//! is an error.

pub(crate) mod ber;
pub mod filter;
pub mod message;

use thiserror::Error;

/// Bytes that are no LDAP message that Drover expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);
