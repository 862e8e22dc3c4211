//! Requests to the worker.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::limits::Limits;

/// A repository, and the credentials and certificates to read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// An `https`, `http` or `ssh` URL, or the SSH form `user@host:path`.
    pub url: String,
    /// The credentials.
    pub auth: Auth,
    /// Submodules receive no credentials. By default, submodules on the same server receive them.
    pub is_auth_limited: bool,
    /// PEM certificates that are trusted in addition to those of the system.
    pub ca_bundle: Option<String>,
    /// Accepts any certificate of the server.
    pub insecure_skip_tls_verify: bool,
    /// Lines in the format of OpenSSH's `known_hosts` file.
    pub known_hosts: String,
    /// Accepts any SSH host key.
    pub insecure_skip_host_key_check: bool,
}

impl Source {
    /// Returns a digest of all fields. Sources with equal digests can share one poll. The digest is
    /// not secret, but do not log it: it permits guesses of a short password.
    pub fn digest(&self) -> [u8; 32] {
        // Serialization of strings cannot fail.
        let text = serde_json::to_vec(self).unwrap_or_default();
        let mut digest = [0; 32];
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &text);
        digest.copy_from_slice(hash.as_ref());
        digest
    }

    /// Returns a source without credentials, for the certificates of the system.
    pub fn anonymous(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            auth: Auth::None,
            is_auth_limited: false,
            ca_bundle: None,
            insecure_skip_tls_verify: false,
            known_hosts: String::new(),
            insecure_skip_host_key_check: false,
        }
    }
}

/// The credentials for a repository.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Auth {
    /// No credentials.
    None,
    /// A user name and a password or token.
    Basic {
        /// The user name. Can be empty.
        username: String,
        /// The password.
        #[serde(with = "crate::secret")]
        password: SecretString,
    },
    /// An HTTP bearer token.
    Bearer {
        /// The token.
        #[serde(with = "crate::secret")]
        token: SecretString,
    },
    /// An SSH key.
    Ssh {
        /// The private key in OpenSSH or PEM format, without a passphrase.
        #[serde(with = "crate::secret")]
        private_key: SecretString,
    },
}

/// The name of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reference {
    /// The branch that the server's `HEAD` names.
    Head,
    /// The newest commit of a branch.
    Branch(String),
    /// The commit of a tag.
    Tag(String),
    /// The newest commit of a branch, or the commit of a tag if no branch has the name.
    BranchOrTag(String),
    /// A commit ID with 40 hexadecimal digits.
    Commit(String),
}

impl Reference {
    /// Returns the reference of a GitRepo's field `revision`: a commit ID, or the name of a tag.
    pub fn revision(revision: &str) -> Self {
        if is_commit(revision) {
            Self::Commit(revision.to_ascii_lowercase())
        } else {
            Self::Tag(revision.to_owned())
        }
    }

    /// Returns the reference of a chart's address: a branch, a tag or a commit ID. Without a name,
    /// returns [`Self::Head`].
    pub fn named(name: &str) -> Self {
        match name {
            "" | "HEAD" => Self::Head,
            commit if is_commit(commit) => Self::Commit(commit.to_ascii_lowercase()),
            name => Self::BranchOrTag(name.to_owned()),
        }
    }
}

/// Reports whether the text is a complete SHA-1 commit ID.
pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// One request to a worker: one line of JSON on its standard input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    Resolve {
        source: Source,
        references: Vec<Reference>,
        limits: Limits,
    },
    Fetch {
        source: Source,
        reference: Reference,
        paths: Vec<String>,
        cache_dir: PathBuf,
        limits: Limits,
    },
}

impl Request {
    pub(crate) const fn limits(&self) -> &Limits {
        match self {
            Self::Resolve { limits, .. } | Self::Fetch { limits, .. } => limits,
        }
    }
}

/// One line of JSON on a worker's standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Reply {
    /// Bytes of the pack received so far.
    Progress { received_bytes: u64 },
    /// A file. The next `size` bytes of the output are its content.
    File { path: String, size: u64 },
    /// A file that is left out of the result.
    Rejected {
        path: String,
        error: crate::error::GitError,
    },
    /// The end of a successful request for commit IDs, in the order of its references.
    Resolved {
        commits: Vec<Result<String, crate::error::GitError>>,
    },
    /// The end of a successful request for files.
    Done { commit: String, received_bytes: u64 },
    /// The end of a failed request.
    Failed { error: crate::error::GitError },
}
