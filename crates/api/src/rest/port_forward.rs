//! Request and response bodies for port forwards in the browser.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Secret;

/// A port of a pod or service: its number or its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum PortRef {
    /// The number of the port.
    Number(u16),
    /// The name of the port.
    Name(String),
}

impl std::fmt::Display for PortRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

wire! {
    /// A request to forward a port of a pod or service to a host name for the browser. The request
    /// contains either `pod` or `service`.
    #[serde(deny_unknown_fields)]
    PortForwardCreate {
        /// Name of the cluster.
        cluster: String,
        /// Namespace of the pod or service.
        namespace: String,
        /// Name of the pod.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pod: Option<String>,
        /// Name of the service. The server selects a ready pod of the service.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<String>,
        /// The port of the pod or service.
        port: PortRef,
    }
}

wire! {
    /// A port forward of the caller.
    PortForwardView {
        /// ID of the port forward, which is the first label of its host name.
        id: String,
        /// Name of the cluster.
        cluster: String,
        /// Namespace of the pod.
        namespace: String,
        /// Name of the pod.
        pod: String,
        /// Name of the service, if the request contained a service.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<String>,
        /// Number of the port in the pod.
        port: u16,
        /// The address of the forwarded port. Only the browser that opened the port forward has
        /// access.
        url: String,
        /// The time at which the port forward was created.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        created_at: Timestamp,
        /// The time of the last request or transferred byte.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        last_used_at: Timestamp,
        /// The time at which the port forward ends at the latest.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        expires_at: Timestamp,
        /// Number of bytes that the server sent to the pod.
        bytes_to_pod: u64,
        /// Number of bytes that the server received from the pod.
        bytes_from_pod: u64,
    }
}

wire! {
    /// A new port forward.
    PortForwardCreated {
        /// The port forward.
        forward: PortForwardView,
        /// The address that opens the port forward in a browser. The address contains a ticket, which
        /// is valid once and for one minute.
        open_url: Secret,
    }
}
