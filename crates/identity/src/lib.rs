//! Authentication: tokens, passwords, logins and their limits.
//!
//! *Owns* the authentication step of a request and all credentials of users. *Never* decides about
//! permissions, because `drover_access::permit` makes these decisions.

pub mod accounts;
pub mod administrators;
pub mod authenticator;
pub mod caller;
pub mod device;
pub mod first_administrator;
mod last_login;
mod last_use;
pub mod limits;
pub mod login;
mod lookup;
pub mod passwords;
pub mod providers;
mod sign_in_sources;
#[cfg(test)]
mod silent_hub;
pub mod tokens;

pub use accounts::Accounts;
pub use authenticator::{Authenticator, IdentifyError};
pub use device::DeviceLogins;
pub use last_use::LastUse;
pub use login::{LoginClient, LoginError, PasswordLogins};
pub use lookup::LookupError;
pub use passwords::Passwords;
pub use providers::{ProviderLogins, ProviderLogouts, Providers, Refresher};
pub use sign_in_sources::SignInSources;
