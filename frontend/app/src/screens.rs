//! The screens, each at its URL.

pub(crate) mod about;
mod account;
mod administration;
mod clusters;
pub(crate) mod kit;
pub(crate) mod not_found;
mod parts;

pub(crate) use account::{device, password, sign_in, tokens};
pub(crate) use administration::{
    access, audit, members, projects, providers, roles, settings, users,
};
pub(crate) use clusters::{cluster, home, import, kinds, labels, object};
pub(crate) use parts::{address, batch, cells, form, list, title};
