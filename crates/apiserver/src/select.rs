//! Which objects of a list are meant: label selectors and field selectors, with kube-apiserver's
//! words for those that cannot be read.

mod field;
mod label;
mod lexer;
mod requirement;

pub use field::{FieldSelector, FieldSelectorError, FieldTerm};
pub use label::LabelSelector;
pub use requirement::{Operator, Requirement, SelectorError, label_key_faults, label_value_faults};
