//! Fields of forms, and fields that search.

pub mod field;
pub mod find;
pub mod picker;
pub mod suggest;
