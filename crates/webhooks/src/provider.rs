//! The senders of webhooks.

use http::HeaderMap;

/// A kind of git server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// GitHub and GitHub Enterprise Server.
    GitHub,
    /// GitLab.
    GitLab,
    /// Bitbucket Cloud.
    BitbucketCloud,
    /// Bitbucket Server and Bitbucket Data Center.
    BitbucketServer,
    /// Azure DevOps Services and Azure DevOps Server.
    AzureDevOps,
    /// Gitea and Forgejo.
    Gitea,
    /// Gogs.
    Gogs,
}

impl Provider {
    /// Detects the sender of a request by its headers.
    ///
    /// Gitea also sends the headers of Gogs and GitHub, and Gogs also sends the headers of GitHub.
    #[must_use]
    pub fn detect(headers: &HeaderMap) -> Option<Self> {
        const HEADERS: &[(&str, Provider)] = &[
            ("x-gitea-event", Provider::Gitea),
            ("x-forgejo-event", Provider::Gitea),
            ("x-gogs-event", Provider::Gogs),
            ("x-github-event", Provider::GitHub),
            ("x-gitlab-event", Provider::GitLab),
            ("x-hook-uuid", Provider::BitbucketCloud),
            ("x-event-key", Provider::BitbucketServer),
            ("x-vss-activityid", Provider::AzureDevOps),
            ("x-vss-subscriptionid", Provider::AzureDevOps),
        ];
        let mut known = HEADERS.iter();
        let found = known.find(|(name, _)| !header(headers, name).is_empty());
        found.map(|(_, provider)| *provider)
    }

    /// Returns the name of the provider for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::BitbucketCloud => "Bitbucket Cloud",
            Self::BitbucketServer => "Bitbucket Server",
            Self::AzureDevOps => "Azure DevOps",
            Self::Gitea => "Gitea",
            Self::Gogs => "Gogs",
        }
    }
}

/// Returns the value of a header, or an empty text.
pub(crate) fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}
