//! Handlers of get, list and watch requests.

pub(crate) mod list;
pub mod page;
pub(crate) mod selection;
pub(crate) mod watch;
