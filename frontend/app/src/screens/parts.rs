//! Components that several screens use.

pub(crate) mod address;
pub(crate) mod batch;
pub(crate) mod cells;
pub(crate) mod form;
pub(crate) mod head;
pub(crate) mod list;
pub(crate) mod pod_permission;
pub(crate) mod title;
pub(crate) mod views;
