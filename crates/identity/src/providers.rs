//! Users of identity providers.
//!
//! *Owns* provider logins, the stored provider tokens, and the refresh of identities. The decision
//! whether an identity is valid is in `drover_hub::stores::identity_status`. *Never* trusts more of
//! a response than `drover_providers` does, and never assigns a provider's user to another Drover
//! user: the provider's UID and the user's ID there identify a user.

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
