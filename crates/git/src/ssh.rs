//! A small SSH client (RFC 4251 to 4254) that runs one command. All cryptography is aws-lc-rs.
//!
//! The client supports few algorithms, all without a known weakness, and no new keys during a
//! connection. It accepts an unknown host key only if the caller asks for it.

mod authentication;
mod channel;
mod cipher;
mod handshake;
pub(crate) mod host_key;
pub(crate) mod known_hosts;
pub(crate) mod packets;
pub(crate) mod private_key;
pub(crate) mod wire;

pub(crate) use authentication::authenticate;
pub(crate) use channel::Channel;
pub(crate) use handshake::{HostKeys, connect};

/// Numbers of messages (RFC 4250, section 4.1.2).
mod message {
    pub(super) const DISCONNECT: u8 = 1;
    pub(super) const IGNORE: u8 = 2;
    pub(super) const UNIMPLEMENTED: u8 = 3;
    pub(super) const DEBUG: u8 = 4;
    pub(super) const SERVICE_REQUEST: u8 = 5;
    pub(super) const SERVICE_ACCEPT: u8 = 6;
    pub(super) const EXT_INFO: u8 = 7;
    pub(super) const KEXINIT: u8 = 20;
    pub(super) const NEWKEYS: u8 = 21;
    pub(super) const KEX_ECDH_INIT: u8 = 30;
    pub(super) const KEX_ECDH_REPLY: u8 = 31;
    pub(super) const USERAUTH_REQUEST: u8 = 50;
    pub(super) const USERAUTH_FAILURE: u8 = 51;
    pub(super) const USERAUTH_SUCCESS: u8 = 52;
    pub(super) const USERAUTH_BANNER: u8 = 53;
    pub(super) const GLOBAL_REQUEST: u8 = 80;
    pub(super) const REQUEST_FAILURE: u8 = 82;
    pub(super) const CHANNEL_OPEN: u8 = 90;
    pub(super) const CHANNEL_OPEN_CONFIRMATION: u8 = 91;
    pub(super) const CHANNEL_OPEN_FAILURE: u8 = 92;
    pub(super) const CHANNEL_WINDOW_ADJUST: u8 = 93;
    pub(super) const CHANNEL_DATA: u8 = 94;
    pub(super) const CHANNEL_EXTENDED_DATA: u8 = 95;
    pub(super) const CHANNEL_EOF: u8 = 96;
    pub(super) const CHANNEL_CLOSE: u8 = 97;
    pub(super) const CHANNEL_REQUEST: u8 = 98;
    pub(super) const CHANNEL_SUCCESS: u8 = 99;
    pub(super) const CHANNEL_FAILURE: u8 = 100;
}

/// The reason why an SSH connection cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SshError {
    /// The connection failed or was closed.
    Io(String),
    /// The server violates the protocol.
    Protocol(String),
    /// The client and the server share no algorithm.
    Algorithms(String),
    /// The known hosts do not contain the key.
    UnknownHostKey {
        algorithm: String,
        fingerprint: String,
    },
    /// The known hosts contain a different key, or revoke the key.
    ChangedHostKey {
        algorithm: String,
        fingerprint: String,
    },
    /// The private key cannot be used.
    PrivateKey(&'static str),
    /// The server rejected the key.
    Authentication(String),
    /// The server closed the connection with a message.
    Disconnected(String),
}

impl SshError {
    fn protocol(reason: &str) -> Self {
        Self::Protocol(reason.to_owned())
    }
}

impl From<std::io::Error> for SshError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.to_string())
    }
}
