//! The screens, each at its URL.

pub(crate) mod about;
pub(crate) mod address;
pub(crate) mod cluster;
pub(crate) mod home;
pub(crate) mod import;
pub(crate) mod kinds;
pub(crate) mod kit;
pub(crate) mod not_found;
pub(crate) mod password;
pub(crate) mod sign_in;
