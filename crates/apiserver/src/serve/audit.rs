//! The audit hook. Records contain no bodies and no secrets.

use std::time::Duration;

use http::StatusCode;

use crate::access::Caller;
use crate::serve::input::request::RequestInfo;

/// A stage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The request is authenticated, but not authorized yet.
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
    /// The stage that the request has reached.
    pub stage: Stage,
    /// The authenticated user who sent the request.
    pub caller: &'a Caller,
    /// The impersonated user. `None` without impersonation.
    pub impersonated: Option<&'a Caller>,
    /// The verb, and the resource or path of the request.
    pub request: &'a RequestInfo,
    /// The value of the header `User-Agent`.
    pub user_agent: &'a str,
    /// The time since the request was received.
    pub elapsed: Duration,
}

/// Receives audit records. Implementations run within the request, so they must not block.
pub trait Audit: Send + Sync {
    /// Receives one audit record.
    fn record(&self, record: &Record<'_>);
}

/// An audit hook that drops all records.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAudit;

impl Audit for NoAudit {
    fn record(&self, _record: &Record<'_>) {}
}
