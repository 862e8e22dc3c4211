//! The kinds of `fleet.cattle.io/v1alpha1`, wire-compatible with Fleet 0.16.
//!
//! The CustomResourceDefinitions are Fleet's own, so these types have no schemas. Readers ignore
//! unknown fields, and accept `null` for each field. Writers must patch objects, because a replaced
//! object would lose the fields that these types do not know.
//!
//! The order of fields and the omission of empty fields equal Fleet's JSON, because deployment IDs
//! are hashes of this JSON.

pub mod bundle;
pub mod bundle_deployment;
pub mod cluster;
pub mod cluster_group;
pub mod content;
pub mod git_repo;
pub mod go_duration;
pub mod helm_op;
pub mod image_scan;
pub mod labels;
pub mod options;
pub mod policy;
pub mod registration;
pub mod repo_state;
pub mod schedule;
pub mod selector;
pub mod status;
pub mod target;
mod wire;

pub use bundle::*;
pub use bundle_deployment::*;
pub use cluster::*;
pub use cluster_group::*;
pub use content::*;
pub use git_repo::*;
pub use helm_op::*;
pub use image_scan::*;
pub use options::*;
pub use policy::*;
pub use registration::*;
pub use repo_state::*;
pub use schedule::*;
pub use selector::*;
pub use status::*;
pub use target::*;
pub use wire::{API_VERSION, GROUP, VERSION};

#[cfg(test)]
mod tests;
