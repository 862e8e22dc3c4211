//! Authentication at the authorized endpoint: a node agent answers the token reviews of its API
//! server with the tokens that the server has written into the cluster.
//!
//! The tokens contain the names that the proxy impersonates, so the cluster's RBAC makes the same
//! decisions for direct and for proxied requests. [`Directory::review`] never returns a name
//! without the prefix `drover:`.

pub mod token_review;

use std::collections::{BTreeMap, HashMap};

use drover_api::endpoint::{EndpointState, EndpointToken};
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use crate::identity::Identity;
use crate::names::{
    EXTRA_DISPLAY_NAME, EXTRA_TOKEN_ID, GroupName, KubernetesIdentity, PREFIX, UserName,
};
use crate::token::{TokenHash, UserToken};

/// Reasons why a node agent refuses a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The text is not a Drover token, or the cluster has no such token, or the secret is wrong.
    #[error("not a token for this cluster")]
    Unknown,
    /// The token has expired, or the identity provider's confirmation of the user has expired.
    #[error("the token has expired: get a new kubeconfig from the Drover server")]
    Expired,
    /// The server has not confirmed the tokens for too long.
    #[error(
        "the Drover server confirmed the tokens of this cluster too long ago: connect the cluster \
         to the server, or increase spec.authorizedEndpoint.offlineSeconds of the Cluster"
    )]
    Outdated,
}

/// Reasons to reject the content of a Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ContentError {
    /// The content is not JSON of the expected shape.
    #[error("the content is not valid JSON of this version of Drover")]
    Malformed,
    /// A name is not the name of a Drover user or group.
    #[error("the content has a name without the prefix {PREFIX:?}")]
    ForeignName,
}

/// The tokens in one Secret, by ID.
#[derive(Clone, Debug, Default)]
pub struct Tokens(HashMap<String, Entry>);

#[derive(Clone, Debug)]
struct Entry {
    hash: TokenHash,
    until: Timestamp,
    identity: KubernetesIdentity,
}

impl Tokens {
    /// Parses the content of a Secret. Rejects the complete content if one name is not a Drover
    /// name, because another writer has then changed the Secret.
    pub fn parse(content: &[u8]) -> Result<Self, ContentError> {
        let listed: Vec<EndpointToken> =
            serde_json::from_slice(content).map_err(|_| ContentError::Malformed)?;
        let entries = listed.into_iter().map(|token| {
            let user = UserName::parse(&token.user);
            let groups = token.groups.iter().map(|name| GroupName::parse(name));
            let (Some(user), Some(groups)) = (user, groups.collect::<Option<Vec<_>>>()) else {
                return Err(ContentError::ForeignName);
            };
            let mut identity =
                KubernetesIdentity::new(user, groups).with_extra(EXTRA_TOKEN_ID, token.id.clone());
            if let Some(name) = token.display_name {
                identity = identity.with_extra(EXTRA_DISPLAY_NAME, name);
            }
            let entry = Entry {
                hash: TokenHash::stored(&token.hash),
                until: token.until,
                identity,
            };
            Ok((token.id, entry))
        });
        entries.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the identities of all tokens.
    pub fn identities(&self) -> impl Iterator<Item = &KubernetesIdentity> {
        self.0.values().map(|entry| &entry.identity)
    }
}

/// Parses the content of the Secret with the state.
pub fn parse_state(content: &[u8]) -> Result<EndpointState, ContentError> {
    serde_json::from_slice(content).map_err(|_| ContentError::Malformed)
}

/// The state of a cluster's authorized endpoint in a node agent.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// The state that the server has confirmed. `None` if the endpoint is disabled.
    pub state: Option<EndpointState>,
    /// The tokens, by name of the Secret.
    pub tokens: BTreeMap<String, Tokens>,
}

impl Directory {
    /// Returns the identity of a presented token.
    ///
    /// Compares the secret in constant time even for an unknown ID. Only a client with the correct
    /// secret learns that a token has expired.
    pub fn review(&self, presented: &str, now: Timestamp) -> Result<&KubernetesIdentity, Refused> {
        let token = UserToken::parse(presented).ok_or(Refused::Unknown)?;
        let entry = self.tokens.values().find_map(|one| one.0.get(token.id()));
        let stored = entry.map_or_else(TokenHash::of_nothing, |entry| entry.hash.clone());
        let entry = entry.filter(|_| token.matches(&stored));
        let (Some(entry), Some(state)) = (entry, &self.state) else {
            return Err(Refused::Unknown);
        };
        if now >= entry.until {
            return Err(Refused::Expired);
        }
        let offline = SignedDuration::from_secs(state.offline_seconds.into());
        if now.duration_since(state.confirmed_at) > offline {
            return Err(Refused::Outdated);
        }
        Ok(&entry.identity)
    }
}

/// Returns the entry of a token, with the names that the proxy uses for the same token.
///
/// `until` is the end of the time in which the identity stays the same without the server.
pub fn entry(
    identity: &Identity,
    at_cluster: &KubernetesIdentity,
    hash: &str,
    until: Timestamp,
) -> EndpointToken {
    let groups = at_cluster.groups().iter();
    EndpointToken {
        id: identity.token.id.clone(),
        hash: hash.to_owned(),
        until: until.min(identity.token.expires_at),
        user: at_cluster.user().to_string(),
        groups: groups.map(ToString::to_string).collect(),
        display_name: identity.display_name.clone(),
    }
}

#[cfg(test)]
mod tests;
