//! The screens of the web UI and their URLs.

pub(crate) mod about;
mod account;
mod administration;
pub(crate) mod chunks;
mod clusters;
pub(crate) mod kit;
pub(crate) mod not_found;
mod parts;

pub(crate) use account::*;
pub(crate) use administration::*;
pub(crate) use clusters::*;
pub(crate) use parts::*;
