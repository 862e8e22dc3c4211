//! Providers as they are: real ones where they can be had, and faithful fakes.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod corpora;
mod github;
mod ldap;
mod oidc;
