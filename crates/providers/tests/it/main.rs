//! Providers, real and hostile.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod oidc;
