//! Classification of REST API responses: success, rejection or temporary failure.

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde::Deserialize;
use thiserror::Error;

use super::client::GithubResponse;
use crate::error::Refusal;

/// Maximum wait before the next request. GitHub resets its rate limits every hour.
const MAX_WAIT: SignedDuration = SignedDuration::from_hours(1);

/// A temporary failure, the source of
/// [`ProviderError::Unavailable`](crate::ProviderError::Unavailable).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the server returned status {status}{retry_time}",
    retry_time = until.map(|at| format!("; retry after {at}")).unwrap_or_default()
)]
pub struct TemporaryFailure {
    /// HTTP status code.
    pub status: u16,
    /// Earliest time of the next request, at most one hour in the future.
    pub until: Option<Timestamp>,
    /// Credentials to which the rate limit applies.
    pub requested_as: RequestedAs,
}

/// Credentials of a request. Each type of credentials has a separate rate limit at GitHub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedAs {
    /// Client ID and secret of the OAuth app.
    Client,
    /// Access token of a user.
    User,
}

impl TemporaryFailure {
    /// Returns this failure for a request with the credentials of the OAuth app.
    pub(super) fn as_app(self) -> Self {
        Self {
            requested_as: RequestedAs::Client,
            ..self
        }
    }
}

/// Classification of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Classification {
    /// Success: the response contains the resource.
    Success,
    /// GitHub rejects the user.
    Refused(Refusal),
    /// A temporary failure.
    TemporaryFailure(TemporaryFailure),
    /// The rules of an organization hide the resource from Drover: single sign-on, OAuth app
    /// restrictions or an IP allow list.
    HiddenByOrganization,
    /// The resource does not exist, or the user cannot see the resource.
    Absent,
    /// A response that the documentation of the REST API does not describe.
    Unexpected(String),
}

/// Classifies the response to a request with a user's token.
///
/// Only a message about the account itself is a rejection of the user. A status 403 has many
/// causes. A 403 with an unknown cause is a temporary failure, because firewalls also return 403.
pub(super) fn of(answer: &GithubResponse, now: Timestamp) -> Classification {
    let status = answer.status;
    let headers = &answer.headers;
    let not_now = || {
        Classification::TemporaryFailure(TemporaryFailure {
            status,
            until: until(headers, now),
            requested_as: RequestedAs::User,
        })
    };
    match status {
        200..=299 => Classification::Success,
        300..=399 => Classification::Unexpected(format!(
            "the server returned the redirect {status}, which Drover does not follow; check that github.url \
             is the current address of the server"
        )),
        // A proxy in front of an Enterprise Server may also return 401, without GitHub's JSON form.
        401 if has_error_message(answer) => Classification::Refused(Refusal::Withdrawn),
        403 => {
            let message = message(&answer.body);
            if is_about_suspension(&message) {
                Classification::Refused(Refusal::Disabled)
            } else if is_limited(headers) || mentions_limits(&message) {
                not_now()
            } else if headers.contains_key("x-github-sso") || mentions_organization_rules(&message)
            {
                Classification::HiddenByOrganization
            } else {
                not_now()
            }
        }
        404 => Classification::Absent,
        401 | 408 | 425 | 429 | 500..=599 => not_now(),
        _ => Classification::Unexpected(format!("the server returned {status}")),
    }
}

/// Returns GitHub's error message in lower case. Returns an empty string if the body has a
/// different format.
fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct ErrorBody {
        message: String,
    }
    serde_json::from_slice::<ErrorBody>(body)
        .map(|time| time.message.to_lowercase())
        .unwrap_or_default()
}

/// Reports whether a response has the format of GitHub's errors.
pub(super) fn has_error_message(answer: &GithubResponse) -> bool {
    !message(&answer.body).is_empty()
}

fn is_about_suspension(message: &str) -> bool {
    ["account was suspended", "account is suspended"]
        .iter()
        .any(|words| message.contains(words))
}

fn is_limited(headers: &HeaderMap) -> bool {
    headers.contains_key(RETRY_AFTER) || number(headers, "x-ratelimit-remaining") == Some(0)
}

/// Reports whether a message is about a rate limit or about too many invalid tokens.
///
/// Responses for secondary rate limits have no header. After too many invalid tokens, GitHub
/// temporarily rejects valid tokens.
fn mentions_limits(message: &str) -> bool {
    ["rate limit", "abuse detection", "login attempts exceeded"]
        .iter()
        .any(|words| message.contains(words))
}

/// Reports whether a message is about OAuth app restrictions, IP allow lists or SAML enforcement.
///
/// Examples are "Although you appear to have the correct authorization credentials, the `acme`
/// organization has …" and "Resource protected by organization SAML enforcement".
fn mentions_organization_rules(message: &str) -> bool {
    message.starts_with("although you appear to have the correct authorization credentials")
        || message.starts_with("resource protected by organization saml enforcement")
}

/// Returns the earliest time of the next request from the headers of the response.
fn until(headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    let latest = now.checked_add(MAX_WAIT).ok()?;
    let time = match number(headers, RETRY_AFTER.as_str()) {
        Some(seconds) => now.checked_add(SignedDuration::from_secs(seconds)),
        None if number(headers, "x-ratelimit-remaining") == Some(0) => {
            Timestamp::from_second(number(headers, "x-ratelimit-reset")?)
        }
        None => return None,
    };
    // An overflowing value becomes the maximum wait.
    Some(time.unwrap_or(latest).clamp(now, latest))
}

/// Parses a header with a non-negative number of seconds or requests.
fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    let value = headers.get(name)?.to_str().ok()?;
    value.trim().parse().ok().filter(|number| *number >= 0)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn now() -> Timestamp {
        "2026-11-22T09:00:00Z".parse().unwrap()
    }

    fn classify(status: u16, headers: &[(&'static str, &str)], message: &str) -> Classification {
        let headers = headers.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).unwrap();
            (HeaderName::from_static(name), value)
        });
        let body = serde_json::json!({ "message": message }).to_string();
        let answer = GithubResponse {
            status,
            headers: headers.collect(),
            body: body.into_bytes(),
        };
        of(&answer, now())
    }

    fn not_now(status: u16, until: Option<&str>) -> Classification {
        Classification::TemporaryFailure(TemporaryFailure {
            status,
            until: until.map(|at| at.parse().unwrap()),
            requested_as: RequestedAs::User,
        })
    }

    /// A test case: response status, headers, message, and the expected earliest time of the next
    /// request.
    type Row<'a> = (u16, &'a [(&'static str, &'a str)], &'a str, Option<&'a str>);

    const SUSPENDED: &str = "Sorry. Your account was suspended.";
    const RESTRICTED: &str = "Although you appear to have the correct authorization credentials, \
        the `acme` organization has enabled OAuth App access restrictions, meaning that data access \
        to third-parties is limited.";
    const ALLOW_LIST: &str = "Although you appear to have the correct authorization credentials, \
        the `acme` organization has an IP allow list enabled, and your IP address is not permitted \
        to access this resource.";
    const SAML: &str = "Resource protected by organization SAML enforcement. You must grant your \
        OAuth token access to this organization.";

    #[test]
    fn github_401_and_account_suspension_messages_reject_the_user() {
        let table = [
            (401, "Bad credentials", Refusal::Withdrawn),
            (401, "Requires authentication", Refusal::Withdrawn),
            (403, SUSPENDED, Refusal::Disabled),
            (403, "Sorry. Your account was suspended", Refusal::Disabled),
            (403, "Your account is suspended.", Refusal::Disabled),
        ];
        for (status, message, refusal) in table {
            let found = classify(status, &[], message);
            assert_eq!(
                found,
                Classification::Refused(refusal),
                "{status} {message}"
            );
        }
        // A suspended account is rejected even if the response exhausts the rate limit.
        let last = [("x-ratelimit-remaining", "0")];
        assert_eq!(
            classify(403, &last, SUSPENDED),
            Classification::Refused(Refusal::Disabled)
        );
    }

    #[test]
    fn rate_limits_and_outages_are_temporary_failures() {
        let limited = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1795338600"),
        ];
        let reset = Some("2026-11-22T09:10:00Z");
        let hour = Some("2026-11-22T10:00:00Z");
        let table: &[Row<'_>] = &[
            (
                403,
                &limited,
                "API rate limit exceeded for user ID 1.",
                reset,
            ),
            (429, &limited, "", reset),
            (403, &limited, SAML, reset),
            (
                403,
                &[("retry-after", "60")],
                "You have exceeded a secondary rate limit.",
                Some("2026-11-22T09:01:00Z"),
            ),
            (403, &[], "You have exceeded a secondary rate limit.", None),
            (
                403,
                &[],
                "You have triggered an abuse detection mechanism.",
                None,
            ),
            (
                403,
                &[],
                "Maximum number of login attempts exceeded. Please try again later.",
                None,
            ),
            (429, &[], "", None),
            (
                429,
                &[("retry-after", "0")],
                "",
                Some("2026-11-22T09:00:00Z"),
            ),
            (429, &[("retry-after", "-5")], "", None),
            (429, &[("retry-after", "soon")], "", None),
            // Huge values do not block requests forever.
            (429, &[("retry-after", "9223372036854775807")], "", hour),
            (429, &[("retry-after", "86400")], "", hour),
            (
                403,
                &[
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "9223372036854775807"),
                ],
                "",
                hour,
            ),
            (
                403,
                &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1")],
                "",
                Some("2026-11-22T09:00:00Z"),
            ),
            // An unknown cause does not reject the user.
            (403, &[], "Request forbidden by administrative rules.", None),
            (403, &[("x-ratelimit-remaining", "4999")], "Forbidden", None),
            (403, &[], "", None),
            (500, &[], "Server Error", None),
            (502, &[], "", None),
            (
                503,
                &[("retry-after", "120")],
                "No server is currently available to service your request.",
                Some("2026-11-22T09:02:00Z"),
            ),
            (504, &[], "", None),
            (408, &[], "", None),
        ];
        for (status, headers, message, until) in table {
            let found = classify(*status, headers, message);
            assert_eq!(found, not_now(*status, *until), "{status} {message}");
        }
    }

    #[test]
    fn status_403_from_an_organization_policy_is_classified_as_hidden_by_organization() {
        let sso = [(
            "x-github-sso",
            "required; url=https://github.com/orgs/acme/sso?authorization_request=A",
        )];
        for (headers, message) in [
            (&sso[..], SAML),
            (&sso, ""),
            (&[], SAML),
            (&[], RESTRICTED),
            (&[], ALLOW_LIST),
        ] {
            assert_eq!(
                classify(403, headers, message),
                Classification::HiddenByOrganization
            );
        }
        assert_eq!(classify(404, &[], "Not Found"), Classification::Absent);
        let partial = [("x-github-sso", "partial-results; organizations=1")];
        assert_eq!(classify(200, &partial, ""), Classification::Success);
    }

    #[test]
    fn unexpected_status_is_an_invalid_response() {
        for status in [301, 302, 304, 307, 308, 400, 405, 407, 410, 415, 422, 451] {
            let found = classify(status, &[], "Moved Permanently");
            let says = matches!(&found, Classification::Unexpected(it) if it.contains(&status.to_string()));
            assert!(says, "{found:?}");
        }
    }

    #[test]
    fn github_response_without_json_is_classified_by_its_status() {
        for (status, expected) in [
            (401, not_now(401, None)),
            (403, not_now(403, None)),
            (500, not_now(500, None)),
        ] {
            for body in [&b"<html>account was suspended"[..], b"[1]", b"", b"\xff"] {
                let answer = GithubResponse {
                    status,
                    headers: HeaderMap::new(),
                    body: body.to_vec(),
                };
                assert_eq!(of(&answer, now()), expected);
            }
        }
    }
}
