//! Carriers of git's protocol: HTTP and SSH.

mod addresses;
pub(crate) mod http;
pub(crate) mod ssh;

use std::io::Read;
use std::sync::Arc;
use std::time::Instant;

use secrecy::SecretString;

use crate::error::GitError;
use crate::location::Location;
use crate::request::{Auth, Source};

/// A repository to connect to.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) location: Location,
    /// Host of the configured repository, which can be another host than the host of a submodule.
    pub(crate) home: Arc<str>,
    pub(crate) auth: Auth,
    /// Submodules receive no credentials.
    pub(crate) is_auth_limited: bool,
    pub(crate) ca_bundle: Option<String>,
    pub(crate) insecure_skip_tls_verify: bool,
    pub(crate) known_hosts: String,
    pub(crate) insecure_skip_host_key_check: bool,
}

impl Target {
    pub(crate) fn new(source: Source) -> Result<Self, GitError> {
        let (location, in_url) = Location::parse(&source.url)?;
        let auth = match source.auth {
            Auth::None => in_url.unwrap_or(Auth::None),
            auth => auth,
        };
        Ok(Self {
            home: location.host_name().into(),
            location,
            auth,
            is_auth_limited: source.is_auth_limited,
            ca_bundle: source.ca_bundle,
            insecure_skip_tls_verify: source.insecure_skip_tls_verify,
            known_hosts: source.known_hosts,
            insecure_skip_host_key_check: source.insecure_skip_host_key_check,
        })
    }

    /// Returns the target of a submodule, with these credentials only on the same server. Fleet
    /// sends the credentials to every server that `.gitmodules` names.
    pub(crate) fn submodule(&self, url: &str) -> Result<Self, GitError> {
        let (location, in_url) = self.location.submodule(url)?;
        let auth = if self.location.same_server(&location) && !self.is_auth_limited {
            self.auth.clone()
        } else {
            in_url.unwrap_or(Auth::None)
        };
        Ok(Self {
            location,
            auth,
            ..self.clone()
        })
    }

    pub(crate) fn protocol_error(&self, error: crate::protocol::ProtocolError) -> GitError {
        use crate::protocol::ProtocolError;
        let repository = self.location.shown();
        match error {
            ProtocolError::Invalid(reason) => GitError::Protocol { repository, reason },
            ProtocolError::Server(message) => GitError::Server {
                repository,
                message: crate::error::printable(&message),
            },
            ProtocolError::Io(reason) => GitError::Connection {
                host: self.location.host(),
                reason: crate::error::printable(&reason),
            },
            ProtocolError::Limit(unit, maximum) => GitError::limit(unit, maximum),
        }
    }
}

/// A connection to the service `git-upload-pack` of one repository.
pub(crate) trait Transport {
    /// Reports whether each request is independent of all others.
    fn is_stateless(&self) -> bool;

    /// Returns the stream with the first answer of the server.
    fn advertisement(&mut self) -> Result<Box<dyn Read + '_>, GitError>;

    /// Sends a request and returns the stream with the answer.
    fn request(&mut self, body: Vec<u8>) -> Result<Box<dyn Read + '_>, GitError>;
}

/// The time at which all work for a request must end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    pub(crate) seconds: u64,
}

impl Deadline {
    /// Returns the remaining time.
    pub(crate) fn remaining(self) -> Result<std::time::Duration, GitError> {
        let left = self.at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.exceeded());
        }
        Ok(left)
    }

    pub(crate) const fn exceeded(self) -> GitError {
        GitError::Timeout {
            seconds: self.seconds,
        }
    }
}

/// Returns the secret of a token as HTTP header text without line ends.
pub(crate) fn trimmed(secret: &SecretString) -> SecretString {
    use secrecy::ExposeSecret as _;
    SecretString::from(secret.expose_secret().trim_end_matches(['\r', '\n']))
}
