//! Cluster objects of the hub.

use std::sync::Arc;

use drover_api::kinds::{ClusterSpec, ClusterStatus};
use drover_api::rest::{ClusterRights, ClusterView};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::messages::t;

/// The API path of the Cluster objects. Only administrators can read the path.
pub const CLUSTERS: &str = "/k8s/clusters/local/apis/management.drover.dev/v1alpha1/clusters";

/// The API path of the hub's version. Only administrators can read the path.
pub const HUB_VERSION: &str = "/k8s/clusters/local/version";

/// The response of the hub's version endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiVersion {
    git_version: String,
    #[serde(default)]
    compiler: String,
}

impl ApiVersion {
    /// Formats the version: `embedded, Kubernetes API v1.36.3` or `Kubernetes v1.36.1`. The API is
    /// embedded if its version response contains the compiler `rustc`.
    pub fn words(&self) -> String {
        match self.compiler.as_str() {
            "rustc" => t().about.embedded_hub(&self.git_version),
            _ => format!("Kubernetes {}", self.git_version),
        }
    }
}

/// A Cluster object of the hub's API.
#[derive(Clone, Debug, Deserialize)]
pub struct HubCluster {
    metadata: ObjectMeta,
    spec: ClusterSpec,
    #[serde(default)]
    status: Option<ClusterStatus>,
}

impl From<HubCluster> for ClusterView {
    fn from(cluster: HubCluster) -> Self {
        // Only administrators read Cluster objects from the hub.
        let rights = ClusterRights::everything();
        Self::of(cluster.metadata, cluster.spec, cluster.status, rights)
    }
}

/// A shared cluster view that is deserialized from a Cluster object.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "HubCluster")]
pub struct SharedCluster(Arc<ClusterView>);

impl From<HubCluster> for SharedCluster {
    fn from(cluster: HubCluster) -> Self {
        Self(Arc::new(cluster.into()))
    }
}

impl SharedCluster {
    /// Returns the cluster as the view that the REST API also returns.
    pub fn view(&self) -> Arc<ClusterView> {
        Arc::clone(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_object_and_rest_response_convert_to_the_same_view() {
        let object = r#"{"apiVersion":"management.drover.dev/v1alpha1","kind":"Cluster","metadata":
          {"name":"berlin","uid":"u","resourceVersion":"7","creationTimestamp":"2026-11-20T08:00:00Z",
          "labels":{"env":"prod"}},"spec":{"description":"ours"},"status":{"kubernetesVersion":"v1.36.1",
          "nodes":{"total":3,"ready":2},"capacity":{"cpu":"12"},"lastSeen":"2026-11-21T08:00:00Z",
          "conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"",
          "lastTransitionTime":"2026-11-21T08:00:00Z"}]}}"#;
        let cluster: HubCluster = serde_json::from_str(object).unwrap();
        let view = ClusterView::from(cluster);
        assert_eq!((view.name.as_str(), view.uid.as_str()), ("berlin", "u"));
        assert_eq!(view.description.as_deref(), Some("ours"));
        assert_eq!(view.labels["env"], "prod");
        assert_eq!(view.nodes.map(|nodes| nodes.ready), Some(2));
        assert_eq!(view.conditions.len(), 1);
        assert!(!view.deleting && view.last_seen.is_some());
    }

    #[test]
    fn version_text_distinguishes_the_embedded_hub() {
        for (body, expected) in [
            (
                r#"{"gitVersion":"v1.36.3","compiler":"rustc"}"#,
                "embedded, Kubernetes API v1.36.3",
            ),
            (
                r#"{"gitVersion":"v1.35.1","compiler":"gc"}"#,
                "Kubernetes v1.35.1",
            ),
        ] {
            let version: ApiVersion = serde_json::from_str(body).unwrap();
            assert_eq!(version.words(), expected);
        }
    }

    #[test]
    fn new_cluster_without_status_is_converted() {
        let object =
            r#"{"metadata":{"name":"new","deletionTimestamp":"2026-11-21T08:00:00Z"},"spec":{}}"#;
        let cluster: HubCluster = serde_json::from_str(object).unwrap();
        let view = ClusterView::from(cluster);
        assert!(view.deleting && view.conditions.is_empty() && view.nodes.is_none());
    }
}
