//! The client side of git's wire protocol, versions 2 and 0, for shallow reads.
//!
//! The functions write requests and parse answers. A [`crate::transport`] carries the bytes. See
//! `gitprotocol-v2(5)` and `gitprotocol-pack(5)` in git's documentation.

pub(crate) mod pack;
pub(crate) mod packet;
pub(crate) mod references;

pub(crate) use references::{Advertisement, RemoteReference};

/// The name and version that servers log.
pub(crate) const AGENT: &str = concat!("drover/", env!("CARGO_PKG_VERSION"));

/// The reason why an answer of a server cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProtocolError {
    /// The answer violates the protocol.
    Invalid(String),
    /// The server reported an error.
    Server(String),
    /// The server closed the connection, or the connection failed.
    Io(String),
    /// The answer exceeds a limit: a unit and its maximum.
    Limit(&'static str, u64),
}

impl ProtocolError {
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid(reason.into())
    }
}
