//! Decodes requests: path and verb, query options, content negotiation and bodies.

pub mod body;
pub(crate) mod incoming;
pub mod negotiate;
pub mod options;
pub mod query;
pub mod request;
