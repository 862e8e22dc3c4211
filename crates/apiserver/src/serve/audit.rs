//! The audit hook: who asked for what, and how it ended. Never a body, never a secret.

use std::time::Duration;

use http::StatusCode;

use crate::access::Caller;
use crate::serve::input::request::RequestInfo;

/// A moment in a request's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It has come in, and the caller is known.
    Received,
    /// A stream, such as a watch, has begun.
    Started(StatusCode),
    /// The answer is complete.
    Complete(StatusCode),
}

/// One record for the audit log.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Also the answer's `Audit-Id`.
    pub id: &'a str,
    /// When in its life.
    pub stage: Stage,
    /// Who asks.
    pub caller: &'a Caller,
    /// Whom the caller impersonates.
    pub impersonated: Option<&'a Caller>,
    /// What they ask for.
    pub request: &'a RequestInfo,
    /// What the client says it is.
    pub user_agent: &'a str,
    /// Since the request came in.
    pub elapsed: Duration,
}

/// Takes audit records; must be quick, it is called within the request.
pub trait Audit: Send + Sync {
    /// Takes one.
    fn record(&self, record: &Record<'_>);
}

/// Audit that forgets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Audit for Silent {
    fn record(&self, _record: &Record<'_>) {}
}
