//! The visible part of a table: the rendered rows and the widths of the columns.

pub mod widths;
pub mod window;
