//! Parses the bodies of requests.

use http::HeaderMap;
use serde_json::Value;

use crate::provider::{Provider, header};

mod payload;

/// The content of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// The provider tests the webhook.
    Ping,
    /// Branches or tags changed.
    Push(Push),
    /// An event that is not related to branches or tags.
    Other,
}

/// Changed branches and tags of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// The URLs of the repository in the browser and for git. Compare them with
    /// [`matches`](crate::matches).
    pub urls: Vec<String>,
    /// The changed branches and tags.
    pub changes: Vec<Change>,
}

/// A changed branch or tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The branch or tag.
    pub reference: Reference,
    /// The new commit in hexadecimal digits, unless the branch or tag was deleted.
    pub commit: Option<String>,
}

/// A branch or a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// The name of a branch, without `refs/heads/`.
    Branch(String),
    /// The name of a tag, without `refs/tags/`.
    Tag(String),
}

/// The reason why a body is not an event of its provider.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// The body is not JSON.
    #[error(
        "cannot parse the webhook of {provider}: the body is not JSON; \
         select the content type application/json in the settings of the webhook"
    )]
    Json {
        /// The name of the provider.
        provider: &'static str,
        /// The syntax error.
        source: serde_json::Error,
    },
    /// The body has no URL of a repository.
    #[error("cannot parse the webhook of {provider}: the body has no URL of a repository")]
    NoRepository {
        /// The name of the provider.
        provider: &'static str,
    },
}

impl Provider {
    /// Parses a request. The caller limits the size of the body.
    ///
    /// # Errors
    /// See [`ParseError`].
    pub fn parse(self, headers: &HeaderMap, body: &[u8]) -> Result<Delivery, ParseError> {
        let kind = self.kind(headers);
        match (self, kind) {
            (Self::GitHub, "ping") | (Self::BitbucketServer, "diagnostics:ping") => {
                return Ok(Delivery::Ping);
            }
            (Self::GitHub | Self::Gitea, "push")
            | (Self::Gogs, "push" | "create")
            | (Self::GitLab, "Push Hook" | "Tag Push Hook" | "System Hook")
            | (Self::BitbucketCloud, "repo:push")
            | (Self::BitbucketServer, "repo:refs_changed")
            | (Self::AzureDevOps, _) => {}
            _ => return Ok(Delivery::Other),
        }
        let provider = self.name();
        let body: Value =
            serde_json::from_slice(body).map_err(|source| ParseError::Json { provider, source })?;
        let Some(push) = payload::push(self, &body) else {
            return Ok(Delivery::Other);
        };
        if push.urls.is_empty() {
            return Err(ParseError::NoRepository { provider });
        }
        Ok(Delivery::Push(push))
    }

    /// Returns the kind of the event in the headers.
    fn kind(self, headers: &HeaderMap) -> &str {
        let names: &[&str] = match self {
            Self::GitHub => &["x-github-event"],
            Self::GitLab => &["x-gitlab-event"],
            Self::BitbucketCloud | Self::BitbucketServer => &["x-event-key"],
            Self::AzureDevOps => &[],
            Self::Gitea => &["x-gitea-event", "x-forgejo-event"],
            Self::Gogs => &["x-gogs-event"],
        };
        let mut values = names.iter().map(|name| header(headers, name));
        values.find(|value| !value.is_empty()).unwrap_or_default()
    }
}
