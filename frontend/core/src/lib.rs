//! What the web UI knows without a browser: how answers are read, what a cluster's state is in
//! words, how a watch goes on after it was cut.
//!
//! *Owns* everything that can be tried in a native test. *Never* touches a page, opens a
//! connection or reads a clock: times and chances are handed in.

pub mod age;
pub mod backoff;
pub mod cluster;
pub mod kubernetes;
pub mod management;
pub mod messages;
pub mod palette;
pub mod problem;
pub mod progress;
pub mod quantity;
pub mod search;
pub mod selection;
pub mod severity;
pub mod text;
pub mod window;

pub use drover_api::shell;
pub use kubernetes::{
    column, event, feed, kind, kubectl, log, manifest, namespaces, node, object, row, rows, source,
};
pub use management::{
    audit, explain, hub, label, lifetime, member, password, project, provider, readiness, rights,
    role, setting, sign_in, token, user,
};
pub use text::{find, lines, span, typed, url};
