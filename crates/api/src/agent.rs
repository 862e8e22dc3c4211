//! What agents and the server say to each other when they meet, and on the tunnel's requests.
//!
//! The meeting: `POST /v1/agent/register` once with the registration token; then for every tunnel
//! `POST /v1/agent/challenge` and `GET /v1/connect` (WebSocket) with the challenge signed.

use serde::{Deserialize, Serialize};

use crate::ids::ClusterUid;

/// Protocol versions that this build speaks, newest first; neighbours share at least one.
pub const PROTOCOLS: [u32; 2] = [2, 1];

/// Header of `GET /v1/connect`: base64 of a JSON [`ConnectProof`].
pub const PROOF_HEADER: &str = "drover-agent-proof";
/// Header of `GET /v1/connect`, comma-separated protocol versions; the answer carries the chosen.
pub const PROTOCOL_HEADER: &str = "drover-protocol";
/// Header of a tunnelled request: its [`Lane`].
pub const LANE_HEADER: &str = "drover-lane";
/// Header of an agent's own refusal of a tunnelled request: the reason, PascalCase.
pub const REFUSED_HEADER: &str = "drover-refused";
/// Path of the report stream on the report lane.
pub const REPORT_PATH: &str = "/report";

/// What a tunnelled request is for; each lane has its own service account in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// A person's request, impersonated.
    User,
    /// The server's controllers.
    Controller,
    /// The agent's reports about the cluster.
    Report,
}

impl Lane {
    /// Every lane.
    pub const ALL: [Self; 3] = [Self::User, Self::Controller, Self::Report];

    /// The value of [`LANE_HEADER`].
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Controller => "controller",
            Self::Report => "report",
        }
    }

    /// Reads the value of [`LANE_HEADER`], exactly.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.as_str() == text)
    }

    /// Name of the lane's service account in the agent's namespace.
    pub const fn service_account(self) -> &'static str {
        match self {
            Self::User => "drover-user",
            Self::Controller => "drover-controller",
            Self::Report => "drover-report",
        }
    }
}

/// Body of `POST /v1/agent/register`, sent with the registration token as bearer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterRequest {
    /// UID of the Cluster, from the manifest.
    pub cluster_uid: ClusterUid,
    /// Ed25519 public key, base64 of 32 bytes.
    pub public_key: String,
    /// Signature over `drover_access::proof::register_message`, base64 of 64 bytes.
    pub signature: String,
    /// Version of the agent program.
    pub agent_version: String,
}

/// Answer to a registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RegisterResponse {
    /// Name of the Cluster at the server.
    pub cluster_name: String,
    /// Its UID, which the key is bound to.
    pub cluster_uid: ClusterUid,
}

/// Body of `POST /v1/agent/challenge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChallengeRequest {
    /// UID of the Cluster that wants to connect.
    pub cluster_uid: ClusterUid,
}

/// A value to sign, good for one connect within a minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Challenge {
    /// Opaque to the agent.
    pub nonce: String,
}

/// What the agent proves in `GET /v1/connect`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectProof {
    /// UID of the Cluster.
    pub cluster_uid: ClusterUid,
    /// The challenge's nonce.
    pub nonce: String,
    /// Name of the pod, to tell replicas apart; shown to people, trusted for nothing.
    pub replica: String,
    /// Version of the agent program.
    pub agent_version: String,
    /// Signature over `drover_access::proof::connect_message`, base64 of 64 bytes.
    pub signature: String,
}
