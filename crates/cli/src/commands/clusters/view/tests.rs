use drover_api::agent::NodeClass;
use drover_api::kinds::{
    AgentStatus, ComponentHealth, ConnectionStatus, ConnectionSwitch, NodeCount, PodCount,
};
use drover_api::rest::NodeAgentView;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use drover_api::conditions::{CONNECTED, REGISTERED};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::*;
use crate::args::Format;
use crate::output::{list, one};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Timestamp {
    at("2026-11-21T12:00:00Z")
}

fn set(kind: &str, status: &str, reason: &str, message: &str) -> Condition {
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: Time(at("2026-11-21T11:50:00Z")),
        observed_generation: None,
    }
}

fn new_cluster(name: &str) -> ClusterView {
    ClusterView {
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        description: None,
        labels: std::collections::BTreeMap::new(),
        created_at: at("2026-11-18T12:00:00Z"),
        deleting: false,
        conditions: Vec::new(),
        kubernetes_version: None,
        key_bound_at: None,
        nodes: None,
        hosts_hub: false,
        not_ready_nodes: Vec::new(),
        pods: None,
        capacity: std::collections::BTreeMap::new(),
        allocatable: std::collections::BTreeMap::new(),
        requests: std::collections::BTreeMap::new(),
        usage: std::collections::BTreeMap::new(),
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

fn ready_cluster() -> ClusterView {
    let quantities = |cpu: &str| [("cpu".to_owned(), cpu.to_owned())].into();
    ClusterView {
        description: Some("the one in\u{1b}[31m Berlin".to_owned()),
        labels: [("env".to_owned(), "prod".to_owned())].into(),
        conditions: vec![
            set(REGISTERED, "True", "KeyBound", ""),
            set(CONNECTED, "True", "TunnelOpen", ""),
            set(READY, "True", "Ready", "everything is as it should be"),
        ],
        kubernetes_version: Some("v1.36.1".to_owned()),
        nodes: Some(NodeCount { total: 3, ready: 2 }),
        not_ready_nodes: vec!["worker-2".to_owned()],
        pods: Some(PodCount {
            failing: 5,
            unschedulable: 0,
        }),
        capacity: quantities("12"),
        allocatable: quantities("11"),
        requests: quantities("3500m"),
        components: vec![ComponentHealth {
            name: "etcd".to_owned(),
            healthy: false,
            message: Some("no leader".to_owned()),
        }],
        agent: Some(AgentStatus {
            version: "0.1.0".to_owned(),
            protocol: 1,
            tunnels: 2,
            image: Some("registry.example.com/drover-agent:0.1.0".to_owned()),
        }),
        last_seen: Some(at("2026-11-21T11:59:20Z")),
        ..new_cluster("berlin")
    }
}

fn away_cluster() -> ClusterView {
    ClusterView {
        conditions: vec![
            set(REGISTERED, "True", "KeyBound", ""),
            set(READY, "False", "AgentNotConnected", "start the agent"),
        ],
        ..new_cluster("oslo")
    }
}

#[test]
fn clusters_are_listed_with_their_states() {
    let deleting = ClusterView {
        deleting: true,
        ..ready_cluster()
    };
    let all = vec![
        ready_cluster(),
        away_cluster(),
        new_cluster("rome"),
        deleting,
    ];
    insta::assert_snapshot!(list(all, Format::Table, now(), "").unwrap());
}

#[test]
fn cluster_table_output_contains_all_fields() {
    insta::assert_snapshot!(one(&ready_cluster(), Format::Table, now()).unwrap());
}

#[test]
fn cluster_that_hosts_the_hub_is_shown_with_a_warning() {
    let shown = |hosts_hub| {
        let cluster = ClusterView {
            hosts_hub,
            ..ready_cluster()
        };
        one(&cluster, Format::Table, now()).unwrap()
    };
    assert!(shown(true).contains("separate from managed workloads"));
    assert!(!shown(false).contains("Warning"));
}

#[test]
fn json_and_yaml_output_has_the_schema_of_the_rest_api() {
    let json = list(vec![away_cluster()], Format::Json, now(), "").unwrap();
    let back: drover_api::rest::List<ClusterView> = serde_json::from_str(&json).unwrap();
    assert_eq!(back.items, vec![away_cluster()]);
    insta::assert_snapshot!(list(vec![away_cluster()], Format::Yaml, now(), "").unwrap());
    let yaml = one(&away_cluster(), Format::Yaml, now()).unwrap();
    assert_eq!(
        serde_saphyr::from_str::<ClusterView>(&yaml).unwrap(),
        away_cluster()
    );
}

#[test]
fn cluster_import_progress_shows_cause_and_next_step() {
    assert_eq!(
        progress(&away_cluster()),
        "oslo: agent not connected (start the agent)"
    );
    assert_eq!(
        progress(&new_cluster("rome")),
        "rome: waiting for its manifest"
    );
}

#[test]
fn cluster_page_shows_the_agent_in_use_and_the_history_of_switches() {
    let switch = |time: &str, node: Option<&str>, reason: &str| ConnectionSwitch {
        at: Time(at(time)),
        node: node.map(str::to_owned),
        reason: reason.to_owned(),
    };
    let node_agent = |node: &str, key_bound_at| NodeAgentView {
        node: node.to_owned(),
        class: NodeClass::ControlPlane,
        key_bound_at,
    };
    let mut cluster = ready_cluster();
    let connected = switch("2026-11-20T12:00:00Z", None, "Connected");
    cluster.connection = Some(ConnectionStatus {
        generation: 1,
        switches: vec![connected.clone()],
        reporting_node: None,
    });
    cluster.node_agents = vec![
        node_agent("cp-1", Some(at("2026-11-20T12:00:00Z"))),
        node_agent("cp-2", None),
    ];
    let now = at("2026-11-21T12:00:00Z");
    let page = cluster.page(now);
    assert!(page.contains("agent, for 24h (Connected)"), "{page}");
    assert!(page.contains("cp-1, cp-2 (not registered)"), "{page}");
    assert!(!page.contains("Switches:"), "{page}");
    let taken = switch("2026-11-21T11:58:00Z", Some("cp-1"), "AgentSilent");
    cluster.connection = Some(ConnectionStatus {
        generation: 2,
        switches: vec![taken, connected],
        reporting_node: Some("cp-1".to_owned()),
    });
    let page = cluster.page(now);
    assert!(page.contains("node agent on cp-1, for 2m"), "{page}");
    let reports = page.lines().find(|line| line.starts_with("Reports"));
    assert!(reports.unwrap().ends_with("node agent on cp-1"), "{page}");
    assert!(page.contains("Switches:"), "{page}");
    cluster.conditions.clear();
    let page = cluster.page(now);
    assert!(
        !page.contains("node agent on cp-1, for"),
        "not connected: {page}"
    );
}
