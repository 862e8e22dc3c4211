//! Kubernetes objects of a cluster: kinds, lists, states, logs and manifests.

pub mod action;
pub mod causes;
pub mod discovery;
pub mod document;
pub mod drain;
pub mod event;
pub mod feed;
pub mod kind;
pub mod kubectl;
pub mod list;
pub mod log;
pub mod manifest;
pub mod namespaces;
pub mod note;
pub mod object;
pub mod refusal;
pub mod rows;
pub mod source;
pub mod terminal;
pub mod visible;
