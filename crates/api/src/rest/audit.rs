//! Records of the audit log.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The stage of the request at the time of the audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum AuditStage {
    /// The request has started a stream. A later record describes the end of the stream.
    Begin,
    /// The request has ended, or Drover has refused the request.
    End,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum AuditOutcome {
    /// The request is still open.
    Open,
    /// Drover sent the complete response to the client.
    Complete,
    /// Drover refused the request, or did not reach the cluster.
    Refused,
    /// The client closed the connection before the end of the response.
    ClientGone,
    /// The cluster closed the connection before the end of the response.
    UpstreamGone,
    /// Drover closed the response because the permit of the request was revoked.
    Revoked,
}

impl AuditOutcome {
    /// All outcomes, in the order of declaration.
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
        /// Time at which the request arrived.
        time: Timestamp,
        /// Duration of the request in milliseconds.
        duration_ms: f64,
        /// The stage of the request.
        stage: AuditStage,
        /// The value of the response header `drover-request-id`. Absent if `count` is set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// IP address of the client. If `count` is set, the network of the clients. Absent if the
        /// requests came from several networks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// Name of the authenticated user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// UID of the authenticated user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user_uid: Option<String>,
        /// ID of the token that authenticated the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// The user that the request impersonates in the cluster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        acting_as: Option<String>,
        /// Name of the cluster in the request's path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
        /// UID of the cluster in the request's path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster_uid: Option<String>,
        /// The verb, for example `get`, `list`, `watch` or `create`. Absent if `count` is set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verb: Option<String>,
        /// HTTP method.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        method: Option<String>,
        /// Path and query of the request, without values that can be secrets. For requests under
        /// `/v1`, the path pattern of the route.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Length of the complete path and query, in bytes. Present only if `path` is truncated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path_bytes: Option<u64>,
        /// For routes under `/v1`: name of the object in the path, such as a user, cluster, token
        /// or setting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<String>,
        /// Number of unauthenticated requests that the record summarizes. The requests arrived
        /// within `durationMs` after `time`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// The outcome of the request.
        outcome: AuditOutcome,
        /// HTTP status code of the response. Absent if Drover sent no response.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<u16>,
        /// PascalCase reason why Drover refused the request or revoked the permit.
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

/// The source from which the server reads audit records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum AuditSource {
    /// The audit log file and its rotated files.
    File,
    /// The server's memory, which contains the newest records since the start of the server. In
    /// this case, the server writes all records to standard output.
    Memory,
}

wire! {
    /// A page of records of the audit log, newest first.
    AuditList {
        /// The records of this page. The number of records can be lower than the requested number,
        /// even if `continue` is set.
        items: Vec<AuditView>,
        /// Value for the query parameter `continue` in the request for older records. Absent on the
        /// last page.
        #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
        continue_token: Option<String>,
        /// Time since which the log contains all records. Absent if the log is empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept_since: Option<Timestamp>,
        /// The source from which the server read the records.
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
