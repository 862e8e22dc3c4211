//! Builders and harness parts that only tests use.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "what fails here fails a test"
)]

pub mod authority;
pub mod openid;
pub mod slapd;
pub mod tunnel;
