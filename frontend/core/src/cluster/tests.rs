//! Tests of the state and the load of a cluster.

use std::collections::BTreeMap;

use drover_api::kinds::{ComponentHealth, NodeCount, PodCount};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::*;
use crate::messages::{Language, set_language};

fn cluster(conditions: &[(&str, &str, &str, &str)]) -> ClusterView {
    ClusterView {
        name: "a".to_owned(),
        uid: "u".to_owned(),
        description: None,
        labels: BTreeMap::new(),
        created_at: Timestamp::UNIX_EPOCH,
        deleting: false,
        conditions: conditions
            .iter()
            .map(|(kind, status, reason, message)| Condition {
                last_transition_time: Time(Timestamp::UNIX_EPOCH),
                message: (*message).to_owned(),
                observed_generation: None,
                reason: (*reason).to_owned(),
                status: (*status).to_owned(),
                type_: (*kind).to_owned(),
            })
            .collect(),
        kubernetes_version: None,
        key_bound_at: None,
        nodes: None,
        hosts_hub: false,
        not_ready_nodes: Vec::new(),
        pods: None,
        capacity: BTreeMap::new(),
        allocatable: BTreeMap::new(),
        requests: BTreeMap::new(),
        usage: BTreeMap::new(),
        components: Vec::new(),
        agent: None,
        connection: None,
        node_agents: Vec::new(),
        endpoint_enabled: false,
        node_facts: Vec::new(),
        last_seen: None,
        rights: drover_api::rest::ClusterRights::default(),
    }
}

fn well() -> ClusterView {
    cluster(&[
        ("Registered", "True", "KeyBound", ""),
        ("Connected", "True", "Connected", ""),
        ("Ready", "True", "Ready", "fine"),
    ])
}

fn told(cluster: &ClusterView) -> (Health, String, Option<String>) {
    let state = state(cluster);
    (state.health, state.summary, state.detail)
}

#[test]
fn cluster_state_has_the_same_text_as_the_command_line() {
    assert_eq!(told(&well()), (Health::Ready, "ready".to_owned(), None));
    let new = cluster(&[("Ready", "False", "NotRegistered", "apply the manifest")]);
    let reason = Some("apply the manifest".to_owned());
    assert_eq!(
        told(&new),
        (
            Health::Waiting,
            "waiting for its manifest".to_owned(),
            reason
        )
    );
    let mut cut = well();
    cut.conditions[1].status = "False".to_owned();
    assert_eq!(told(&cut).0, Health::Disconnected);
    let mut failing = well();
    failing.conditions[2].status = "False".to_owned();
    failing.conditions[2].reason = "APIServerNotReady".to_owned();
    let (health, words, reason) = told(&failing);
    assert_eq!(
        (health, words.as_str()),
        (Health::Failing, "API server not ready")
    );
    assert_eq!(reason.as_deref(), Some("fine"));
    let mut leaving = well();
    leaving.deleting = true;
    assert_eq!(told(&leaving).0, Health::Deleting);
}

#[test]
fn ready_cluster_with_an_unhealthy_component_is_degraded() {
    let mut node = well();
    node.nodes = Some(NodeCount { total: 3, ready: 2 });
    assert_eq!(told(&node).1, "2 of 3 nodes ready");
    let mut part = well();
    part.nodes = Some(NodeCount { total: 3, ready: 3 });
    part.components = vec![ComponentHealth {
        name: "etcd".to_owned(),
        healthy: false,
        message: Some("no leader".to_owned()),
    }];
    let expected = (
        Health::Degraded,
        "etcd unhealthy".to_owned(),
        Some("no leader".to_owned()),
    );
    assert_eq!(told(&part), expected);
}

#[test]
fn cluster_state_text_names_failed_nodes_and_number_of_failing_pods() {
    let mut cluster = well();
    cluster.nodes = Some(NodeCount { total: 9, ready: 8 });
    cluster.not_ready_nodes = vec!["a".to_owned()];
    assert_eq!(told(&cluster).1, "node a NotReady");
    cluster.pods = Some(PodCount {
        failing: 5,
        unschedulable: 1,
    });
    let expected = "node a NotReady, 5 pods failing, 1 pod unschedulable";
    assert_eq!(told(&cluster).1, expected);
    cluster.nodes = Some(NodeCount { total: 9, ready: 2 });
    cluster.not_ready_nodes = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    cluster.pods = Some(PodCount::default());
    assert_eq!(told(&cluster).1, "nodes a, b, c and 4 more NotReady");
    cluster.nodes = Some(NodeCount { total: 9, ready: 9 });
    cluster.not_ready_nodes = Vec::new();
    assert_eq!(told(&cluster).0, Health::Ready);
}

#[test]
fn last_seen_column_of_a_connected_cluster_shows_connected() {
    let mut cluster = well();
    cluster.last_seen = Some(Timestamp::UNIX_EPOCH);
    assert_eq!(last_contact(&cluster), LastContact::Connected);
    cluster.conditions[1].status = "False".to_owned();
    assert_eq!(
        last_contact(&cluster),
        LastContact::At(Timestamp::UNIX_EPOCH)
    );
    cluster.last_seen = None;
    assert_eq!(last_contact(&cluster), LastContact::Never);
}

#[test]
fn health_values_are_sorted_from_worst_to_best() {
    let mut sorted = Health::ALL;
    sorted.sort();
    assert_eq!(sorted, Health::ALL);
    assert_eq!(sorted[5], Health::Ready);
}

#[test]
fn camel_case_reasons_are_shown_as_words() {
    for (pascal, expected) in [
        ("AgentNotConnected", "agent not connected"),
        ("APIServerReady", "API server ready"),
        ("Ready", "ready"),
        ("KeyBound", "key bound"),
        ("", ""),
        ("X", "x"),
    ] {
        assert_eq!(words(pascal), expected, "{pascal}");
    }
}

#[test]
fn cluster_load_is_computed_from_usage_or_from_requests_without_metrics() {
    let mut cluster = well();
    assert_eq!(Load::of(&cluster, "cpu"), None);
    cluster.capacity.insert("cpu".to_owned(), "4".to_owned());
    cluster.requests.insert("cpu".to_owned(), "1".to_owned());
    assert_eq!(Load::of(&cluster, "cpu").unwrap().part(), Some(0.25));
    cluster.allocatable.insert("cpu".to_owned(), "2".to_owned());
    cluster.usage.insert("cpu".to_owned(), "3".to_owned());
    assert_eq!(Load::of(&cluster, "cpu").unwrap().part(), Some(1.5));
    cluster.allocatable.insert("cpu".to_owned(), "0".to_owned());
    assert_eq!(Load::of(&cluster, "cpu"), None);
}

#[test]
fn german_cluster_state_has_the_same_facts() {
    set_language(Language::German);
    assert_eq!(told(&well()).1, "bereit");
    let mut cluster = well();
    cluster.nodes = Some(NodeCount { total: 9, ready: 4 });
    cluster.not_ready_nodes = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
    cluster.pods = Some(PodCount {
        failing: 1,
        unschedulable: 2,
    });
    assert_eq!(
        told(&cluster).1,
        "Nodes a, b, c und 2 weitere NotReady, 1 fehlerhafter Pod, 2 nicht planbare Pods"
    );
}

fn with_cpu(allocatable: &str, requests: &str, usage: Option<&str>) -> ClusterView {
    let cpu = |amount: &str| BTreeMap::from([("cpu".to_owned(), amount.to_owned())]);
    ClusterView {
        allocatable: cpu(allocatable),
        requests: cpu(requests),
        usage: usage.map(cpu).unwrap_or_default(),
        ..cluster(&[])
    }
}

#[test]
fn problems_of_clusters_are_added() {
    let mut failing = ClusterView {
        not_ready_nodes: vec!["a".to_owned(), "b".to_owned()],
        pods: Some(PodCount {
            failing: 3,
            unschedulable: 1,
        }),
        ..well()
    };
    failing.conditions[1].status = "False".to_owned();
    let sum = Sum::of([&failing, &failing]);
    assert_eq!(sum.not_ready_nodes, 4);
    assert_eq!((sum.failing_pods, sum.unschedulable_pods), (6, 2));
    assert_eq!(sum.unhealthy, 2);
    assert_eq!(Sum::of([&well()]), Sum::default());
}

#[test]
fn usage_of_clusters_is_known_only_if_all_clusters_report_usage() {
    let (measured, unknown) = (with_cpu("4", "1", Some("500m")), with_cpu("2", "1", None));
    let both = total([&measured, &measured], "cpu").unwrap();
    assert_eq!(
        (both.total, both.requested, both.used),
        (8.0, Some(2.0), Some(1.0))
    );
    let mixed = total([&measured, &unknown, &cluster(&[])], "cpu").unwrap();
    assert_eq!(
        (mixed.total, mixed.requested, mixed.used),
        (6.0, Some(2.0), None)
    );
    assert_eq!(total([&cluster(&[])], "cpu"), None);
}

#[test]
fn nearly_full_resources_of_connected_clusters_are_named() {
    let full = |usage| ClusterView {
        conditions: well().conditions,
        ..with_cpu("4", "1", usage)
    };
    assert_eq!(nearly_full(&full(Some("3600m"))), [("cpu", 0.9)]);
    assert_eq!(nearly_full(&full(Some("3500m"))), []);
    assert_eq!(nearly_full(&full(None)), []);
    let mut cut = full(Some("4"));
    cut.conditions[1].status = "False".to_owned();
    assert_eq!(nearly_full(&cut), []);
}

#[test]
fn expiring_certificates_of_nodes_are_named_only_while_the_cluster_is_connected() {
    let words = "a: the certificate of kubelet expires in 5 days";
    let mut conditions = well().conditions;
    conditions.extend(cluster(&[("NodesHealthy", "False", "NodeProblems", words)]).conditions);
    let mut expiring = ClusterView {
        conditions,
        ..well()
    };
    assert_eq!(problems_of_nodes(&expiring), Some(words));
    expiring.conditions[3].status = "True".to_owned();
    assert_eq!(problems_of_nodes(&expiring), None);
    expiring.conditions[3].status = "False".to_owned();
    expiring.conditions[1].status = "False".to_owned();
    assert_eq!(problems_of_nodes(&expiring), None);
}
