//! Identity providers: who somebody is, by OpenID Connect, GitHub and LDAP.
//!
//! *Owns* what is said to providers, and what of their answers is believed. *Never* decides what
//! somebody may do, keeps nothing, and knows neither the hub nor a browser's request: the server
//! hands in configuration, secrets and what came back, and is told who it is.

pub mod allowed;
pub mod code_flow;
pub mod error;
pub mod github;
mod http;
pub mod ldap;
pub mod oidc;
pub mod person;

pub use error::ProviderError;
pub use person::{Group, Person};
