//! Errors of parsing and rendering.

use crate::budget::Limit;

/// The reason why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot parse the template at line {line}: {reason}")]
pub struct ParseError {
    /// The line of the text, which starts with 1.
    pub line: usize,
    /// The syntax error.
    pub reason: String,
}

/// The reason why a rendering ended without a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The evaluation failed, as in Go.
    #[error("cannot render the template at line {line}: {reason}")]
    Failed {
        /// The line of the template, which starts with 1.
        line: usize,
        /// The failed operation. The text contains values of the data only if the template calls
        /// `fail`.
        reason: String,
    },
    /// The template called one of the functions in [`UNAVAILABLE`](crate::UNAVAILABLE), or printed
    /// the current time.
    #[error(
        "cannot render the template at line {line}: the function {function} is not available, \
         because templates have no clock, random numbers or secret keys; use a fixed value"
    )]
    Unavailable {
        /// The line of the template, which starts with 1.
        line: usize,
        /// The name of the function.
        function: &'static str,
    },
    /// The rendering exceeded a limit.
    #[error("cannot render the template at line {line}: the template exceeds the maximum {limit}")]
    Limit {
        /// The line of the template, which starts with 1.
        line: usize,
        /// The exceeded limit.
        limit: Limit,
    },
    /// The output is not valid UTF-8. A template can split a character, for example with `trunc`.
    #[error("cannot render the template: the output is not valid UTF-8")]
    NotUtf8,
}

/// The reason why a call of a function failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The arguments are invalid, or the function reports an error.
    Failed(String),
    /// The result of the function is not deterministic.
    Unavailable(&'static str),
    /// The call exceeds a limit.
    Limit(Limit),
}

impl From<Limit> for CallError {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl From<String> for CallError {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl From<&str> for CallError {
    fn from(reason: &str) -> Self {
        Self::Failed(reason.to_owned())
    }
}
