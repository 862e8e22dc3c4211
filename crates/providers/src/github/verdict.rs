//! What an answer of the REST API means: a no, a "not now", or neither.

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde::Deserialize;
use thiserror::Error;

use super::client::Answer;
use crate::error::Refusal;

/// GitHub's limits are of one hour; whatever it says, it is asked again after one.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(1);

/// It did not answer what it was asked, but may do so later: the source of
/// [`ProviderError::Unavailable`](crate::ProviderError::Unavailable).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("it answered {status}{}", until.map(|at| format!("; ask again after {at}")).unwrap_or_default())]
pub struct TemporaryFailure {
    /// HTTP status code.
    pub status: u16,
    /// It does not want to be asked before; at most an hour away.
    pub until: Option<Timestamp>,
    /// Whom it does not want to be asked by.
    pub requested_as: RequestedAs,
}

/// With whose credentials a GitHub was asked: it counts what each may ask apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedAs {
    /// With the client's own.
    Client,
    /// With the token of one person.
    Person,
}

impl TemporaryFailure {
    /// The same answer to what was asked with the client's own credentials.
    pub(super) fn to_the_client(self) -> Self {
        Self {
            requested_as: RequestedAs::Client,
            ..self
        }
    }
}

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It holds what was asked for.
    Answered,
    /// No.
    Refused(Refusal),
    /// It does not say.
    TemporaryFailure(TemporaryFailure),
    /// An organization's rules keep it back from Drover: its single sign-on, its list of
    /// applications or of addresses.
    Withheld,
    /// There is no such thing, or none that the person may know of.
    Absent,
    /// The API does not answer like this.
    Strange(String),
}

/// What an answer to a request with somebody's token means.
///
/// Only words that are about the account itself are a no. A 403 has many causes, and one that is not
/// known is none of them: a firewall in between answers like that, too.
pub(super) fn of(answer: &Answer, now: Timestamp) -> Verdict {
    let status = answer.status;
    let headers = &answer.headers;
    let not_now = || {
        Verdict::TemporaryFailure(TemporaryFailure {
            status,
            until: until(headers, now),
            requested_as: RequestedAs::Person,
        })
    };
    match status {
        200..=299 => Verdict::Answered,
        300..=399 => Verdict::Strange(format!(
            "it answered {status}, which leads elsewhere, and Drover does not follow; is github.url \
             the address that it has now?"
        )),
        // Whoever stands in front of an Enterprise Server may answer so, too, in other words.
        401 if is_in_words(answer) => Verdict::Refused(Refusal::Withdrawn),
        403 => {
            let message = message(&answer.body);
            if is_about_suspension(&message) {
                Verdict::Refused(Refusal::Disabled)
            } else if is_limited(headers) || speaks_of_limits(&message) {
                not_now()
            } else if headers.contains_key("x-github-sso") || speaks_of_an_organization(&message) {
                Verdict::Withheld
            } else {
                not_now()
            }
        }
        404 => Verdict::Absent,
        401 | 408 | 425 | 429 | 500..=599 => not_now(),
        _ => Verdict::Strange(format!("it answered {status}")),
    }
}

/// What GitHub says in words, in lower case; nothing if it is not GitHub's form.
fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Said {
        message: String,
    }
    serde_json::from_slice::<Said>(body)
        .map(|said| said.message.to_lowercase())
        .unwrap_or_default()
}

/// Whether an answer is of GitHub's form for what went wrong.
pub(super) fn is_in_words(answer: &Answer) -> bool {
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

/// Limits on how often one may ask (secondary ones have no header), and on wrong tokens, after which
/// right ones are refused for a while.
fn speaks_of_limits(message: &str) -> bool {
    ["rate limit", "abuse detection", "login attempts exceeded"]
        .iter()
        .any(|words| message.contains(words))
}

/// "Although you appear to have the correct authorization credentials, the `acme` organization has
/// enabled OAuth App access restrictions", or "has an IP allow list enabled"; and "Resource protected
/// by organization SAML enforcement".
fn speaks_of_an_organization(message: &str) -> bool {
    message.starts_with("although you appear to have the correct authorization credentials")
        || message.starts_with("resource protected by organization saml enforcement")
}

/// When it wants to be asked again.
fn until(headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    let latest = now.checked_add(LONGEST_WAIT).ok()?;
    let said = match number(headers, RETRY_AFTER.as_str()) {
        Some(seconds) => now.checked_add(SignedDuration::from_secs(seconds)),
        None if number(headers, "x-ratelimit-remaining") == Some(0) => {
            Timestamp::from_second(number(headers, "x-ratelimit-reset")?)
        }
        None => return None,
    };
    // One that cannot be reckoned with is as far away as one may be.
    Some(said.unwrap_or(latest).clamp(now, latest))
}

/// A header that is a number of seconds, or a count.
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

    fn verdict(status: u16, headers: &[(&'static str, &str)], message: &str) -> Verdict {
        let headers = headers.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).unwrap();
            (HeaderName::from_static(name), value)
        });
        let body = serde_json::json!({ "message": message }).to_string();
        let answer = Answer {
            status,
            headers: headers.collect(),
            body: body.into_bytes(),
        };
        of(&answer, now())
    }

    fn not_now(status: u16, until: Option<&str>) -> Verdict {
        Verdict::TemporaryFailure(TemporaryFailure {
            status,
            until: until.map(|at| at.parse().unwrap()),
            requested_as: RequestedAs::Person,
        })
    }

    /// Status, headers, message, and until when is to be waited.
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
    fn a_no_is_about_the_account_itself() {
        let table = [
            (401, "Bad credentials", Refusal::Withdrawn),
            (401, "Requires authentication", Refusal::Withdrawn),
            (403, SUSPENDED, Refusal::Disabled),
            (403, "Sorry. Your account was suspended", Refusal::Disabled),
            (403, "Your account is suspended.", Refusal::Disabled),
        ];
        for (status, message, refusal) in table {
            let found = verdict(status, &[], message);
            assert_eq!(found, Verdict::Refused(refusal), "{status} {message}");
        }
        // A suspended account is refused also by the last answer of an hour.
        let last = [("x-ratelimit-remaining", "0")];
        assert_eq!(
            verdict(403, &last, SUSPENDED),
            Verdict::Refused(Refusal::Disabled)
        );
    }

    #[test]
    fn whoever_is_asked_too_often_or_is_down_says_neither_yes_nor_no() {
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
            // Nothing that is said makes it be asked never again.
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
            // A cause that is not known is not held against the person.
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
            let found = verdict(*status, headers, message);
            assert_eq!(found, not_now(*status, *until), "{status} {message}");
        }
    }

    #[test]
    fn an_organization_keeps_back_what_is_its_own_and_nothing_else() {
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
            assert_eq!(verdict(403, headers, message), Verdict::Withheld);
        }
        assert_eq!(verdict(404, &[], "Not Found"), Verdict::Absent);
        let partial = [("x-github-sso", "partial-results; organizations=1")];
        assert_eq!(verdict(200, &partial, ""), Verdict::Answered);
    }

    #[test]
    fn what_the_api_never_answers_is_not_believed() {
        for status in [301, 302, 304, 307, 308, 400, 405, 407, 410, 415, 422, 451] {
            let found = verdict(status, &[], "Moved Permanently");
            let says = matches!(&found, Verdict::Strange(it) if it.contains(&status.to_string()));
            assert!(says, "{found:?}");
        }
    }

    #[test]
    fn an_answer_that_is_no_json_is_judged_by_its_status() {
        for (status, expected) in [
            (401, not_now(401, None)),
            (403, not_now(403, None)),
            (500, not_now(500, None)),
        ] {
            for body in [&b"<html>account was suspended"[..], b"[1]", b"", b"\xff"] {
                let answer = Answer {
                    status,
                    headers: HeaderMap::new(),
                    body: body.to_vec(),
                };
                assert_eq!(of(&answer, now()), expected);
            }
        }
    }
}
