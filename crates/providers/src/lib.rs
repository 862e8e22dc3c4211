//! Identity providers: clients for OpenID Connect, GitHub and LDAP that authenticate users.
//!
//! *Owns* the requests to providers and the validation of their responses. *Never* authorizes users
//! and never stores state. The crate does not depend on the hub or on HTTP requests of browsers:
//! the server passes configuration, secrets and callback queries, and receives the user.

pub mod allowed;
pub mod code_flow;
pub mod error;
pub mod github;
mod http;
pub mod ldap;
pub mod oidc;
pub mod provider_user;

pub use error::ProviderError;
pub use provider_user::{Group, ProviderUser};
