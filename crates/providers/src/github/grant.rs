//! What a code was exchanged for, as `login/oauth/access_token` tells it: also an error has the
//! status 200 there, and a client that is not known has 404.

use jiff::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;

use super::client::Answer;
use super::verdict::{self, TemporaryFailure, Verdict};

/// What is asked for: the least that lists the organizations and teams that somebody is in, also
/// those that do not show their members. Number, name and public address of mail are everybody's.
pub(super) const SCOPE: &str = "read:org";
/// Each holds [`SCOPE`]; GitHub names only the widest that was granted.
const ENOUGH: [&str; 3] = [SCOPE, "write:org", "admin:org"];
/// GitHub's tokens have 40 characters, and may have up to 255.
const MOST_TOKEN_BYTES: usize = 1024;

/// What a code was exchanged for.
pub(super) enum Grant {
    /// A token that may do what was asked for.
    Token(SecretString),
    /// A token that may not: what it may do instead, for people.
    TooLittle(String),
    /// The code was redeemed before, is too old, or its verifier is another one.
    Stale,
    /// The client's secret is another one.
    WrongSecret,
    /// There is no such client, or no GitHub.
    UnknownClient,
    /// The address to come back to is not the client's.
    WrongRedirect,
    /// The person may not, or did not want to.
    Denied,
    /// It does not say.
    TemporaryFailure(TemporaryFailure),
    /// This endpoint does not answer like this.
    Strange(String),
}

#[derive(Deserialize)]
struct Said {
    error: Option<String>,
    access_token: Option<String>,
    token_type: Option<String>,
    scope: Option<String>,
}

/// Understands an answer.
pub(super) fn read(answer: &Answer, now: Timestamp) -> Grant {
    // A client whose name or secret is wrong has 404 or, in some versions, 401 or 400.
    if !matches!(answer.status, 400 | 401 | 404) {
        match verdict::of(answer, now) {
            Verdict::Answered => {}
            Verdict::TemporaryFailure(not_now) => {
                return Grant::TemporaryFailure(not_now.to_the_client());
            }
            Verdict::Refused(_) => return Grant::Denied,
            Verdict::Strange(problem) => return Grant::Strange(problem),
            // Rules about a person's data do not hold here.
            Verdict::Withheld | Verdict::Absent => {
                return Grant::Strange(format!("it answered {}", answer.status));
            }
        }
    }
    let Ok(said) = serde_json::from_slice::<Said>(&answer.body) else {
        return match answer.status {
            404 => Grant::UnknownClient,
            status => Grant::Strange(format!(
                "instead of a token there is something that is no JSON, with status {status}"
            )),
        };
    };
    match said.error.as_deref() {
        Some("bad_verification_code" | "invalid_grant") => Grant::Stale,
        Some("incorrect_client_credentials" | "invalid_client") => Grant::WrongSecret,
        Some("redirect_uri_mismatch") => Grant::WrongRedirect,
        Some("access_denied" | "unverified_user_email") => Grant::Denied,
        _ if answer.status == 404 => Grant::UnknownClient,
        Some(_) => Grant::Strange("it gave an error that Drover does not know".to_owned()),
        None if answer.status >= 300 => Grant::Strange(format!("it answered {}", answer.status)),
        None => granted(said),
    }
}

fn granted(said: Said) -> Grant {
    let token = said.access_token.unwrap_or_default();
    let is_token = !token.is_empty()
        && token.len() <= MOST_TOKEN_BYTES
        && token.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_token {
        return Grant::Strange("it gave neither a token nor an error".to_owned());
    }
    let token = SecretString::from(token);
    if !said
        .token_type
        .is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"))
    {
        return Grant::Strange("it gave a token that is of another kind than bearer".to_owned());
    }
    let scope = said.scope.unwrap_or_default();
    let mut scopes = scope.split([',', ' ']);
    if scopes.any(|scope| ENOUGH.contains(&scope)) {
        Grant::Token(token)
    } else {
        Grant::TooLittle(for_people(&scope))
    }
}

/// The names of scopes, if they are names of scopes.
fn for_people(scope: &str) -> String {
    let is_of_a_name = |c: char| c.is_ascii_lowercase() || [':', '_', ',', ' '].contains(&c);
    if scope.trim().is_empty() {
        "nothing".to_owned()
    } else if scope.len() <= 200 && scope.chars().all(is_of_a_name) {
        scope.to_owned()
    } else {
        "something else".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;
    use secrecy::ExposeSecret as _;

    use super::*;

    fn told(status: u16, body: &str) -> String {
        let answer = Answer {
            status,
            headers: HeaderMap::new(),
            body: body.as_bytes().to_vec(),
        };
        match read(&answer, Timestamp::UNIX_EPOCH) {
            Grant::Token(token) => format!("token {}", token.expose_secret()),
            Grant::TooLittle(instead) => format!("only {instead}"),
            Grant::Stale => "stale".to_owned(),
            Grant::WrongSecret => "wrong secret".to_owned(),
            Grant::UnknownClient => "unknown client".to_owned(),
            Grant::WrongRedirect => "wrong redirect".to_owned(),
            Grant::Denied => "denied".to_owned(),
            Grant::TemporaryFailure(not_now) => format!("not now: {not_now}"),
            Grant::Strange(problem) => format!("strange: {problem}"),
        }
    }

    #[test]
    fn a_token_that_may_read_organizations_is_taken() {
        for scope in [
            "read:org",
            "admin:org",
            "write:org",
            "repo,read:org",
            "read:org user:email",
        ] {
            let body =
                format!(r#"{{"access_token":"gho_A1","token_type":"bearer","scope":"{scope}"}}"#);
            assert_eq!(told(200, &body), "token gho_A1");
        }
        let other = r#"{"token_type":"Bearer","scope":"read:org","access_token":"A1","expires_in":28800,"refresh_token":"R"}"#;
        assert_eq!(told(200, other), "token A1");
    }

    #[test]
    fn a_smaller_grant_is_noticed_and_named() {
        let with = |scope: &str| {
            told(
                200,
                &format!(r#"{{"access_token":"ghu_A1","token_type":"bearer","scope":"{scope}"}}"#),
            )
        };
        assert_eq!(with(""), "only nothing");
        assert_eq!(with("user:email,repo"), "only user:email,repo");
        assert_eq!(with("read:organization"), "only read:organization");
        assert_eq!(with("<script>"), "only something else");
        assert_eq!(
            told(200, r#"{"access_token":"ghu_A1","token_type":"bearer"}"#),
            "only nothing"
        );
    }

    #[test]
    fn an_error_is_one_whatever_its_status() {
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
                assert_eq!(told(status, &body), expected);
                // Beside an error, a token is nothing.
                let both = format!(
                    r#"{{"error":"{error}","access_token":"A1","token_type":"bearer","scope":"read:org"}}"#
                );
                assert_eq!(told(status, &both), expected);
            }
        }
        assert_eq!(told(404, r#"{"error":"Not Found"}"#), "unknown client");
        assert_eq!(told(404, "<html>"), "unknown client");
    }

    #[test]
    fn what_is_neither_token_nor_error_is_not_believed_and_not_repeated() {
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
            let found = told(status, body);
            assert!(found.starts_with("strange: "), "{status} {body}: {found}");
            assert!(!found.contains("A1"), "{found}");
        }
        let long = "A".repeat(MOST_TOKEN_BYTES + 1);
        let body =
            format!(r#"{{"access_token":"{long}","token_type":"bearer","scope":"read:org"}}"#);
        assert!(told(200, &body).starts_with("strange: "));
    }

    #[test]
    fn who_is_down_or_asked_too_often_says_neither_yes_nor_no() {
        for status in [429, 500, 502, 503, 403] {
            let found = told(status, "");
            assert_eq!(found, format!("not now: it answered {status}"));
        }
    }
}
