//! The error of all operations on repositories.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The reason why a repository cannot be read. The messages name the next step, and contain
/// neither credentials nor control characters.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum GitError {
    /// The URL has no supported form.
    #[error(
        "the repository URL is invalid: {reason}; use https://, http://, ssh:// or user@host:path"
    )]
    InvalidUrl {
        /// The reason.
        reason: String,
    },
    /// A branch, tag, commit ID or path in the request is invalid.
    #[error("{field} {value:?} is invalid: {reason}")]
    InvalidRequest {
        /// The field of the request.
        field: String,
        /// The value.
        value: String,
        /// The reason.
        reason: String,
    },
    /// The server rejected the credentials, or requires credentials.
    #[error(
        "{repository}: authentication failed ({reason}); check the credentials in the Secret that spec.clientSecretName names"
    )]
    AuthenticationFailed {
        /// The repository.
        repository: String,
        /// The server's answer.
        reason: String,
    },
    /// The credentials are valid, but do not permit reading the repository.
    #[error(
        "{repository}: access denied (HTTP status 403); give the credentials permission to read the repository"
    )]
    AccessDenied {
        /// The repository.
        repository: String,
    },
    /// The server has no such repository, or hides it.
    #[error(
        "{repository}: repository not found; check spec.repo, and set spec.clientSecretName if the repository is private"
    )]
    RepositoryNotFound {
        /// The repository.
        repository: String,
    },
    /// The server limits the rate of requests.
    #[error(
        "{repository}: the server limits the rate of requests (HTTP status {status}); increase spec.pollingInterval, or use a webhook"
    )]
    RateLimited {
        /// The repository.
        repository: String,
        /// The HTTP status.
        status: u16,
        /// Seconds until the next request is permitted.
        retry_after: Option<u64>,
    },
    /// The server returned an unexpected HTTP status.
    #[error(
        "{repository}: the server returned HTTP status {status}; check that the URL is a git repository"
    )]
    HttpStatus {
        /// The repository.
        repository: String,
        /// The HTTP status.
        status: u16,
        /// Seconds until the next request is permitted.
        retry_after: Option<u64>,
    },
    /// No trusted authority signed the server's certificate.
    #[error(
        "{host}: the server's certificate is not trusted ({reason}); set spec.caBundle to the certificate of its authority"
    )]
    CertificateUnknown {
        /// The host.
        host: String,
        /// The reason.
        reason: String,
    },
    /// The PEM bundle has no certificate.
    #[error("spec.caBundle contains no valid PEM certificate ({reason})")]
    InvalidCaBundle {
        /// The reason.
        reason: String,
    },
    /// The known hosts do not contain the server's key.
    #[error(
        "{host}: unknown SSH host key {algorithm} {fingerprint}; verify the fingerprint, then add the key to `known_hosts` in the Secret or the ConfigMap"
    )]
    HostKeyUnknown {
        /// The host.
        host: String,
        /// The key's algorithm.
        algorithm: String,
        /// The SHA-256 fingerprint of the key, as OpenSSH prints it.
        fingerprint: String,
    },
    /// The known hosts contain a different key of the server.
    #[error(
        "{host}: the SSH host key {algorithm} {fingerprint} differs from the known key; a third party may intercept the connection: verify the fingerprint before you replace the key in `known_hosts`"
    )]
    HostKeyChanged {
        /// The host.
        host: String,
        /// The key's algorithm.
        algorithm: String,
        /// The SHA-256 fingerprint of the key.
        fingerprint: String,
    },
    /// The SSH private key cannot be used.
    #[error(
        "the SSH private key is unusable: {reason}; use an Ed25519, ECDSA or RSA key without a passphrase"
    )]
    InvalidPrivateKey {
        /// The reason.
        reason: String,
    },
    /// No connection to the server.
    #[error("{host}: cannot connect: {reason}; check the host name, the network and the proxy")]
    Connection {
        /// The host.
        host: String,
        /// The reason.
        reason: String,
    },
    /// The server's answer violates the protocol.
    #[error(
        "{repository}: the server's answer is invalid: {reason}; check that the URL is a git repository"
    )]
    Protocol {
        /// The repository.
        repository: String,
        /// The reason.
        reason: String,
    },
    /// The server reported an error.
    #[error("{repository}: the server reported: {message}")]
    Server {
        /// The repository.
        repository: String,
        /// The server's message, shortened.
        message: String,
    },
    /// The branch, tag or HEAD does not exist.
    #[error("{repository}: {kind} {name:?} does not exist; check spec.branch and spec.revision")]
    ReferenceNotFound {
        /// The repository.
        repository: String,
        /// `branch` or `tag`.
        kind: String,
        /// The name.
        name: String,
    },
    /// The server does not offer the commit.
    #[error(
        "{repository}: commit {commit} does not exist, or the server does not permit to fetch it; use a branch or a tag"
    )]
    CommitNotFound {
        /// The repository.
        repository: String,
        /// The commit ID.
        commit: String,
    },
    /// The request exceeds a limit.
    #[error(
        "the repository exceeds the limit of {maximum} {unit}; move large content out of the repository, or set spec.paths"
    )]
    Limit {
        /// The counted unit.
        unit: String,
        /// The maximum.
        maximum: u64,
    },
    /// A path of the repository is unsafe.
    #[error("the path {path:?} in the repository is unsafe: {reason}; rename the file")]
    UnsafePath {
        /// The path.
        path: String,
        /// The reason.
        reason: String,
    },
    /// A symbolic link does not lead to a file of the repository.
    #[error("the symbolic link {path:?} to {target:?} {reason}; replace the link with the file")]
    SymbolicLink {
        /// The path of the link.
        path: String,
        /// The target of the link.
        target: String,
        /// The reason.
        reason: String,
    },
    /// A submodule cannot be read.
    #[error("submodule {path:?}: {source}")]
    Submodule {
        /// The path of the submodule.
        path: String,
        /// The reason.
        source: Box<Self>,
    },
    /// The cache folder cannot be used, or its content is damaged.
    #[error("cannot use the git cache: {reason}; check the disk of the server")]
    Cache {
        /// The reason.
        reason: String,
    },
    /// The request took longer than its limit.
    #[error(
        "reading the repository took longer than {seconds} seconds; check the network, or reduce the repository's size"
    )]
    Timeout {
        /// The limit.
        seconds: u64,
    },
    /// All workers served other requests.
    #[error(
        "all git workers were busy for {seconds} seconds; reduce the number of large repositories, or increase spec.pollingInterval"
    )]
    Busy {
        /// The waiting time.
        seconds: u64,
    },
    /// The worker process did not answer.
    #[error(
        "the git worker ended without an answer ({reason}); the repository may need more memory or CPU time than permitted"
    )]
    Worker {
        /// The reason.
        reason: String,
    },
}

impl GitError {
    /// Returns the time after which the server permits the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::HttpStatus { retry_after, .. } => {
                retry_after.map(Duration::from_secs)
            }
            Self::Submodule { source, .. } => source.retry_after(),
            _ => None,
        }
    }

    pub(crate) fn limit(unit: &str, maximum: impl TryInto<u64>) -> Self {
        Self::Limit {
            unit: unit.to_owned(),
            maximum: maximum.try_into().unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn cache(action: &str, error: impl std::fmt::Display) -> Self {
        Self::Cache {
            reason: format!("cannot {action}: {error}"),
        }
    }

    pub(crate) fn invalid(field: &str, value: &str, reason: &str) -> Self {
        Self::InvalidRequest {
            field: field.to_owned(),
            value: printable(value),
            reason: reason.to_owned(),
        }
    }
}

/// The longest text of a server in a message, in characters.
const MAX_TEXT: usize = 300;

/// Returns a text of a server or repository without control characters, and shortened.
pub(crate) fn printable(text: &str) -> String {
    let mut shown: String = text
        .trim()
        .chars()
        .take(MAX_TEXT)
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect();
    if text.trim().chars().nth(MAX_TEXT).is_some() {
        shown.push('…');
    }
    shown
}
