//! What the web UI knows without a browser: how answers are read, what a cluster's state is in
//! words, how a watch goes on after it was cut.
//!
//! *Owns* everything that can be tried in a native test. *Never* touches a page, opens a
//! connection or reads a clock: times and chances are handed in.

pub mod age;
pub mod backoff;
pub mod cluster;
pub mod column;
pub mod event;
pub mod feed;
pub mod hub;
pub mod kind;
pub mod lines;
pub mod node;
pub mod palette;
pub mod problem;
pub mod quantity;
pub mod row;
pub mod search;
pub mod severity;
pub mod source;
pub mod span;
pub mod url;
pub mod window;
