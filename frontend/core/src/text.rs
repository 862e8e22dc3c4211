//! Texts that are read or searched: URLs, typed lists, lines of a stream.

pub mod find;
pub mod lines;
pub mod span;
pub mod typed;
pub mod url;
