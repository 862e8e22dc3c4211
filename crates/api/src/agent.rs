//! Messages between agents and the server: registration, connection, and headers of tunnelled
//! requests.
//!
//! An agent sends `POST /v1/agent/register` once, with the registration token. For each tunnel, the
//! agent sends `POST /v1/agent/challenge`, and then `GET /v1/connect` (WebSocket) with the signed
//! challenge.

use serde::{Deserialize, Serialize};

use crate::ids::ClusterUid;

/// Protocol versions that this build supports, newest first. Two consecutive releases support at
/// least one common version.
pub const PROTOCOLS: [u32; 2] = [2, 1];

/// Header of `GET /v1/connect`: base64 of a JSON [`ConnectProof`].
pub const PROOF_HEADER: &str = "drover-agent-proof";
/// Header of a tunnelled request. The value is the name of the request's [`Lane`].
pub const LANE_HEADER: &str = "drover-lane";
/// Header of a response with which the agent refuses a tunnelled request. The value is the reason
/// in PascalCase.
pub const REFUSED_HEADER: &str = "drover-refused";
/// Path of the report stream. Valid only on the report lane.
pub const REPORT_PATH: &str = "/report";

/// The purpose of a tunnelled request. Each lane has a separate service account in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// A user's request. The agent impersonates the user.
    User,
    /// A request that one of the server's controllers sends.
    Controller,
    /// The agent's reports about the cluster.
    Report,
}

impl Lane {
    /// All lanes, in the order of declaration.
    pub const ALL: [Self; 3] = [Self::User, Self::Controller, Self::Report];

    /// Returns the value of [`LANE_HEADER`] for the lane.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Controller => "controller",
            Self::Report => "report",
        }
    }

    /// Parses the value of [`LANE_HEADER`]. The value is case-sensitive.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.as_str() == text)
    }

    /// Returns the name of the lane's service account in the agent's namespace.
    pub const fn service_account(self) -> &'static str {
        match self {
            Self::User => "drover-user",
            Self::Controller => "drover-controller",
            Self::Report => "drover-report",
        }
    }
}

/// Body of `POST /v1/agent/register`. The registration token is the bearer token.
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

/// Response to a registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RegisterResponse {
    /// Name of the Cluster on the server.
    pub cluster_name: String,
    /// UID of the Cluster that the key is bound to.
    pub cluster_uid: ClusterUid,
}

/// Body of `POST /v1/agent/challenge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChallengeRequest {
    /// UID of the Cluster to which the agent belongs.
    pub cluster_uid: ClusterUid,
}

/// A nonce that the agent signs. The nonce is valid for one connection attempt within one minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Challenge {
    /// Opaque value that the agent signs.
    pub nonce: String,
}

/// The content of [`PROOF_HEADER`], with which an agent proves that it has the cluster's private
/// key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectProof {
    /// UID of the Cluster to which the agent belongs.
    pub cluster_uid: ClusterUid,
    /// The nonce of the [`Challenge`].
    pub nonce: String,
    /// Name of the agent's pod, for display only.
    pub replica: String,
    /// Version of the agent program.
    pub agent_version: String,
    /// Signature over `drover_access::proof::connect_message`, base64 of 64 bytes.
    pub signature: String,
}
