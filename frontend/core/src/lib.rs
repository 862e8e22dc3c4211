//! The logic of the web UI that does not need a browser: parsing of responses, texts for states,
//! and resumption of watches.
//!
//! This crate *owns* the logic that native tests can run. It *never* accesses a page, opens a
//! connection, or reads a clock. Callers pass times and random numbers.

pub mod age;
pub mod backoff;
pub mod chart;
pub mod cluster;
pub mod keys;
pub mod kubernetes;
pub mod management;
pub mod messages;
pub mod metrics;
pub mod palette;
pub mod preferences;
pub mod problem;
pub mod progress;
pub mod quantity;
pub mod search;
pub mod selection;
pub mod table;
pub mod text;
pub mod unsaved;

pub use drover_api::shell;
pub use kubernetes::document::workload_form;
pub use kubernetes::{
    action, causes, discovery, document, drain, event, feed, kind, kubectl, list, log, manifest,
    namespaces, note, object, refusal, rows, source, terminal, visible,
};
pub use management::{
    audit, endpoint, explain, hub, kubeconfig, label, lifetime, member, password, project,
    provider, readiness, rights, role, setting, sign_in, subject, token, user, view,
};
pub use table::{widths, window};
pub use text::{completion, diff, find, lines, merge, typed, url};
