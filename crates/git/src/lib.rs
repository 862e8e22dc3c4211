//! Reads git repositories in a bounded worker process.
//!
//! The server starts the worker with a [`Fetcher`]. The worker ([`worker_main`]) connects to the
//! git server, stores packs in a cache, and returns the selected files of a commit. Requests and
//! credentials go to the worker's standard input, never into its arguments or environment. A
//! repository that crashes the worker, or exceeds a limit, fails only its own request.
//!
//! The worker speaks the git protocol itself, over rustls and over its own SSH client, and uses
//! libgit2 for packs and objects. It starts no program, runs no hook and reads no git
//! configuration. See `docs/adr/0018-git-transport.md`.

mod cache;
mod error;
mod fetcher;
mod limits;
mod location;
mod modules;
mod path;
mod protocol;
mod request;
pub mod schedule;
mod secret;
mod session;
mod ssh;
mod store;
mod transport;
mod tree;
#[doc(hidden)]
pub mod untrusted;
mod worker;

pub use cache::GarbageReport;
pub use error::GitError;
pub use fetcher::{Checkout, Fetcher, FetcherSettings};
pub use limits::Limits;
pub use request::{Auth, Reference, Source};
pub use worker::worker_main;
