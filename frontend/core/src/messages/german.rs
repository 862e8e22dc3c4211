//! German. Each file contains groups of messages.
//!
//! The texts use the terms of Kubernetes (Cluster, Pod, Node, Namespace, Event) and neutral forms:
//! buttons are infinitives („Löschen“), and sentences avoid forms of address. Quotation marks
//! are „…“.

mod access;
mod account;
mod actions;
mod bulk;
mod cluster;
mod cluster_states;
mod facts;
mod forwards;
mod frame;
mod history;
mod keys;
mod metrics;
mod object;
mod roles;
mod terminal;
mod transfer;
mod users;
mod views;
mod workload_form;
mod workloads;
