//! The screens, each at its URL.

pub(crate) mod about;
pub(crate) mod access;
pub(crate) mod address;
pub(crate) mod audit;
mod batch;
mod cells;
pub(crate) mod cluster;
pub(crate) mod device;
mod form;
pub(crate) mod home;
pub(crate) mod import;
pub(crate) mod kinds;
pub(crate) mod kit;
mod labels;
mod list;
pub(crate) mod members;
pub(crate) mod not_found;
pub(crate) mod object;
pub(crate) mod password;
pub(crate) mod projects;
pub(crate) mod providers;
pub(crate) mod roles;
pub(crate) mod settings;
pub(crate) mod sign_in;
mod title;
pub(crate) mod tokens;
pub(crate) mod users;
