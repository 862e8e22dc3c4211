//! Discovery of the resources that a cluster serves.

use std::collections::HashMap;

use drover_api::agent::Lane;
use drover_api::ids::ClusterUid;
use kube::core::discovery::v2::{APIGroupDiscovery, APIResourceDiscovery};

use super::built_in::rule_only_kinds;
use super::cluster_bindings::{ClusterQueryLimiter, QUERY_TIMEOUT};
use super::resource::Kind;
use drover_agent_gateway::tunnels::Tunnels;
use drover_apply::call;

/// Maximum number of kinds that the server reads from the discovery of a cluster.
const MAX_KINDS: usize = 10_000;

/// Returns a cluster's resources, sorted by the cluster's preference of API groups. The error
/// contains the reason why discovery is not available.
pub(super) async fn discover(
    limiter: &ClusterQueryLimiter,
    user: &str,
    tunnels: &Tunnels,
    cluster: &ClusterUid,
) -> Result<Vec<Kind>, String> {
    if !tunnels.is_connected(cluster) {
        return Err("no agent of the cluster is connected".to_owned());
    }
    let _permit = limiter.acquire(user).map_err(str::to_owned)?;
    let client = tunnels.client(cluster, Lane::Controller);
    let operation = || "discover the resources of the cluster".to_owned();
    let both = async {
        tokio::try_join!(
            call(operation(), client.list_core_api_versions_aggregated()),
            call(operation(), client.list_api_groups_aggregated()),
        )
    };
    let response = tokio::time::timeout(QUERY_TIMEOUT, both).await;
    let (core, groups) = response
        .map_err(|_| {
            format!(
                "the cluster did not respond within {} s",
                QUERY_TIMEOUT.as_secs()
            )
        })?
        .map_err(|error| error.to_string())?;
    let groups = core.items.into_iter().chain(groups.items);
    let mut kinds: Vec<Kind> = groups.flat_map(kinds_of).take(MAX_KINDS).collect();
    if kinds.is_empty() {
        // API servers before v1.27 do not support aggregated discovery.
        return Err(
            "the API server does not support aggregated discovery (Kubernetes v1.27 and later)"
                .to_owned(),
        );
    }
    kinds.extend(rule_only_kinds());
    Ok(kinds)
}

fn kinds_of(group: APIGroupDiscovery) -> Vec<Kind> {
    let name = group
        .metadata
        .and_then(|meta| meta.name)
        .unwrap_or_default();
    let mut kinds: Vec<Kind> = Vec::new();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    for served in group.versions {
        let version = served.version.unwrap_or_default();
        for resource in served.resources {
            let plural = resource.resource.as_deref().unwrap_or_default();
            match indexes.get(plural) {
                Some(index) => kinds[*index].versions.push(version.clone()),
                None if kinds.len() < MAX_KINDS => {
                    indexes.insert(plural.to_owned(), kinds.len());
                    kinds.push(kind(&name, &version, resource));
                }
                None => {}
            }
        }
    }
    kinds
}

fn kind(group: &str, version: &str, resource: APIResourceDiscovery) -> Kind {
    let plural = resource.resource.unwrap_or_default();
    let below = resource.subresources.into_iter();
    let below = below.filter_map(|below| below.subresource).collect();
    // The kubelet's authorization uses subresources of nodes that the API server does not serve.
    let is_node = group.is_empty() && plural == "nodes";
    Kind {
        group: group.to_owned(),
        versions: vec![version.to_owned()],
        singular: resource.singular_resource.unwrap_or_default(),
        short: resource.short_names,
        subresources: (!is_node).then_some(below),
        plural,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resource_with_several_versions_is_listed_once() {
        let group = json!({ "metadata": { "name": "shop.example.com" }, "versions": [
            { "version": "v1", "resources": [{ "resource": "tills", "singularResource": "till",
                "shortNames": ["tl"], "subresources": [{ "subresource": "status" }] }] },
            { "version": "v1beta1", "resources": [{ "resource": "tills" }, { "resource": "bells" }] },
        ] });
        let kinds = kinds_of(serde_json::from_value(group).unwrap());
        assert_eq!(kinds.len(), 2);
        let till = Kind {
            group: "shop.example.com".to_owned(),
            versions: vec!["v1".to_owned(), "v1beta1".to_owned()],
            plural: "tills".to_owned(),
            singular: "till".to_owned(),
            short: vec!["tl".to_owned()],
            subresources: Some(vec!["status".to_owned()]),
        };
        assert_eq!(kinds[0], till);
        assert_eq!(kinds[1].versions, ["v1beta1"]);
    }
}
