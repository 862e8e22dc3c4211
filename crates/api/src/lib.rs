//! Drover's kinds and wire types: the objects in the hub and the messages between programs.
//!
//! *Owns* the shape of every object and message, and the text of a cluster's state. *Never* opens a
//! connection, reads a clock, or makes decisions about access. The crate builds for wasm32 without
//! the features `crd` and `client`.

#![cfg_attr(
    feature = "crd",
    expect(
        unreachable_pub,
        reason = "the KubeSchema derive repeats each struct inside a function"
    )
)]

pub mod agent;
pub mod amounts;
#[cfg(feature = "client")]
pub mod client_error;
pub mod cluster_state;
pub mod conditions;
pub mod drift;
pub mod endpoint;
pub mod fleet;
pub mod gitops;
pub mod group;
pub mod ids;
pub mod kinds;
pub mod report;
pub mod rest;
pub mod shell;
pub mod strict;
pub mod view_path;
