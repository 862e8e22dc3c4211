//! Users of identity providers.
//!
//! *Owns* provider logins, the stored provider tokens, and the refresh of identities.
//! `drover_hub::stores::identity_status` decides whether an identity is valid. *Never* reads
//! provider responses except through `drover_providers`, and never assigns a provider's user to a
//! different Drover user. The provider's UID and the user's ID at the provider together identify a
//! user.

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
