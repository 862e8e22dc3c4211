//! Access decisions: names, tokens, permits, roles, and rules for headers and paths. All functions
//! are pure.
//!
//! The crate *owns* all decisions that a table of test cases can express. The crate *never* uses
//! tokio, a kube client, a clock or a disk. Callers pass the time and random values.

pub mod account_token;
pub mod admission;
pub mod credential;
pub mod endpoint;
pub mod grants;
pub mod guard;
pub mod headers;
pub mod identity;
pub mod impersonation;
pub mod names;
pub mod path;
pub mod permit;
pub mod pin;
pub mod proof;
pub mod roles;
pub mod same_origin;
pub mod setting;
pub mod token;
pub mod verb;
