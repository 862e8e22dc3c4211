use drover_api::conditions::{ACCESS_APPLIED, API_SERVER_READY};
use drover_api::drift::Drift;
use drover_api::kinds::{
    AgentUpgrade, CertificateExpiry, ClusterSpec, ComponentHealth, NodeAgentReport, NodeCount,
    NodeFacts, Registration,
};
use drover_api::report::{AgentReport, NodesReport};

use super::*;
use crate::agent_status::ReportedStatus;
use crate::managed::{AccessState, EndpointProgress, UpgradeState};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn cluster(registered: bool) -> Cluster {
    let mut cluster = Cluster::new("shop", ClusterSpec::default());
    cluster.metadata.generation = Some(1);
    cluster.status = registered.then(|| ClusterStatus {
        registration: Some(Registration {
            public_key: "k".into(),
            previous_key: None,
            bound_at: Time(at(0)),
            token_id: "t".into(),
        }),
        ..Default::default()
    });
    cluster
}

const IMAGE: &str = "drover-agent:1";

fn healthy() -> ClusterFacts {
    let component = ComponentHealth {
        name: "etcd".into(),
        healthy: true,
        message: None,
    };
    ClusterFacts {
        switches: Vec::new(),
        tunnels: 2,
        agent_version: Some("1".into()),
        protocol: 2,
        reported: ReportedStatus {
            version: Some("v1.36.3".into()),
            cluster_uid: Some("uid-of-shop".into()),
            nodes: Some(NodesReport {
                count: NodeCount { total: 3, ready: 3 },
                ..Default::default()
            }),
            node: None,
            tunnel_nodes: None,
            node_facts: None,
            components: Some(vec![component]),
            drift: Drift::default(),
            agent: Some(AgentReport {
                image: IMAGE.into(),
                updated_available: 2,
                wanted: 2,
            }),
        },
        hub_uid: Some("uid-of-hub".into()),
        silence: Some(Duration::from_secs(5)),
        access: AccessState::Applied,
        endpoint: EndpointProgress::Pending,
        upgrade: UpgradeState::Idle,
        key_errors: Vec::new(),
        settling: false,
    }
}

fn reason(status: &ClusterStatus, kind: &str) -> (String, String) {
    let found = status.conditions.iter().find(|c| c.type_ == kind).unwrap();
    (found.status.clone(), found.reason.clone())
}

fn decided(registered: bool, facts: &ClusterFacts) -> ClusterStatus {
    decide(&cluster(registered), facts, IMAGE, at(1000))
}

#[test]
fn cluster_with_the_kube_system_uid_of_the_hub_is_marked_as_host_of_the_hub() {
    let mut facts = healthy();
    assert!(!decided(true, &facts).hosts_hub);
    facts.hub_uid = Some("uid-of-shop".into());
    let status = decided(true, &facts);
    assert!(status.hosts_hub);
    // The status stays if the server cannot read the hub's namespace.
    facts.hub_uid = None;
    let mut before = cluster(true);
    before.status = Some(status);
    assert!(decide(&before, &facts, IMAGE, at(2000)).hosts_hub);
}

#[test]
fn agent_report_sets_failed_nodes_and_pod_counts_in_cluster_status() {
    let mut facts = healthy();
    let nodes = facts.reported.nodes.as_mut().unwrap();
    nodes.not_ready = vec!["n1".to_owned()];
    let pods = drover_api::kinds::PodCount {
        failing: 5,
        unschedulable: 1,
    };
    nodes.pods = Some(pods);
    let status = decided(true, &facts);
    assert_eq!(status.not_ready_nodes, ["n1"]);
    assert_eq!(status.pods, Some(pods));
}

#[test]
fn cluster_conditions_contain_the_cause_of_each_failure() {
    let with = |change: fn(&mut ClusterFacts)| {
        let mut facts = healthy();
        change(&mut facts);
        facts
    };
    for (registered, facts, kind, status, expected) in [
        (true, healthy(), READY, "True", "Ready"),
        (true, healthy(), CONNECTED, "True", "TunnelOpen"),
        (
            false,
            ClusterFacts::default(),
            READY,
            "False",
            "NotImported",
        ),
        (
            false,
            ClusterFacts::default(),
            CONNECTED,
            "False",
            "NotRegistered",
        ),
        (
            true,
            ClusterFacts::default(),
            CONNECTED,
            "False",
            "AgentGone",
        ),
        (true, ClusterFacts::default(), READY, "False", "AgentGone"),
        (
            true,
            ClusterFacts::default(),
            API_SERVER_READY,
            "Unknown",
            "NotConnected",
        ),
        (
            true,
            with(|k| k.reported.components = None),
            API_SERVER_READY,
            "Unknown",
            "NoReportYet",
        ),
        (
            true,
            with(|k| k.silence = Some(SILENT_AFTER)),
            API_SERVER_READY,
            "Unknown",
            "ReportsStopped",
        ),
        (
            true,
            with(|k| k.silence = Some(SILENT_AFTER)),
            READY,
            "Unknown",
            "ReportsStopped",
        ),
        (
            true,
            with(|k| k.reported.components.as_mut().unwrap()[0].healthy = false),
            API_SERVER_READY,
            "False",
            "Unhealthy",
        ),
        (
            true,
            with(|k| k.access = AccessState::Pending),
            ACCESS_APPLIED,
            "Unknown",
            "Pending",
        ),
        (
            true,
            with(|k| k.access = AccessState::Failed("x".into())),
            ACCESS_APPLIED,
            "False",
            "ApplyFailed",
        ),
        (
            true,
            with(|k| k.access = AccessState::Failed("x".into())),
            READY,
            "False",
            "ApplyFailed",
        ),
    ] {
        let decided = decided(registered, &facts);
        assert_eq!(
            reason(&decided, kind),
            (status.to_owned(), expected.to_owned()),
            "{kind} {expected}"
        );
    }
}

#[test]
fn agent_is_up_to_date_after_image_rollout() {
    let with = |image: &str, done, upgrade| {
        let mut facts = healthy();
        facts.reported.agent = Some(AgentReport {
            image: image.into(),
            updated_available: done,
            wanted: 2,
        });
        facts.upgrade = upgrade;
        facts
    };
    let requested = |seconds| UpgradeState::Requested {
        image: IMAGE.into(),
        since: Duration::from_secs(seconds),
    };
    for (facts, status, expected) in [
        (with(IMAGE, 2, UpgradeState::Idle), "True", "UpToDate"),
        (with("old", 2, UpgradeState::Idle), "False", "Upgrading"),
        (with(IMAGE, 1, requested(10)), "False", "RollingOut"),
        (with(IMAGE, 1, requested(301)), "False", "UpgradeStuck"),
        (
            with("old", 2, UpgradeState::Failed("no".into())),
            "False",
            "UpgradeFailed",
        ),
    ] {
        let decided = decided(true, &facts);
        assert_eq!(
            reason(&decided, AGENT_UP_TO_DATE),
            (status.to_owned(), expected.to_owned())
        );
        assert_eq!(
            reason(&decided, READY).0,
            "True",
            "a cluster with an old agent is ready"
        );
    }
    let mut manual = cluster(true);
    manual.spec.agent.upgrade = AgentUpgrade::Manual;
    let decided = decide(&manual, &with("old", 2, UpgradeState::Idle), IMAGE, at(0));
    assert_eq!(reason(&decided, AGENT_UP_TO_DATE).1, "UpgradeAvailable");
}

#[test]
fn cluster_status_is_written_after_condition_changes_and_every_five_minutes() {
    let mut facts = healthy();
    let mut cluster = cluster(true);
    cluster.status = Some(decide(&cluster, &facts, IMAGE, at(0)));
    let again = decide(&cluster, &facts, IMAGE, at(299));
    assert_eq!(Some(&again), cluster.status.as_ref());
    facts.silence = Some(Duration::from_secs(9));
    assert_eq!(
        Some(&decide(&cluster, &facts, IMAGE, at(299))),
        cluster.status.as_ref()
    );
    let later = decide(&cluster, &facts, IMAGE, at(300));
    assert_eq!(later.last_seen, Some(Time(at(300))));
    facts.reported.nodes.as_mut().unwrap().count.ready = 2;
    let changed = decide(&cluster, &facts, IMAGE, at(10));
    assert_eq!(changed.nodes.unwrap().ready, 2);
    assert_eq!(changed.last_seen, Some(Time(at(10))));
}

#[test]
fn status_keeps_last_reported_values_while_cluster_is_disconnected() {
    let mut cluster = cluster(true);
    cluster.status = Some(decide(&cluster, &healthy(), IMAGE, at(0)));
    let away = decide(&cluster, &ClusterFacts::default(), IMAGE, at(1000));
    assert_eq!(away.kubernetes_version.as_deref(), Some("v1.36.3"));
    assert_eq!(away.nodes.unwrap().total, 3);
    assert_eq!(away.agent.as_ref().unwrap().tunnels, 0);
    assert_eq!(away.last_seen, Some(Time(at(0))));
    assert!(away.registration.is_some());
}

/// Returns the facts about a cluster directly after the start of the server.
fn beginning() -> ClusterFacts {
    ClusterFacts {
        settling: true,
        ..ClusterFacts::default()
    }
}

#[test]
fn restarted_server_does_not_write_unchanged_cluster_status() {
    let mut cluster = cluster(true);
    cluster.status = Some(decided(true, &healthy()));
    let unreported = ClusterFacts {
        tunnels: 1,
        agent_version: Some("1".into()),
        protocol: 2,
        ..beginning()
    };
    let reported = ClusterFacts {
        reported: ReportedStatus {
            agent: None,
            ..healthy().reported
        },
        ..unreported.clone()
    };
    let returned = ClusterFacts {
        settling: true,
        tunnels: 1,
        ..healthy()
    };
    for facts in [beginning(), unreported, reported, returned] {
        let status = decide(&cluster, &facts, IMAGE, at(20));
        assert_eq!(Some(&status), cluster.status.as_ref(), "{facts:?}");
    }
}

#[test]
fn changed_condition_is_written_while_parts_of_the_report_are_missing() {
    let mut cluster = cluster(true);
    cluster.status = Some(decided(true, &healthy()));
    let mut facts = ClusterFacts {
        settling: true,
        access: AccessState::Pending,
        ..healthy()
    };
    facts.reported.components.as_mut().unwrap()[0].healthy = false;
    let status = decide(&cluster, &facts, IMAGE, at(20));
    let unhealthy = ("False".to_owned(), "Unhealthy".to_owned());
    assert_eq!(reason(&status, API_SERVER_READY), unhealthy);
    assert_eq!(reason(&status, READY), unhealthy);
    assert_eq!(reason(&status, ACCESS_APPLIED).0, "True");
}

#[test]
fn new_cluster_is_ready_when_all_required_conditions_are_true() {
    let mut cluster = cluster(true);
    let mut facts = ClusterFacts {
        access: AccessState::Pending,
        ..beginning()
    };
    for (change, ready) in [
        ((|_| {}) as fn(&mut ClusterFacts), "False"),
        (|facts| facts.tunnels = 1, "False"),
        (|facts| facts.reported = healthy().reported, "False"),
        (|facts| facts.access = AccessState::Applied, "True"),
    ] {
        change(&mut facts);
        facts.silence = Some(Duration::ZERO);
        cluster.status = Some(decide(&cluster, &facts, IMAGE, at(5)));
        let status = cluster.status.as_ref().unwrap();
        assert_eq!(reason(status, READY).0, ready);
    }
}

#[test]
fn cluster_is_not_ready_after_a_server_restart_until_the_agent_reports() {
    let mut cluster = cluster(true);
    let mut facts = healthy();
    facts.reported.components.as_mut().unwrap()[0].healthy = false;
    cluster.status = Some(decided(true, &facts));
    let returned = ClusterFacts {
        reported: ReportedStatus::default(),
        settling: true,
        ..healthy()
    };
    let status = decide(&cluster, &returned, IMAGE, at(20));
    assert_eq!(reason(&status, READY).1, "Unhealthy");
}

#[test]
fn missing_agent_report_changes_conditions_after_the_startup_period() {
    let mut cluster = cluster(true);
    cluster.status = Some(decided(true, &healthy()));
    let status = decide(&cluster, &ClusterFacts::default(), IMAGE, at(60));
    assert_eq!(reason(&status, READY), ("False".into(), "AgentGone".into()));
    assert_eq!(status.agent.unwrap().tunnels, 0);
}

#[test]
fn condition_of_new_cluster_is_written_immediately() {
    let status = decided(false, &beginning());
    assert_eq!(reason(&status, READY).1, "NotImported");
}

#[test]
fn cluster_condition_message_lists_first_failing_components_and_their_count() {
    let mut facts = healthy();
    let failing = ComponentHealth {
        name: "x".repeat(256),
        healthy: false,
        message: Some("y".repeat(256)),
    };
    facts.reported.components = Some(vec![failing; 64]);
    let status = decided(true, &facts);
    let found = status.conditions.iter().find(|c| c.type_ == READY).unwrap();
    assert!(found.message.len() < 8192, "{}", found.message.len());
    assert!(found.message.contains("and 56 more"), "{}", found.message);
}

#[test]
fn nodes_with_problems_are_named_in_a_condition_that_ready_does_not_require() {
    let node = |name: &str, problem: &str, expires: &str| NodeFacts {
        name: name.to_owned(),
        problems: problem.split_whitespace().map(str::to_owned).collect(),
        node_agent: Some(NodeAgentReport {
            certificates: vec![CertificateExpiry {
                component: "kubelet".to_owned(),
                expires_at: Time(expires.parse().unwrap()),
            }],
            ..NodeAgentReport::default()
        }),
        ..NodeFacts::default()
    };
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let later = "2027-01-01T00:00:00Z";
    for (nodes, expected) in [
        (
            None,
            (
                "Unknown",
                "NoReportYet",
                "waiting for the agent's report about nodes; agents of earlier versions send no report \
                 about nodes",
            ),
        ),
        (
            Some(vec![node("a", "", later)]),
            ("True", "Healthy", "no node reports a problem"),
        ),
        (
            Some(vec![
                node("a", "DiskPressure", later),
                node("b", "", "2026-01-06T12:00:00Z"),
                node("c", "", "2025-12-31T00:00:00Z"),
            ]),
            (
                "False",
                "NodeProblems",
                "a: disk pressure; b: the certificate of kubelet expires in 5 days; \
                 c: the certificate of kubelet has expired",
            ),
        ),
    ] {
        let mut facts = healthy();
        facts.reported.node_facts = nodes;
        let status = decide(&cluster(true), &facts, IMAGE, now);
        let find = |kind: &str| {
            status
                .conditions
                .iter()
                .find(|one| one.type_ == kind)
                .unwrap()
        };
        let found = find(NODES_HEALTHY);
        assert_eq!((&*found.status, &*found.reason, &*found.message), expected);
        assert_eq!(find(READY).status, "True");
    }
}

#[test]
fn cluster_without_a_tunnel_is_ready_after_its_registration() {
    let facts = ClusterFacts::default();
    let of = |registered| {
        let mut cluster = cluster(registered);
        cluster.spec.agent.gitops_only = true;
        // The cluster had a tunnel before.
        cluster.status = Some(decide(&cluster, &healthy(), IMAGE, at(900)));
        let status = decide(&cluster, &facts, IMAGE, at(1000));
        let conditions = status.conditions.iter();
        let found: Vec<_> = conditions
            .map(|one| (one.type_.clone(), one.status.clone(), one.reason.clone()))
            .collect();
        found
    };
    let ready = |found: &[(String, String, String)]| {
        let ready = found.iter().find(|(kind, ..)| kind == READY);
        ready.map(|(_, status, reason)| (status.clone(), reason.clone()))
    };
    let text = |one: &str, other: &str| Some((one.to_owned(), other.to_owned()));
    assert_eq!(ready(&of(true)), text("True", "GitOpsOnly"));
    assert_eq!(ready(&of(false)), text("False", "NotImported"));
    assert_eq!(of(true).len(), 3, "{:?}", of(true));
}
