//! Records of the audit log.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The stage that the request had reached when the record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum AuditStage {
    /// A stream has started. A later record reports the end of the stream.
    Begin,
    /// The request has ended or was refused.
    End,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum AuditOutcome {
    /// The request is still open.
    Open,
    /// The complete response was sent to the client.
    Complete,
    /// Drover refused the request or could not reach the cluster.
    Refused,
    /// The client closed the connection before the end of the response.
    ClientGone,
    /// The cluster closed the connection before the end of the response.
    UpstreamGone,
    /// The request's permit was revoked.
    Revoked,
}

impl AuditOutcome {
    /// All variants.
    pub const ALL: [Self; 6] = [
        Self::Open,
        Self::Complete,
        Self::Refused,
        Self::ClientGone,
        Self::UpstreamGone,
        Self::Revoked,
    ];

    /// Returns the name of the outcome in audit records, such as `complete`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Complete => "complete",
            Self::Refused => "refused",
            Self::ClientGone => "clientGone",
            Self::UpstreamGone => "upstreamGone",
            Self::Revoked => "revoked",
        }
    }
}

wire! {
    /// One record of the audit log.
    AuditView {
        /// Time of the request.
        time: Timestamp,
        /// Duration of the request in milliseconds.
        duration_ms: f64,
        /// The stage of the request.
        stage: AuditStage,
        /// The value of the response header `drover-request-id`. Absent if `count` is set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// IP address of the client. If `count` is set, the clients' network, or absent for several
        /// networks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// Name of the authenticated user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// UID of the authenticated user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user_uid: Option<String>,
        /// ID of the token in the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// The user that the request impersonates in the cluster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        acting_as: Option<String>,
        /// Name of the cluster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
        /// UID of the cluster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster_uid: Option<String>,
        /// The verb, for example `get`, `list`, `watch` or `create`. Absent if `count` is set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verb: Option<String>,
        /// HTTP method.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        method: Option<String>,
        /// Path and query of the request, without values that can be secrets. For requests under
        /// `/v1`, the route.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Length of the complete path and query in bytes, if `path` is truncated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path_bytes: Option<u64>,
        /// For routes under `/v1`: name of the user, cluster, token or setting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<String>,
        /// Number of unauthenticated requests that the record summarizes. The requests arrived
        /// within `durationMs` after `time`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// The outcome of the request.
        outcome: AuditOutcome,
        /// HTTP status code of the response. Absent without a response.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<u16>,
        /// PascalCase reason of a refusal or revocation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Size of the request body in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes_in: Option<u64>,
        /// Size of the response body in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes_out: Option<u64>,
    }
}

/// The source of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum AuditSource {
    /// The log file, and its rotated files.
    File,
    /// The server's memory, which contains the newest records since the start of the server. The
    /// server writes the complete log to standard output.
    Memory,
}

wire! {
    /// A page of records of the audit log, newest first.
    AuditList {
        /// The records. A page can have fewer records than requested, or no records, although
        /// `continue` is set.
        items: Vec<AuditView>,
        /// Value for the query parameter `continue` in the request for older records. Absent on the
        /// last page.
        #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
        continue_token: Option<String>,
        /// Time from which the log is complete. Absent if the log is empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept_since: Option<Timestamp>,
        /// The source of the records.
        source: AuditSource,
        /// Number of skipped lines that are not valid records. On the first page, the number
        /// includes directory entries that have the name of a log file but are not files.
        unreadable: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_outcome_as_str_equals_its_serialized_value() {
        for outcome in AuditOutcome::ALL {
            let text = serde_json::to_value(outcome).unwrap();
            assert_eq!(text, outcome.as_str());
        }
    }
}
