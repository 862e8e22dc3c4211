//! Requests, streams and the network state of the browser.

pub(crate) mod exec;
pub(crate) mod fetch;
pub(crate) mod latest;
pub(crate) mod network;
pub(crate) mod stream;
