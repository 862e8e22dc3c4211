//! What the web UI knows without a browser: how answers are read, what a cluster's state is in
//! words, how a watch goes on after it was cut.
//!
//! *Owns* everything that can be tried in a native test. *Never* touches a page, opens a
//! connection or reads a clock: times and chances are handed in.

pub mod age;
pub mod audit;
pub mod backoff;
pub mod cluster;
pub mod column;
pub mod event;
pub mod explain;
pub mod feed;
pub mod find;
pub mod hub;
pub mod kind;
pub mod kubectl;
pub mod label;
pub mod lifetime;
pub mod lines;
pub mod log;
pub mod manifest;
pub mod member;
pub mod messages;
pub mod namespaces;
pub mod node;
pub mod object;
pub mod palette;
pub mod password;
pub mod problem;
pub mod progress;
pub mod project;
pub mod provider;
pub mod quantity;
pub mod readiness;
pub mod rights;
pub mod role;
pub mod row;
pub mod rows;
pub mod search;
pub mod selection;
pub mod setting;
pub mod severity;
pub use drover_api::shell;
pub mod sign_in;
pub mod source;
pub mod span;
pub mod token;
pub mod typed;
pub mod url;
pub mod user;
pub mod window;
