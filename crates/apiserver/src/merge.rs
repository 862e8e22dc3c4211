//! Merges of requests into stored objects: server-side apply, field ownership of all other writes,
//! and the three types of patches.
//!
//! The module has no side effects. Objects are in the version of the request. [`apply`] and
//! [`update`] read owners from `metadata.managedFields` and write the new owners into the result.
//! The behaviour equals the behaviour of structured-merge-diff v6 and apimachinery's
//! `managedfields` (KEP-555). Tests compare the results of this module with the results of these Go
//! libraries.

mod apply;
mod error;
mod fields;
mod json_patch;
mod kind;
mod managers;
mod path;
mod scale;
mod set;
mod strategic;
mod track;
mod typed;
mod update;
mod value;

pub use apply::{ApplyOptions, LAST_APPLIED, apply, drop_nulls};
pub use error::{ApplyError, Conflict, PatchError};
pub use fields::FieldsError;
pub use json_patch::{json_patch, merge_patch, unknown_operation_fields};
pub use kind::MergeKind;
pub use managers::{ManagerId, Managers, ManagersError, Operation, Owned};
pub use path::{Path, PathElement};
pub use scale::ScaleManagers;
pub use set::Set;
pub use strategic::strategic;
pub use update::{UpdateOptions, keep_times, manager_name, update};

pub(crate) use value::quote;
