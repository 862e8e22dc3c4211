//! Gets, lists and watches.

pub(crate) mod list;
pub mod page;
pub(crate) mod selection;
pub(crate) mod watch;
