//! Text processing: URLs, entered lists, search, and lines of a stream.

pub mod find;
pub mod lines;
pub mod span;
pub mod typed;
pub mod url;
