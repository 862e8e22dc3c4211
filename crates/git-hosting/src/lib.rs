//! Git repositories that the server hosts. Clients fetch and push over smart HTTP under
//! `/git/NAME.git`. The program `git http-backend` of the server's machine serves each request.
//!
//! *Owns* the folder of the repositories, the checks of a request (authentication, name,
//! authorization) and the limits of each git process. *Never* runs a hook, reads a configuration of
//! the machine or of a user, or serves a path other than the three paths of smart HTTP.

mod access;
mod backend;
pub mod cgi;
pub mod credential;
mod git;
mod name;
mod repositories;
mod routes;

pub use self::backend::Limits;
pub use self::name::{NameError, RepositoryName};
pub use self::repositories::{CreateError, InitialCommit, OpenError, Repositories};
pub use self::routes::{GitHosting, router};
