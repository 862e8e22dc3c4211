//! Messages between agents and the server: registration, connection, and headers of tunnelled
//! requests.
//!
//! An agent sends `POST /v1/agent/register` once, with the registration token. For each tunnel, the
//! agent sends `POST /v1/agent/challenge`, and then `GET /v1/connect` (WebSocket) with the signed
//! challenge.
//!
//! A node agent sends `POST /v1/agent/node` instead of the registration. The server forwards the node
//! agent's token to the cluster agent ([`ENDORSE_PATH`]), which verifies the token.
//!
//! The server replaces a bound key through a tunnel that the key has authenticated. The agent creates
//! a new key ([`NEXT_KEY_PATH`]), the server binds it, and then the agent opens a new tunnel with the
//! new key ([`USE_KEY_PATH`]).
//!
//! A cluster agent that pulls from the hub sends `POST /v1/agent/challenge`, and then
//! `POST /v1/agent/hub-token` with the signed challenge ([`gitops`](crate::gitops)). The response contains
//! a token for the hub's Kubernetes API.

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

/// Path on the report lane at which the cluster agent verifies the token of a node agent. The body is
/// an [`EndorseRequest`], and the response is an [`Endorsement`].
pub const ENDORSE_PATH: &str = "/endorse";
/// Path on the report lane at which an agent creates and stores a new key. The request has no body,
/// and the response is a [`NextKey`].
pub const NEXT_KEY_PATH: &str = "/key/next";
/// Path on the report lane at which an agent starts to use a stored key. The body is a
/// [`UseKeyRequest`], and the response has no body. The agent then opens a new tunnel with the key.
pub const USE_KEY_PATH: &str = "/key/use";
/// Audience of the service account token with which a node agent proves its node. The API server does
/// not accept a token with this audience.
pub const NODE_TOKEN_AUDIENCE: &str = "drover-node-agent";

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
    /// Name of the node of a node agent. Absent for the cluster agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Signature over `drover_access::proof::connect_message`, base64 of 64 bytes. A node agent signs
    /// `drover_access::proof::node_connect_message`.
    pub signature: String,
}

/// The class of a node. The DaemonSets of node agents have different rights on each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum NodeClass {
    /// A node with the label `node-role.kubernetes.io/control-plane`.
    ControlPlane,
    /// Any other node.
    Worker,
}

impl NodeClass {
    /// Both classes. Tunnels of the first class are preferred.
    pub const ALL: [Self; 2] = [Self::ControlPlane, Self::Worker];

    /// Returns the name of the class in labels: `control-plane` or `worker`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::ControlPlane => "control-plane",
            Self::Worker => "worker",
        }
    }

    /// Returns the name of the DaemonSet and of the service account of the class's node agents.
    pub const fn service_account(self) -> &'static str {
        match self {
            Self::ControlPlane => "drover-node-agent-control-plane",
            Self::Worker => "drover-node-agent-worker",
        }
    }
}

/// Body of `POST /v1/agent/node`, which binds the key of a node agent to its node.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeRegisterRequest {
    /// UID of the Cluster, from the manifest.
    pub cluster_uid: ClusterUid,
    /// Ed25519 public key of the node agent, base64 of 32 bytes.
    pub public_key: String,
    /// Token of the pod's service account with the audience [`NODE_TOKEN_AUDIENCE`].
    pub token: String,
    /// Signature over `drover_access::proof::node_register_message`, base64 of 64 bytes.
    pub signature: String,
    /// Version of the node agent program.
    pub agent_version: String,
}

impl std::fmt::Debug for NodeRegisterRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeRegisterRequest")
            .field("cluster_uid", &self.cluster_uid)
            .field("public_key", &self.public_key)
            .field("agent_version", &self.agent_version)
            .finish_non_exhaustive()
    }
}

/// Response to `POST /v1/agent/node`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeRegisterResponse {
    /// Name of the Cluster on the server.
    pub cluster_name: String,
    /// Name of the node that the key is bound to.
    pub node: String,
}

/// Body of a request to [`ENDORSE_PATH`].
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndorseRequest {
    /// The token of a node agent's pod.
    pub token: String,
}

impl std::fmt::Debug for EndorseRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndorseRequest").finish_non_exhaustive()
    }
}

/// Response to a request to [`NEXT_KEY_PATH`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NextKey {
    /// Ed25519 public key of the new key, base64 of 32 bytes.
    pub public_key: String,
    /// Signature of the new key over `drover_access::proof::next_key_message`, base64 of 64 bytes.
    pub signature: String,
}

/// Body of a request to [`USE_KEY_PATH`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UseKeyRequest {
    /// Ed25519 public key that the server has bound, base64 of 32 bytes.
    pub public_key: String,
}

/// The node of a node agent's pod, as the cluster's API server names it in the review of the pod's
/// token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endorsement {
    /// Name of the node.
    pub node: String,
    /// UID of the node. A node that is created again has a different UID.
    pub node_uid: String,
    /// Class of the node agent, from the service account of the pod.
    pub class: NodeClass,
}
