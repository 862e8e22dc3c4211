//! Sessions, sign-in with identity providers, and the providers themselves.

pub(crate) mod auth_providers;
pub(crate) mod device;
pub(crate) mod me;
pub(crate) mod providers;
pub(crate) mod session;
