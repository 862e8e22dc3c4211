//! Webhooks of GitHub, GitLab, Bitbucket Cloud, Bitbucket Server, Azure DevOps, Gitea and Gogs.
//!
//! A caller limits the size of the body, and then
//! 1. calls [`Provider::detect`] with the headers, and ignores requests of unknown senders;
//! 2. calls [`Provider::parse`], and selects the repositories for which [`matches()`] is true;
//! 3. calls [`Provider::verify`] with the Secret of each selected repository, if the repository has
//!    a Secret.
//!
//! A replayed request is harmless: an event only starts a poll of the repository, and the poll reads
//! the current commit from the git server. Therefore the crate stores no nonces or times. A caller
//! never deploys the commit of an event, and limits the rate of polls.

mod delivery;
mod provider;
mod signature;
mod url;

pub use delivery::{Change, Delivery, ParseError, Push, Reference};
pub use provider::Provider;
pub use signature::VerifyError;
pub use url::matches;
