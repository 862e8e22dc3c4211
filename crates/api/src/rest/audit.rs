//! What the audit log keeps, read back.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Which part of a request a record tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum AuditStage {
    /// A stream has begun; its end follows in a record of its own.
    Begin,
    /// The request is over, or was refused.
    End,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum AuditOutcome {
    /// It is still going on.
    Open,
    /// The whole answer was passed on.
    Complete,
    /// Drover itself refused it or could not reach the cluster.
    Refused,
    /// The client went before the end.
    ClientGone,
    /// The cluster's side broke off.
    UpstreamGone,
    /// The permit it stood on was withdrawn.
    Revoked,
}

impl AuditOutcome {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Open,
        Self::Complete,
        Self::Refused,
        Self::ClientGone,
        Self::UpstreamGone,
        Self::Revoked,
    ];

    /// As records have it.
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
        /// When the request came.
        time: Timestamp,
        /// How long it had taken, ms.
        duration_ms: f64,
        /// Which part of the request it tells of.
        stage: AuditStage,
        /// As in the answer's `drover-request-id` header; absent with `count`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Address of the client's connection; with `count`, its network, absent if there were many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// Name of whoever asked, once proved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// Their UID.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user_uid: Option<String>,
        /// Id of the token that they used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// The name in the cluster that they asked to act as.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        acting_as: Option<String>,
        /// Name of the cluster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
        /// Its UID.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster_uid: Option<String>,
        /// What was done: `get`, `list`, `watch`, `create`…; absent with `count`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verb: Option<String>,
        /// HTTP method.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        method: Option<String>,
        /// Path and query without what could be a secret; under `/v1`, the route.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Length of the whole path and query where `path` is only its beginning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path_bytes: Option<u64>,
        /// Under `/v1`: name of the user, cluster, token or setting that it was about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<String>,
        /// The record stands for so many requests of strangers, in `durationMs` from `time` on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// How it ended.
        outcome: AuditOutcome,
        /// Status code of the answer; absent if none was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<u16>,
        /// Cause of a refusal or revocation, `PascalCase`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Bytes of the request's body.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes_in: Option<u64>,
        /// Bytes of the answer's body.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes_out: Option<u64>,
    }
}

/// Where records are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum AuditSource {
    /// The log's file, and what was turned over and is still there.
    File,
    /// The server's memory: the latest since it started, as the log itself goes to standard output.
    Memory,
}

wire! {
    /// Records of the audit log, those written last first.
    AuditList {
        /// The records; may be fewer than asked for, or none, though there are more: see `continue`.
        items: Vec<AuditView>,
        /// Give it as `continue` to get older ones; absent when there are none.
        #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
        continue_token: Option<String>,
        /// Since when all records are kept; absent if there is none yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept_since: Option<Timestamp>,
        /// Where they are read from.
        source: AuditSource,
        /// Lines passed over on the way that are no records; on the first page also what has the name of
        /// one of the log's files and is no file.
        unreadable: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_written_as_it_is_called() {
        for outcome in AuditOutcome::ALL {
            let text = serde_json::to_value(outcome).unwrap();
            assert_eq!(text, outcome.as_str());
        }
    }
}
