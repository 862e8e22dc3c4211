//! The audit hook. Records contain no bodies and no secrets.

use std::time::Duration;

use http::StatusCode;

use crate::access::Caller;
use crate::serve::input::request::RequestInfo;

/// A stage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The request is authenticated.
    Received,
    /// A stream such as a watch has started.
    Started(StatusCode),
    /// The response is complete.
    Complete(StatusCode),
}

/// An audit record.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The request ID, equal to the response header `Audit-Id`.
    pub id: &'a str,
    /// The stage.
    pub stage: Stage,
    /// The authenticated user.
    pub caller: &'a Caller,
    /// The impersonated user.
    pub impersonated: Option<&'a Caller>,
    /// Verb and resource or path.
    pub request: &'a RequestInfo,
    /// The header `User-Agent`.
    pub user_agent: &'a str,
    /// The time since the request was received.
    pub elapsed: Duration,
}

/// Receives audit records. Runs within the request, so it must not block.
pub trait Audit: Send + Sync {
    /// Receives one record.
    fn record(&self, record: &Record<'_>);
}

/// Drops all audit records.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Audit for Silent {
    fn record(&self, _record: &Record<'_>) {}
}
