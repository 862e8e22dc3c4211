//! Routes for sessions, for sign-in with identity providers, and for the administration of identity
//! providers.

pub(crate) mod auth_providers;
pub(crate) mod device;
pub(crate) mod me;
pub(crate) mod providers;
pub(crate) mod session;
