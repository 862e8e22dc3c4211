//! Builders and harness parts that only tests use.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "what fails here fails a test"
)]

pub mod authority;
#[expect(
    missing_docs,
    missing_debug_implementations,
    reason = "what a GitHub has is called as GitHub calls it"
)]
pub mod github;
pub mod kinds;
pub mod openid;
pub mod slapd;
pub mod tunnel;
