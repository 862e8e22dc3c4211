//! Errors of a Kubernetes client with readable messages.
//!
//! kube prints an API server's `Status` with its Rust debug output, `ApiError: … (Status { status:
//! Some(Failure), … })`. All programs use [`ClientError`] instead, so that conditions, events, logs
//! and responses contain the API server's message.

use std::error::Error;
use std::fmt::{self, Debug, Display, Formatter};
use std::ops::Deref;

use kube::core::Status;
use kube::runtime::watcher;

/// An error of a Kubernetes client. [`message`] formats its text.
pub struct ClientError(Box<kube::Error>);

impl From<kube::Error> for ClientError {
    fn from(error: kube::Error) -> Self {
        Self(Box::new(error))
    }
}

impl Deref for ClientError {
    type Target = kube::Error;

    fn deref(&self) -> &kube::Error {
        &self.0
    }
}

impl Display for ClientError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&message(&self.0))
    }
}

impl Debug for ClientError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, f)
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // The message contains the text of the first cause.
        match &*self.0 {
            kube::Error::Api(_) => None,
            other => other.source().and_then(Error::source),
        }
    }
}

/// Maximum length of an error text from a cluster, in bytes.
pub const MAX_ERROR_BYTES: usize = 1024;

/// Returns `text` on one line, truncated to [`MAX_ERROR_BYTES`].
pub fn shortened(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    if text.len() <= MAX_ERROR_BYTES {
        return text.chars().map(plain).collect();
    }
    let end = text.floor_char_boundary(MAX_ERROR_BYTES - '…'.len_utf8());
    text[..end].chars().map(plain).chain(['…']).collect()
}

/// Truncates the message of a parse error, because the parser's message contains the complete
/// response. Does not change errors of other types, because the tunnel's client has already
/// truncated their messages.
pub fn shorten_parse_error(error: kube::Error) -> kube::Error {
    match error {
        kube::Error::SerdeError(parse) => {
            let text = shortened(&parse.to_string());
            kube::Error::SerdeError(serde::de::Error::custom(text))
        }
        other => other,
    }
}

/// Returns the text of a client error for users.
pub fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => of_status(status),
        kube::Error::HyperError(cause) => cause.to_string(),
        kube::Error::HttpError(cause) => cause.to_string(),
        kube::Error::Service(cause) => cause.to_string(),
        kube::Error::SerdeError(cause) => {
            format!("cannot parse the API server's response: {cause}")
        }
        other => other.to_string(),
    }
}

/// Returns the text of a watch error for users.
pub fn watch_message(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(cause) => format!("cannot list: {}", message(cause)),
        watcher::Error::WatchStartFailed(cause) => format!("cannot watch: {}", message(cause)),
        watcher::Error::WatchFailed(cause) => format!("the watch failed: {}", message(cause)),
        watcher::Error::WatchError(status) => {
            format!("the API server ended the watch: {}", of_status(status))
        }
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}

/// Returns the API server's message with the HTTP status code: `namespaces "a" not found (404
/// NotFound)`.
fn of_status(status: &Status) -> String {
    // Ignore kube's reason for a body that is not a `Status`, and Kubernetes' reasons without
    // information.
    let known = !matches!(
        &*status.reason,
        "" | "Unknown" | "Failed to parse error data"
    );
    let reason = if known { &*status.reason } else { "" };
    let code = match (status.code, reason) {
        (0, reason) => reason.to_owned(),
        (code, "") => format!("HTTP {code}"),
        (code, reason) => format!("{code} {reason}"),
    };
    match (status.message.trim(), &*code) {
        ("", "") => "the API server gave no reason".to_owned(),
        (message, "") => message.to_owned(),
        ("", code) => code.to_owned(),
        (message, code) => format!("{message} ({code})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(message: &str, reason: &str, code: u16) -> kube::Error {
        let status = Status::failure(message, reason).with_code(code);
        kube::Error::Api(status.boxed())
    }

    /// Returns the text of an error, followed by the texts of all causes of the error.
    fn shown(error: &dyn Error) -> String {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        text
    }

    #[test]
    fn api_error_shows_the_message_and_no_debug_output() {
        for (message, reason, code, expected) in [
            (
                "pods \"a\" is forbidden",
                "Forbidden",
                403,
                "pods \"a\" is forbidden (403 Forbidden)",
            ),
            (
                "no tunnel",
                "Failed to parse error data",
                503,
                "no tunnel (HTTP 503)",
            ),
            ("", "NotFound", 404, "404 NotFound"),
            ("", "", 0, "the API server gave no reason"),
        ] {
            let error = ClientError::from(refused(message, reason, code));
            assert_eq!(shown(&error), expected);
        }
    }

    #[test]
    fn watch_error_shows_no_debug_output() {
        let error = watcher::Error::InitialListFailed(refused("not now", "Timeout", 504));
        assert_eq!(watch_message(&error), "cannot list: not now (504 Timeout)");
        let ended = Status::failure("too old", "Expired").with_code(410).boxed();
        let text = watch_message(&watcher::Error::WatchError(ended));
        assert!(
            !text.contains("Status") && text.contains("410 Expired"),
            "{text}"
        );
    }

    #[test]
    fn connection_error_message_contains_the_cause_only_once() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = ClientError::from(kube::Error::Service(Box::new(refused)));
        assert_eq!(shown(&error), "connection refused");
    }

    #[test]
    fn parse_error_contains_only_an_excerpt_of_the_value() {
        let json = format!("{:?}", "x".repeat(100_000));
        let parse = serde_json::from_str::<u8>(&json).unwrap_err();
        let error = shorten_parse_error(kube::Error::SerdeError(parse));
        assert!(error.to_string().len() < 2 * MAX_ERROR_BYTES);
    }
}
