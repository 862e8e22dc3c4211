//! Applies a set of objects to a cluster.
//!
//! An [`Owner`](owner::Owner) is a label that marks the objects of one set. A reconciliation lists
//! the objects (the [`Inventory`](inventory::Inventory)) and compares them with the desired objects
//! ([`diff`](diff::diff)). The reconciliation then writes the differences, and prunes the objects
//! that are not desired ([`Objects`](objects::Objects)). The order ([`order`]) ensures that no
//! object refers to a missing object, and that permissions are revoked first. A
//! [`digest`](drift::digest) of the listed versions detects later changes of the objects.
//!
//! The modules `compare`, `diff`, `drift`, `inventory`, `order` and `owner` have no side effects.
//! `objects` and `set` call the cluster through a [`kube::Client`], with a timeout for each call.

pub mod compare;
pub mod diff;
pub mod drift;
pub mod error;
pub mod inventory;
mod limits;
pub mod objects;
pub mod order;
pub mod owner;
pub mod set;
pub mod unmanaged;

pub use error::{ApplyError, Failure, call, combine, is_conflict, is_gone, unless_gone};
