//! The administration screens: users, roles, projects, providers, settings and the audit log.

pub(crate) mod access;
pub(crate) mod audit;
pub(crate) mod members;
pub(crate) mod projects;
pub(crate) mod providers;
pub(crate) mod roles;
pub(crate) mod settings;
pub(crate) mod users;
