//! People who come from identity providers.
//!
//! *Owns* signing in with a provider, what is kept of it, asking providers what has become of
//! people, and the one decision whether what a provider said still counts (`drover_hub::stores::identity_status`). *Never*
//! believes more of an answer than `drover_providers` does, and never gives a provider's people
//! another's user: people are known by the provider's UID and their id there.

pub mod begun;
pub mod configured;
pub mod kept;
pub mod link;
pub mod one_by_one;
pub mod people;
pub mod refresh;
pub mod seen;
pub mod sign_in;
pub mod sign_out;
pub mod state;
pub mod trial;

pub use configured::Providers;
pub use refresh::Refresher;
pub use sign_in::{SignInError, SignIns};
pub use sign_out::SignOuts;
