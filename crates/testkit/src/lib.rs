//! Builders of sample objects, fake servers and simulated clients for tests.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a failure here fails a test"
)]

pub mod authority;
#[expect(
    missing_docs,
    missing_debug_implementations,
    reason = "names follow GitHub"
)]
pub mod github;
pub mod kinds;
pub mod openid;
pub mod slapd;
pub mod tunnel;
