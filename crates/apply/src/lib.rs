//! Applies a set of objects to a cluster.
//!
//! An [`Owner`](owner::Owner) is a label that marks the objects of one set. A reconciliation lists them
//! (the [`Inventory`](inventory::Inventory)), compares them with the wanted ones
//! ([`diff`](diff::diff)), writes the differences and prunes the objects that are not wanted
//! ([`Objects`](objects::Objects)), in an order in which no object refers to a missing one and
//! revoked rights end first ([`order`]). A [`digest`](drift::digest) of the listed versions tells
//! whether an object was changed since.
//!
//! The modules `compare`, `diff`, `drift`, `inventory`, `order` and `owner` are pure. `objects` and
//! `set` call the cluster through a [`kube::Client`], with a timeout for each call.

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
