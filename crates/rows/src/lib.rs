//! Rows of Kubernetes lists: parsing of Tables, severity, filter, order and windows.
//!
//! This crate *owns* the logic that the server and the web UI share for lists of objects. It
//! *never* opens a connection or reads a clock. Callers pass times.

pub mod column;
pub mod names;
mod natural;
pub mod note;
pub mod object;
pub mod order;
pub mod protocol;
pub mod query;
pub mod row;
pub mod samples;
pub mod search;
pub mod sent;
pub mod severity;
pub mod span;
pub mod table;
mod texts;
pub mod usage;
pub mod view;

pub use column::{Column, Columns, Content};
pub use note::Note;
pub use object::Include;
pub use order::Order;
pub use query::{Query, Searched};
pub use row::Row;
pub use severity::Severity;
pub use table::TableReader;
pub use usage::Amounts;
pub use view::View;
