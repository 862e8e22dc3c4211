//! Continue tokens of lists.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// The start position of the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The revision that all pages show. `None` for the latest.
    pub revision: Option<u64>,
    /// The last key of the previous page.
    pub after: String,
}

#[derive(Serialize, Deserialize)]
struct Token {
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl Token {
    fn encode(&self) -> String {
        let json = serde_json::to_vec(self).expect("strings and numbers can be serialized as JSON");
        URL_SAFE_NO_PAD.encode(json)
    }
}

const VERSION: &str = "meta.k8s.io/v1";
/// The revision value in tokens that continue at the latest state.
const LATEST: i64 = -1;

impl Position {
    /// Encodes the position as a token. The token does not contain the key prefix.
    pub fn encode(&self, prefix: &str) -> String {
        let start = self.after.strip_prefix(prefix).unwrap_or(&self.after);
        let token = Token {
            v: VERSION.to_owned(),
            rv: self
                .revision
                .and_then(|revision| i64::try_from(revision).ok())
                .unwrap_or(LATEST),
            // kube-apiserver's tokens contain the smallest possible next key.
            start: format!("{start}\0"),
        };
        token.encode()
    }

    /// Decodes a token, and adds the key prefix.
    ///
    /// # Errors
    ///
    /// Returns kube-apiserver's message for an invalid token.
    pub fn decode(text: &str, prefix: &str) -> Result<Self, String> {
        const INVALID: &str = "continue key is not valid";
        let json = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|error| format!("{INVALID}: {error}"))?;
        let token: Token = serde_json::from_slice(&json)
            .map_err(|error| format!("{INVALID}: {}", unreadable(&json, &error)))?;
        if token.v != VERSION {
            return Err(format!(
                "{INVALID}: server does not recognize this encoded version {}",
                token.v
            ));
        }
        if token.rv == 0 {
            return Err(format!(
                "{INVALID}: incorrect encoded start resourceVersion (version {VERSION})"
            ));
        }
        if token.start.is_empty() {
            return Err(format!(
                "{INVALID}: encoded start key empty (version {VERSION})"
            ));
        }
        let start = token.start.strip_prefix('/').unwrap_or(&token.start);
        let after = start.strip_suffix('\0').unwrap_or(start);
        if after.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(format!("{INVALID}: {}", token.start));
        }
        Ok(Self {
            revision: u64::try_from(token.rv).ok(),
            after: format!("{prefix}{after}"),
        })
    }
}

/// Returns Go's error message if the first byte cannot start a JSON value. Returns the message of
/// the parser for other errors.
fn unreadable(bytes: &[u8], error: &serde_json::Error) -> String {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        Some(byte) if !b"{[\"-0123456789tfn".contains(byte) => format!(
            "invalid character {:?} looking for beginning of value",
            char::from(*byte)
        ),
        None => "unexpected end of JSON input".to_owned(),
        Some(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token(json: &str) -> String {
        URL_SAFE_NO_PAD.encode(json)
    }

    #[test]
    fn errors_of_invalid_continue_tokens_match_kube_apiserver() {
        for (text, expect) in [
            (
                token(r#"{"v":"meta.k8s.io/v2","rv":1,"start":"a"}"#),
                "continue key is not valid: server does not recognize this encoded version meta.k8s.io/v2",
            ),
            (
                token(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#),
                "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ),
            (
                token(r#"{"v":"meta.k8s.io/v1","rv":1}"#),
                "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
            ),
            (
                token(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../secrets/a"}"#),
                "continue key is not valid: ../secrets/a",
            ),
        ] {
            assert_eq!(Position::decode(&text, "/core/pods/").unwrap_err(), expect);
        }
        assert!(Position::decode("!", "/core/pods/").is_err());
    }

    #[test]
    fn continue_token_without_revision_round_trips() {
        let position = Position {
            revision: None,
            after: "/core/pods/shop/web".to_owned(),
        };
        let text = position.encode("/core/pods/");
        assert_eq!(Position::decode(&text, "/core/pods/").unwrap(), position);
    }

    proptest! {
        #[test]
        fn continue_token_round_trips(revision in 1..i64::MAX as u64, name in "[a-z0-9][a-z0-9.-]{0,20}") {
            let position = Position { revision: Some(revision), after: format!("/core/pods/{name}/x") };
            let text = position.encode("/core/pods/");
            prop_assert_eq!(Position::decode(&text, "/core/pods/").unwrap(), position);
        }

        #[test]
        fn continue_token_with_key_outside_its_prefix_is_rejected(text in "[A-Za-z0-9_-]{0,60}") {
            if let Ok(position) = Position::decode(&text, "/core/pods/") {
                prop_assert!(position.after.starts_with("/core/pods/"));
            }
        }
    }
}
