//! Text processing: URLs, entered lists, completion, search, differences, and lines of a stream.

pub mod completion;
pub mod diff;
pub mod find;
pub mod lines;
pub mod merge;
pub mod typed;
pub mod url;
