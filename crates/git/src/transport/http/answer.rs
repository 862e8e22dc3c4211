//! Errors of HTTP requests.

use std::error::Error;
use std::io;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use url::Url;

use crate::error::{GitError, printable};
use crate::location::authority;

/// The longest time that a server can ask a client to wait, in seconds.
const MAX_WAIT: u64 = 3600;

/// Returns a successful response, or the error for its status.
pub(super) fn check(repository: &str, response: Response) -> Result<Response, GitError> {
    let status = response.status();
    if status == StatusCode::OK {
        return Ok(response);
    }
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default();
    Err(classify(
        repository,
        status.as_u16(),
        response.headers(),
        now,
    ))
}

/// Returns the error for a status. `now` is the Unix time in seconds.
fn classify(repository: &str, status: u16, headers: &HeaderMap, now: u64) -> GitError {
    let repository = repository.to_owned();
    let retry_after = retry_after(headers, now);
    match status {
        401 => GitError::AuthenticationFailed {
            repository,
            reason: "HTTP status 401".to_owned(),
        },
        403 if retry_after.is_none() => GitError::AccessDenied { repository },
        403 | 429 => GitError::RateLimited {
            repository,
            status,
            retry_after,
        },
        404 | 410 => GitError::RepositoryNotFound { repository },
        _ => GitError::HttpStatus {
            repository,
            status,
            retry_after,
        },
    }
}

/// Returns the seconds until the next request is permitted, from `Retry-After` (RFC 9110), or from
/// the headers of GitHub and GitLab when no request remains.
fn retry_after(headers: &HeaderMap, now: u64) -> Option<u64> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(value) = text(RETRY_AFTER.as_str()) {
        let seconds = value.parse().ok().or_else(|| {
            let date = jiff::fmt::rfc2822::parse(value).ok()?;
            let at = u64::try_from(date.timestamp().as_second()).ok()?;
            Some(at.saturating_sub(now))
        });
        if let Some(seconds) = seconds {
            return Some(seconds.min(MAX_WAIT));
        }
    }
    for prefix in ["x-ratelimit", "ratelimit"] {
        if text(&format!("{prefix}-remaining")) == Some("0") {
            let reset: Option<u64> =
                text(&format!("{prefix}-reset")).and_then(|at| at.parse().ok());
            return Some(reset.map_or(MAX_WAIT, |at| at.saturating_sub(now).min(MAX_WAIT)));
        }
    }
    None
}

/// Returns the error for a request without a response.
pub(super) fn transport_error(url: &Url, error: &reqwest::Error) -> GitError {
    let host = authority(url);
    if let Some(tls) = tls_error(error)
        && let rustls::Error::InvalidCertificate(reason) = tls
    {
        let reason = match reason {
            rustls::CertificateError::UnknownIssuer => "unknown authority".to_owned(),
            other => printable(&other.to_string()),
        };
        return GitError::CertificateUnknown { host, reason };
    }
    GitError::Connection {
        host,
        reason: innermost(error),
    }
}

/// Returns the TLS error among the causes of an error.
fn tls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(current) = cause {
        if let Some(found) = current.downcast_ref() {
            return Some(found);
        }
        let inner = current
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        if let Some(found) = inner.and_then(|inner| inner.downcast_ref()) {
            return Some(found);
        }
        // The source of an I/O error is the source of its inner error.
        cause = match inner {
            Some(inner) => Some(inner),
            None => current.source(),
        };
    }
    None
}

/// Returns the text of the first cause, which contains no URL.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if std::ptr::addr_eq(cause, error) && error.url().is_some() {
        return "the request failed".to_owned();
    }
    printable(&cause.to_string())
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn status_and_headers_decide_the_error() {
        let repository = "https://host/a".to_owned();
        let limited = |status, seconds| GitError::RateLimited {
            repository: repository.clone(),
            status,
            retry_after: seconds,
        };
        for (status, pairs, expected) in [
            (429, &[("retry-after", "30")][..], limited(429, Some(30))),
            (429, &[][..], limited(429, None)),
            (
                403,
                &[("retry-after", "999999")][..],
                limited(403, Some(3600)),
            ),
            (
                403,
                &[
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "1090"),
                ][..],
                limited(403, Some(90)),
            ),
            (
                403,
                &[
                    ("x-ratelimit-remaining", "5"),
                    ("x-ratelimit-reset", "1090"),
                ][..],
                GitError::AccessDenied {
                    repository: repository.clone(),
                },
            ),
            (
                404,
                &[][..],
                GitError::RepositoryNotFound {
                    repository: repository.clone(),
                },
            ),
        ] {
            assert_eq!(
                classify("https://host/a", status, &headers(pairs), 1000),
                expected
            );
        }
    }

    #[test]
    fn retry_time_can_be_a_date() {
        let headers = headers(&[("retry-after", "Thu, 01 Jan 1970 00:17:40 GMT")]);
        assert_eq!(retry_after(&headers, 1000), Some(60));
    }
}
