//! People who come from identity providers.
//!
//! *Owns* signing in with a provider, what is kept of it, asking providers what has become of
//! people, and the one decision whether what a provider said still counts (`drover_hub::stores::identity_status`). *Never*
//! believes more of an answer than `drover_providers` does, and never gives a provider's people
//! another's user: people are known by the provider's UID and their id there.

pub mod conditions;
pub mod configured;
pub mod connection_test;
pub mod keyed_lock;
pub mod link;
pub mod login_state;
pub mod mapping;
pub mod provider_tokens;
pub mod refresh;
pub mod sign_in;
pub mod sign_out;
pub mod users;

pub use configured::Providers;
pub use refresh::Refresher;
pub use sign_in::{ProviderLogins, SignInError};
pub use sign_out::ProviderLogouts;
