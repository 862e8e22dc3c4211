//! Label selectors and field selectors, with kube-apiserver's error messages.

mod field;
mod label;
mod lexer;
mod requirement;

pub use field::{FieldSelector, FieldSelectorError, FieldTerm};
pub use label::LabelSelector;
pub use requirement::{Operator, Requirement, SelectorError, label_key_faults, label_value_faults};
