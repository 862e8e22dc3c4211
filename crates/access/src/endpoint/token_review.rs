//! The messages between an API server and a webhook that authenticates tokens
//! (`authentication.k8s.io`, TokenReview).

use std::collections::BTreeMap;

use http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Directory, Refused};
use crate::names::{GroupName, KubernetesIdentity};

/// Maximum size of a token review in bytes. API servers reject request headers of 1 MiB, and the
/// tokens of identity providers rarely have more than 16 KiB.
pub const MAX_BYTES: usize = 256 * 1024;
/// API versions of TokenReview. API servers use `v1beta1` unless the flag
/// `--authentication-token-webhook-version=v1` is set.
const VERSIONS: [&str; 2] = ["authentication.k8s.io/v1", "authentication.k8s.io/v1beta1"];
/// Kind of the messages.
const KIND: &str = "TokenReview";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    api_version: String,
    kind: String,
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    token: String,
}

#[derive(Serialize)]
struct UserInfo<'a> {
    username: &'a str,
    groups: Vec<&'a str>,
    extra: BTreeMap<&'a str, [&'a str; 1]>,
}

/// A parsed token review.
#[derive(Debug)]
pub struct TokenReview {
    version: &'static str,
    token: String,
}

impl TokenReview {
    /// Parses the body of a request. Returns `None` if the body is not a TokenReview.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let request: Request = serde_json::from_slice(body).ok()?;
        let mut versions = VERSIONS.into_iter();
        let version = versions.find(|version| *version == request.api_version)?;
        (request.kind == KIND).then_some(Self {
            version,
            token: request.spec.token,
        })
    }

    /// Returns the token that the API server received.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the response: 200 with the decision, or 503 while the node agent has not read the
    /// tokens.
    ///
    /// API servers repeat a request with a response other than 200, so a refused token is not an
    /// error.
    pub fn answer(&self, directory: Option<&Directory>, now: Timestamp) -> (StatusCode, Value) {
        let Some(directory) = directory else {
            let error = "the node agent has not read the tokens of this cluster yet";
            return (
                StatusCode::SERVICE_UNAVAILABLE,
                self.with_status(&json!({ "authenticated": false, "error": error })),
            );
        };
        let status = match directory.review(&self.token, now) {
            Ok(identity) => json!({ "authenticated": true, "user": user(identity) }),
            // The API server writes errors to its log. An unknown token is not worth a line.
            Err(Refused::Unknown) => json!({ "authenticated": false }),
            Err(refused) => json!({ "authenticated": false, "error": refused.to_string() }),
        };
        (StatusCode::OK, self.with_status(&status))
    }

    fn with_status(&self, status: &Value) -> Value {
        json!({ "apiVersion": self.version, "kind": KIND, "status": status })
    }
}

/// Returns the user of an authenticated token. The API server adds the group `system:authenticated`.
fn user(identity: &KubernetesIdentity) -> UserInfo<'_> {
    let extras = identity.extras().iter();
    UserInfo {
        username: identity.user().as_str(),
        groups: identity.groups().iter().map(GroupName::as_str).collect(),
        extra: extras.map(|(key, value)| (*key, [&**value])).collect(),
    }
}
