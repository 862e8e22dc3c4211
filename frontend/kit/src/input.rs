//! Form fields and search fields.

pub mod field;
pub mod find;
pub mod picker;
pub mod suggest;
