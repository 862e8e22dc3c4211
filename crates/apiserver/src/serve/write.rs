//! Handlers of create, update, patch and delete requests.

pub(crate) mod accounts;
pub(crate) mod addresses;
pub(crate) mod commit;
pub(crate) mod create;
pub(crate) mod definitions;
pub(crate) mod delete;
pub(crate) mod namespace;
pub(crate) mod own;
pub(crate) mod patch;
pub(crate) mod prepare;
pub(crate) mod replace;
pub(crate) mod rules;
pub(crate) mod validate;
