//! Errors of a Kubernetes client as users read them.
//!
//! kube prints an API server's `Status` with its Rust debug output, `ApiError: … (Status { status:
//! Some(Failure), … })`. Every program holds a [`ClientError`] in its place, so that conditions,
//! events, logs and answers show the API server's message.

use std::error::Error;
use std::fmt::{self, Debug, Display, Formatter};
use std::ops::Deref;

use kube::core::Status;
use kube::runtime::watcher;

/// Why a call of a Kubernetes client failed.
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

/// Longest text of an error from a cluster that is kept, in bytes.
pub const TOLD_BYTES: usize = 1024;

/// At most [`TOLD_BYTES`] of a text that a cluster sent, in one line.
pub fn shortened(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    if text.len() <= TOLD_BYTES {
        return text.chars().map(plain).collect();
    }
    let end = text.floor_char_boundary(TOLD_BYTES - '…'.len_utf8());
    text[..end].chars().map(plain).chain(['…']).collect()
}

/// The same error with a short text, if the client could not parse an answer.
///
/// The parser quotes the whole value. The tunnel's client has cut all other errors.
pub fn told(error: kube::Error) -> kube::Error {
    match error {
        kube::Error::SerdeError(parse) => {
            let text = shortened(&parse.to_string());
            kube::Error::SerdeError(serde::de::Error::custom(text))
        }
        other => other,
    }
}

/// What a user reads of a client's error.
pub fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => of_status(status),
        kube::Error::HyperError(cause) => cause.to_string(),
        kube::Error::HttpError(cause) => cause.to_string(),
        kube::Error::Service(cause) => cause.to_string(),
        kube::Error::SerdeError(cause) => format!("cannot read the API server's answer: {cause}"),
        other => other.to_string(),
    }
}

/// What a user reads of a watch's error.
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

/// The API server's message with its HTTP code: `namespaces "a" not found (404 NotFound)`.
fn of_status(status: &Status) -> String {
    // kube's reason for an answer that is no Status, and Kubernetes' own for none.
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

    /// What a log, a condition or an answer shows: the text and the text of each cause.
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
        for (message, reason, code, wanted) in [
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
            assert_eq!(shown(&error), wanted);
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
    fn connection_error_is_shown_once() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = ClientError::from(kube::Error::Service(Box::new(refused)));
        assert_eq!(shown(&error), "connection refused");
    }

    #[test]
    fn a_value_that_is_not_what_it_should_be_is_not_quoted_whole() {
        let json = format!("{:?}", "x".repeat(100_000));
        let parse = serde_json::from_str::<u8>(&json).unwrap_err();
        let error = told(kube::Error::SerdeError(parse));
        assert!(error.to_string().len() < 2 * TOLD_BYTES);
    }
}
