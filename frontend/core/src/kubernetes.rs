//! Kubernetes objects of a cluster: kinds, lists, states, logs and manifests.

pub mod column;
pub mod event;
pub mod feed;
pub mod kind;
pub mod kubectl;
pub mod log;
pub mod manifest;
pub mod namespaces;
pub mod node;
pub mod object;
pub mod refusal;
pub mod row;
pub mod rows;
pub mod source;
pub mod visible;
