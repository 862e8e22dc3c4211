//! Pure functions that decide the condition and the status of the authorized endpoint.

use std::net::{IpAddr, SocketAddr};

use drover_access::names::is_dns_name;
use drover_api::conditions::{ConditionValue, Tristate};
use drover_api::kinds::{
    ApiServerAddress, AuthorizedEndpointStatus, Cluster, LocalApiServer, NodeFacts, WebhookState,
};

use super::condition_values::{condition_value, no_node_report, unknown_while_away};
use crate::managed::{ClusterFacts, EndpointProgress};

/// Decides the condition AuthorizedEndpointReady. Returns `None` if the endpoint is disabled and the
/// cluster has no tokens.
pub(super) fn condition(cluster: &Cluster, facts: &ClusterFacts) -> Option<ConditionValue> {
    if cluster.spec.authorized_endpoint.enabled {
        let name = cluster.metadata.name.as_deref().unwrap_or_default();
        return Some(enabled(name, facts));
    }
    cluster.status.as_ref()?.authorized_endpoint.as_ref()?;
    let reason = match &facts.endpoint {
        EndpointProgress::Failed(why) => format!(": {why}"),
        _ if facts.is_connected() => String::new(),
        _ => "; the server removes the tokens when the cluster is connected".to_owned(),
    };
    Some(condition_value(
        Tristate::False,
        "RemovalPending",
        format!("the endpoint is disabled, but the cluster still accepts the tokens{reason}"),
    ))
}

fn enabled(cluster: &str, facts: &ClusterFacts) -> ConditionValue {
    if !facts.is_connected() {
        return unknown_while_away();
    }
    match &facts.endpoint {
        EndpointProgress::Applied(_) => called(cluster, facts),
        EndpointProgress::Failed(why) => condition_value(
            Tristate::False,
            "SyncFailed",
            format!("{why}; the server retries within a minute"),
        ),
        EndpointProgress::Pending | EndpointProgress::Removed => condition_value(
            Tristate::Unknown,
            "Pending",
            "the server is writing the tokens into the cluster",
        ),
    }
}

fn called(cluster: &str, facts: &ClusterFacts) -> ConditionValue {
    let Some(nodes) = facts.reported.node_facts.as_deref() else {
        return no_node_report();
    };
    let in_state = |state: &[WebhookState]| {
        let mut found = api_servers(nodes).filter(|(_, server)| state.contains(&server.webhook));
        found.next().map(|(node, _)| node.name.as_str())
    };
    if api_servers(nodes).next().is_none() {
        return condition_value(
            Tristate::Unknown,
            "NoNodeAgent",
            "no node agent on a control-plane node has found an API server; managed Kubernetes \
             services do not support the authorized endpoint; otherwise apply the manifest of this \
             version, and check DaemonSet drover-node-agent-control-plane",
        );
    }
    if let Some(node) = in_state(&[WebhookState::PortUnavailable]) {
        return condition_value(
            Tristate::False,
            "PortUnavailable",
            format!(
                "the node agent on {node} cannot listen on port 6440; stop the program that uses the port"
            ),
        );
    }
    if let Some(node) = in_state(&[WebhookState::Unchecked, WebhookState::Disabled]) {
        return condition_value(
            Tristate::Unknown,
            "Unchecked",
            format!(
                "the node agent on {node} is checking whether the API server calls the webhook"
            ),
        );
    }
    if let Some(node) = in_state(&[WebhookState::NotCalled]) {
        return condition_value(
            Tristate::False,
            "NotConfigured",
            format!(
                "the API server on {node} does not call the webhook; run: drover cluster endpoint \
                 setup {cluster}"
            ),
        );
    }
    condition_value(
        Tristate::True,
        "Ready",
        "the API servers accept tokens that are limited to this cluster",
    )
}

/// Decides the status of the endpoint. The certificates stay while the server cannot read them.
pub(super) fn status(
    present: Option<AuthorizedEndpointStatus>,
    facts: &ClusterFacts,
) -> Option<AuthorizedEndpointStatus> {
    let mut status = match (&facts.endpoint, present) {
        (EndpointProgress::Removed, _) => return None,
        (EndpointProgress::Applied(certificates), present) => AuthorizedEndpointStatus {
            webhook_certificate: certificates.webhook_certificate.clone(),
            certificate_authority: certificates.certificate_authority.clone(),
            api_servers: present.map_or_else(Vec::new, |present| present.api_servers),
        },
        (EndpointProgress::Pending | EndpointProgress::Failed(_), present) => present?,
    };
    if let Some(nodes) = &facts.reported.node_facts {
        let servers = api_servers(nodes).filter_map(|(node, server)| {
            let ip: IpAddr = node.internal_ip.as_ref()?.parse().ok()?;
            // Kubeconfigs contain the name.
            is_dns_name(&node.name, 253).then(|| ApiServerAddress {
                node: node.name.clone(),
                address: SocketAddr::new(ip, server.port).to_string(),
                calls_webhook: server.webhook == WebhookState::Called,
            })
        });
        status.api_servers = servers.collect();
    }
    Some(status)
}

fn api_servers(nodes: &[NodeFacts]) -> impl Iterator<Item = (&NodeFacts, &LocalApiServer)> {
    nodes
        .iter()
        .filter(|node| node.control_plane)
        .filter_map(|node| Some((node, node.node_agent.as_ref()?.api_server.as_ref()?)))
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::{ClusterSpec, NodeAgentReport};

    use super::*;
    use crate::managed::EndpointCertificates;

    fn cluster(enabled: bool) -> Cluster {
        let mut cluster = Cluster::new("shop", ClusterSpec::default());
        cluster.spec.authorized_endpoint.enabled = enabled;
        cluster
    }

    fn node(name: &str, webhook: WebhookState) -> NodeFacts {
        NodeFacts {
            name: name.to_owned(),
            control_plane: true,
            internal_ip: Some("10.0.0.1".to_owned()),
            node_agent: Some(NodeAgentReport {
                api_server: Some(LocalApiServer {
                    port: 6443,
                    webhook,
                }),
                ..NodeAgentReport::default()
            }),
            ..NodeFacts::default()
        }
    }

    fn facts(endpoint: EndpointProgress, nodes: &[NodeFacts]) -> ClusterFacts {
        let mut facts = ClusterFacts {
            tunnels: 1,
            endpoint,
            ..ClusterFacts::default()
        };
        facts.reported.node_facts = Some(nodes.to_vec());
        facts
    }

    fn applied() -> EndpointProgress {
        EndpointProgress::Applied(EndpointCertificates {
            webhook_certificate: "webhook".to_owned(),
            certificate_authority: "ca".to_owned(),
        })
    }

    #[test]
    fn endpoint_is_ready_only_if_every_api_server_calls_its_webhook() {
        use WebhookState::{Called, Disabled, NotCalled, PortUnavailable, Unchecked};
        let worker = NodeFacts {
            control_plane: false,
            ..node("w", NotCalled)
        };
        for (nodes, status, reason) in [
            (vec![], Tristate::Unknown, "NoNodeAgent"),
            (vec![worker.clone()], Tristate::Unknown, "NoNodeAgent"),
            (vec![node("a", Called), worker], Tristate::True, "Ready"),
            (
                vec![node("a", Called), node("b", NotCalled)],
                Tristate::False,
                "NotConfigured",
            ),
            (vec![node("a", Disabled)], Tristate::Unknown, "Unchecked"),
            (vec![node("a", Unchecked)], Tristate::Unknown, "Unchecked"),
            (
                vec![node("a", NotCalled), node("b", PortUnavailable)],
                Tristate::False,
                "PortUnavailable",
            ),
        ] {
            let found = condition(&cluster(true), &facts(applied(), &nodes)).unwrap();
            assert_eq!((found.status, found.reason), (status, reason), "{nodes:?}");
        }
        let failed = EndpointProgress::Failed("cannot write".to_owned());
        let nodes = [node("a", Called)];
        let found = condition(&cluster(true), &facts(failed, &nodes));
        assert_eq!(found.unwrap().reason, "SyncFailed");
    }

    #[test]
    fn disabled_endpoint_has_a_condition_until_the_tokens_are_removed() {
        let mut disabled = cluster(false);
        assert_eq!(condition(&disabled, &ClusterFacts::default()), None);
        let nodes = [node("a", WebhookState::Called)];
        let status = status(None, &facts(applied(), &nodes));
        disabled.status.get_or_insert_default().authorized_endpoint = status;
        let found = condition(&disabled, &ClusterFacts::default()).unwrap();
        assert_eq!(
            (found.status, found.reason),
            (Tristate::False, "RemovalPending")
        );
        assert!(found.message.ends_with("when the cluster is connected"));
        let failed = EndpointProgress::Failed("cannot delete".to_owned());
        let found = condition(&disabled, &facts(failed, &nodes)).unwrap();
        assert!(found.message.ends_with(": cannot delete"), "{found:?}");
    }

    #[test]
    fn status_keeps_the_certificates_until_the_tokens_are_removed() {
        let nodes = [node("a", WebhookState::Called)];
        let applied = status(None, &facts(applied(), &nodes)).unwrap();
        assert_eq!(applied.certificate_authority, "ca");
        assert!(applied.api_servers[0].calls_webhook);
        assert_eq!(applied.api_servers[0].address, "10.0.0.1:6443");
        let kept = status(Some(applied.clone()), &ClusterFacts::default());
        assert_eq!(kept, Some(applied.clone()));
        assert_eq!(
            status(None, &facts(EndpointProgress::Pending, &nodes)),
            None
        );
        assert_eq!(
            status(Some(applied), &facts(EndpointProgress::Removed, &nodes)),
            None
        );
    }
}
