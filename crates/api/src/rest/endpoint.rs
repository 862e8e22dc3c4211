//! Request and response bodies for the authorized endpoint of a cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use crate::kinds::ApiServerAddress;

wire! {
    /// The authorized endpoint of a cluster: direct access to its API servers.
    EndpointView {
        /// True if the cluster accepts Drover's tokens that are limited to the cluster.
        enabled: bool,
        /// Host name of a load balancer for the API servers, optionally with a port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fqdn: Option<String>,
        /// Certificate authorities of the load balancer's certificate, in PEM.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ca_bundle: Option<String>,
        /// Number of seconds for which the cluster accepts the tokens without a confirmation by the
        /// server.
        offline_seconds: u32,
        /// The condition AuthorizedEndpointReady. Absent if the endpoint is disabled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
        condition: Option<Condition>,
        /// The API servers of the cluster.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        api_servers: Vec<ApiServerAddress>,
        /// The webhook configuration of the API servers, in YAML: a kubeconfig with the pinned
        /// certificate of the webhooks, and without a secret. Absent until the server has written the
        /// tokens into the cluster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        webhook_config: Option<String>,
    }
}
wire! {
    /// A change of the authorized endpoint. An absent field keeps its value.
    #[derive(Default)]
    #[serde(deny_unknown_fields)]
    EndpointPatch {
        /// True to write the tokens into the cluster. False to remove the tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enabled: Option<bool>,
        /// Host name of a load balancer for the API servers, optionally with a port. An empty text
        /// removes the value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fqdn: Option<String>,
        /// Certificate authorities of the load balancer's certificate, in PEM. An empty text removes
        /// the value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ca_bundle: Option<String>,
        /// Number of seconds for which the cluster accepts the tokens without a confirmation by the
        /// server, 300 to 2592000.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offline_seconds: Option<u32>,
    }
}
