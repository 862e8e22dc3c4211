//! Parsing of the response of `login/oauth/access_token`. GitHub returns most errors with status
//! 200, and the error for an unknown client ID with status 404.

use jiff::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;

use super::classification::{self, Classification, TemporaryFailure};
use super::client::GithubResponse;

/// Requested scope. The scope `read:org` is the minimal scope that lists all organizations and
/// teams of the user, including private memberships. User ID, name and public email need no scope.
pub(super) const SCOPE: &str = "read:org";
/// Scopes that include [`SCOPE`]. GitHub returns only the widest granted scope.
const ENOUGH: [&str; 3] = [SCOPE, "write:org", "admin:org"];
/// Maximum length of a token in bytes. GitHub's tokens have 40 characters. GitHub documents that
/// tokens can have up to 255 characters.
const MAX_TOKEN_BYTES: usize = 1024;

/// Result of exchanging a code for a token.
pub(super) enum Grant {
    /// A token with the requested scope.
    Token(SecretString),
    /// A token without the requested scope. The value contains the granted scopes for display.
    MissingScope(String),
    /// The code was used before or has expired, or its verifier does not match.
    Stale,
    /// The client secret is wrong.
    WrongSecret,
    /// The client does not exist, or the server is not a GitHub server.
    UnknownClient,
    /// The redirect URI does not match the OAuth app.
    WrongRedirect,
    /// The user denied consent or has no permission to consent.
    Denied,
    /// A temporary failure.
    TemporaryFailure(TemporaryFailure),
    /// A response that GitHub does not specify.
    Unexpected(String),
}

#[derive(Deserialize)]
struct TokenResponse {
    error: Option<String>,
    access_token: Option<String>,
    token_type: Option<String>,
    scope: Option<String>,
}

/// Parses a response.
pub(super) fn read(answer: &GithubResponse, now: Timestamp) -> Grant {
    // A wrong client ID or secret returns 404, or 401 or 400 in some versions.
    if !matches!(answer.status, 400 | 401 | 404) {
        match classification::of(answer, now) {
            Classification::Success => {}
            Classification::TemporaryFailure(not_now) => {
                return Grant::TemporaryFailure(not_now.as_app());
            }
            Classification::Refused(_) => return Grant::Denied,
            Classification::Unexpected(problem) => return Grant::Unexpected(problem),
            // Organization rules do not apply to the token endpoint.
            Classification::HiddenByOrganization | Classification::Absent => {
                return Grant::Unexpected(format!("the token endpoint returned {}", answer.status));
            }
        }
    }
    let Ok(response) = serde_json::from_slice::<TokenResponse>(&answer.body) else {
        return match answer.status {
            404 => Grant::UnknownClient,
            status => Grant::Unexpected(format!(
                "the token endpoint returned no JSON, with status {status}"
            )),
        };
    };
    match response.error.as_deref() {
        Some("bad_verification_code" | "invalid_grant") => Grant::Stale,
        Some("incorrect_client_credentials" | "invalid_client") => Grant::WrongSecret,
        Some("redirect_uri_mismatch") => Grant::WrongRedirect,
        Some("access_denied" | "unverified_user_email") => Grant::Denied,
        _ if answer.status == 404 => Grant::UnknownClient,
        Some(_) => {
            Grant::Unexpected("the token endpoint returned an unknown error code".to_owned())
        }
        None if answer.status >= 300 => {
            Grant::Unexpected(format!("the token endpoint returned {}", answer.status))
        }
        None => granted(response),
    }
}

fn granted(response: TokenResponse) -> Grant {
    let token = response.access_token.unwrap_or_default();
    let is_token = !token.is_empty()
        && token.len() <= MAX_TOKEN_BYTES
        && token.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_token {
        return Grant::Unexpected(
            "the token endpoint returned neither a token nor an error".to_owned(),
        );
    }
    let token = SecretString::from(token);
    if !response
        .token_type
        .is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"))
    {
        return Grant::Unexpected("the token is not a bearer token".to_owned());
    }
    let scope = response.scope.unwrap_or_default();
    let mut scopes = scope.split([',', ' ']);
    if scopes.any(|scope| ENOUGH.contains(&scope)) {
        Grant::Token(token)
    } else {
        Grant::MissingScope(displayable_scopes(&scope))
    }
}

/// Returns a list of scopes as text for display. Replaces an empty or invalid list with a
/// description.
fn displayable_scopes(scope: &str) -> String {
    let is_scope_char = |c: char| c.is_ascii_lowercase() || [':', '_', ',', ' '].contains(&c);
    if scope.trim().is_empty() {
        "no scope".to_owned()
    } else if scope.len() <= 200 && scope.chars().all(is_scope_char) {
        scope.to_owned()
    } else {
        "an invalid scope".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;
    use secrecy::ExposeSecret as _;

    use super::*;

    fn outcome(status: u16, body: &str) -> String {
        let answer = GithubResponse {
            status,
            headers: HeaderMap::new(),
            body: body.as_bytes().to_vec(),
        };
        match read(&answer, Timestamp::UNIX_EPOCH) {
            Grant::Token(token) => format!("token {}", token.expose_secret()),
            Grant::MissingScope(instead) => format!("only {instead}"),
            Grant::Stale => "stale".to_owned(),
            Grant::WrongSecret => "wrong secret".to_owned(),
            Grant::UnknownClient => "unknown client".to_owned(),
            Grant::WrongRedirect => "wrong redirect".to_owned(),
            Grant::Denied => "denied".to_owned(),
            Grant::TemporaryFailure(not_now) => format!("temporary failure: {not_now}"),
            Grant::Unexpected(problem) => format!("unexpected: {problem}"),
        }
    }

    #[test]
    fn token_with_organization_scope_is_accepted() {
        for scope in [
            "read:org",
            "admin:org",
            "write:org",
            "repo,read:org",
            "read:org user:email",
        ] {
            let body =
                format!(r#"{{"access_token":"gho_A1","token_type":"bearer","scope":"{scope}"}}"#);
            assert_eq!(outcome(200, &body), "token gho_A1");
        }
        let other = r#"{"token_type":"Bearer","scope":"read:org","access_token":"A1","expires_in":28800,"refresh_token":"R"}"#;
        assert_eq!(outcome(200, other), "token A1");
    }

    #[test]
    fn missing_scope_is_reported_with_the_granted_scopes() {
        let with = |scope: &str| {
            outcome(
                200,
                &format!(r#"{{"access_token":"ghu_A1","token_type":"bearer","scope":"{scope}"}}"#),
            )
        };
        assert_eq!(with(""), "only no scope");
        assert_eq!(with("user:email,repo"), "only user:email,repo");
        assert_eq!(with("read:organization"), "only read:organization");
        assert_eq!(with("<script>"), "only an invalid scope");
        assert_eq!(
            outcome(200, r#"{"access_token":"ghu_A1","token_type":"bearer"}"#),
            "only no scope"
        );
    }

    #[test]
    fn github_error_code_is_recognized_with_each_http_status() {
        let table = [
            ("bad_verification_code", "stale"),
            ("incorrect_client_credentials", "wrong secret"),
            ("redirect_uri_mismatch", "wrong redirect"),
            ("unverified_user_email", "denied"),
            ("access_denied", "denied"),
        ];
        for (error, expected) in table {
            for status in [200, 400, 401] {
                let body = format!(r#"{{"error":"{error}","error_description":"…"}}"#);
                assert_eq!(outcome(status, &body), expected);
                // A token next to an error is ignored.
                let both = format!(
                    r#"{{"error":"{error}","access_token":"A1","token_type":"bearer","scope":"read:org"}}"#
                );
                assert_eq!(outcome(status, &both), expected);
            }
        }
        assert_eq!(outcome(404, r#"{"error":"Not Found"}"#), "unknown client");
        assert_eq!(outcome(404, "<html>"), "unknown client");
    }

    #[test]
    fn error_of_invalid_token_response_does_not_quote_the_response() {
        let token = r#""access_token":"A1""#;
        for (status, body) in [
            (200, "access_token=A1&scope=read%3Aorg&token_type=bearer"),
            (200, ""),
            (200, "{}"),
            (200, "[]"),
            (200, r#"{"error":"A1"}"#),
            (
                200,
                r#"{"access_token":"","token_type":"bearer","scope":"read:org"}"#,
            ),
            (
                200,
                r#"{"access_token":"A1 A1","token_type":"bearer","scope":"read:org"}"#,
            ),
            (
                200,
                r#"{"access_token":"A1","token_type":"mac","scope":"read:org"}"#,
            ),
            (200, &format!("{{{token}}}")),
            (400, &format!("{{{token}}}")),
            (302, &format!("{{{token}}}")),
        ] {
            let found = outcome(status, body);
            assert!(
                found.starts_with("unexpected: "),
                "{status} {body}: {found}"
            );
            assert!(!found.contains("A1"), "{found}");
        }
        let long = "A".repeat(MAX_TOKEN_BYTES + 1);
        let body =
            format!(r#"{{"access_token":"{long}","token_type":"bearer","scope":"read:org"}}"#);
        assert!(outcome(200, &body).starts_with("unexpected: "));
    }

    #[test]
    fn rate_limit_and_server_error_are_temporary_failures() {
        for status in [429, 500, 502, 503, 403] {
            let found = outcome(status, "");
            assert_eq!(
                found,
                format!("temporary failure: the server returned status {status}")
            );
        }
    }
}
