//! Tests against real identity providers where available, and against faithful fakes.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod corpora;
mod github;
mod ldap;
mod oidc;
