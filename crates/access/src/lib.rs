//! Who may do what: names, tokens, permits, and the rules on headers and paths. Pure.
//!
//! *Owns* every decision on the road that a test table can state. *Never* knows tokio, a kube
//! client, a clock or a disk: time and randomness are handed in.

pub mod account_token;
pub mod admission;
pub mod credential;
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
pub mod target;
pub mod token;
pub mod verb;
