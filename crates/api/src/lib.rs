//! Drover's kinds and wire types: what the hub stores and what programs say to each other.
//!
//! *Owns* the shape of every object and message, and the words for a cluster's state. *Never*
//! decides anything else, opens a connection, or reads a clock. Builds for wasm32 without the features
//! `crd` and `client`.

#![cfg_attr(
    feature = "crd",
    expect(
        unreachable_pub,
        reason = "the KubeSchema derive repeats each struct inside a function"
    )
)]

pub mod agent;
#[cfg(feature = "client")]
pub mod client_error;
pub mod cluster_state;
pub mod conditions;
pub mod drift;
pub mod group;
pub mod ids;
pub mod kinds;
pub mod report;
pub mod rest;
pub mod shell;
pub mod strict;
