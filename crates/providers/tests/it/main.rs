//! Tests of the identity providers against real servers where available, and against fake servers.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod corpora;
mod github;
mod ldap;
mod oidc;
