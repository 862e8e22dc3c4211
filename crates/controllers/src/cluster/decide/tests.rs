use drover_api::conditions::{ACCESS_APPLIED, API_SERVER_READY};
use drover_api::drift::Drift;
use drover_api::kinds::{AgentUpgrade, ClusterSpec, ComponentHealth, NodeCount, Registration};
use drover_api::report::{AgentReport, NodesReport};

use super::*;
use crate::agent_status::ReportedStatus;
use crate::managed::{AccessState, UpgradeState};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn cluster(registered: bool) -> Cluster {
    let mut cluster = Cluster::new("shop", ClusterSpec::default());
    cluster.metadata.generation = Some(1);
    cluster.status = registered.then(|| ClusterStatus {
        registration: Some(Registration {
            public_key: "k".into(),
            bound_at: Time(at(0)),
            token_id: "t".into(),
        }),
        ..Default::default()
    });
    cluster
}

const IMAGE: &str = "drover-agent:1";

fn healthy() -> Known {
    let component = ComponentHealth {
        name: "etcd".into(),
        healthy: true,
        message: None,
    };
    Known {
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
        upgrade: UpgradeState::Idle,
        settling: false,
    }
}

fn reason(status: &ClusterStatus, kind: &str) -> (String, String) {
    let found = status.conditions.iter().find(|c| c.type_ == kind).unwrap();
    (found.status.clone(), found.reason.clone())
}

fn decided(registered: bool, known: &Known) -> ClusterStatus {
    decide(&cluster(registered), known, IMAGE, at(1000))
}

#[test]
fn cluster_whose_kube_system_is_the_hubs_hosts_the_hub() {
    let mut known = healthy();
    assert!(!decided(true, &known).hosts_hub);
    known.hub_uid = Some("uid-of-shop".into());
    let status = decided(true, &known);
    assert!(status.hosts_hub);
    // A server that cannot read the hub's namespace keeps what is known.
    known.hub_uid = None;
    let mut before = cluster(true);
    before.status = Some(status);
    assert!(decide(&before, &known, IMAGE, at(2000)).hosts_hub);
}

#[test]
fn report_names_failed_nodes_and_counts_pods_in_the_status() {
    let mut known = healthy();
    let nodes = known.reported.nodes.as_mut().unwrap();
    nodes.not_ready = vec!["n1".to_owned()];
    let pods = drover_api::kinds::PodCount {
        failing: 5,
        unschedulable: 1,
    };
    nodes.pods = Some(pods);
    let status = decided(true, &known);
    assert_eq!(status.not_ready_nodes, ["n1"]);
    assert_eq!(status.pods, Some(pods));
}

#[test]
fn conditions_name_the_cause() {
    let with = |change: fn(&mut Known)| {
        let mut known = healthy();
        change(&mut known);
        known
    };
    for (registered, known, kind, status, wanted) in [
        (true, healthy(), READY, "True", "Ready"),
        (true, healthy(), CONNECTED, "True", "TunnelOpen"),
        (false, Known::default(), READY, "False", "NotImported"),
        (false, Known::default(), CONNECTED, "False", "NotRegistered"),
        (true, Known::default(), CONNECTED, "False", "AgentGone"),
        (true, Known::default(), READY, "False", "AgentGone"),
        (
            true,
            Known::default(),
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
        let decided = decided(registered, &known);
        assert_eq!(
            reason(&decided, kind),
            (status.to_owned(), wanted.to_owned()),
            "{kind} {wanted}"
        );
    }
}

#[test]
fn an_agent_is_up_to_date_when_its_image_is_rolled_out() {
    let with = |image: &str, done, upgrade| {
        let mut known = healthy();
        known.reported.agent = Some(AgentReport {
            image: image.into(),
            updated_available: done,
            wanted: 2,
        });
        known.upgrade = upgrade;
        known
    };
    let asked = |seconds| UpgradeState::Asked {
        image: IMAGE.into(),
        since: Duration::from_secs(seconds),
    };
    for (known, status, wanted) in [
        (with(IMAGE, 2, UpgradeState::Idle), "True", "UpToDate"),
        (with("old", 2, UpgradeState::Idle), "False", "Upgrading"),
        (with(IMAGE, 1, asked(10)), "False", "RollingOut"),
        (with(IMAGE, 1, asked(301)), "False", "UpgradeStuck"),
        (
            with("old", 2, UpgradeState::Failed("no".into())),
            "False",
            "UpgradeFailed",
        ),
    ] {
        let decided = decided(true, &known);
        assert_eq!(
            reason(&decided, AGENT_UP_TO_DATE),
            (status.to_owned(), wanted.to_owned())
        );
        assert_eq!(reason(&decided, READY).0, "True", "an old agent works");
    }
    let mut manual = cluster(true);
    manual.spec.agent.upgrade = AgentUpgrade::Manual;
    let decided = decide(&manual, &with("old", 2, UpgradeState::Idle), IMAGE, at(0));
    assert_eq!(reason(&decided, AGENT_UP_TO_DATE).1, "UpgradeAvailable");
}

#[test]
fn a_status_is_written_when_its_meaning_changes_and_every_five_minutes() {
    let mut known = healthy();
    let mut cluster = cluster(true);
    cluster.status = Some(decide(&cluster, &known, IMAGE, at(0)));
    let again = decide(&cluster, &known, IMAGE, at(299));
    assert_eq!(Some(&again), cluster.status.as_ref());
    known.silence = Some(Duration::from_secs(9));
    assert_eq!(
        Some(&decide(&cluster, &known, IMAGE, at(299))),
        cluster.status.as_ref()
    );
    let later = decide(&cluster, &known, IMAGE, at(300));
    assert_eq!(later.last_seen, Some(Time(at(300))));
    known.reported.nodes.as_mut().unwrap().count.ready = 2;
    let changed = decide(&cluster, &known, IMAGE, at(10));
    assert_eq!(changed.nodes.unwrap().ready, 2);
    assert_eq!(changed.last_seen, Some(Time(at(10))));
}

#[test]
fn what_was_known_stays_while_the_cluster_is_away() {
    let mut cluster = cluster(true);
    cluster.status = Some(decide(&cluster, &healthy(), IMAGE, at(0)));
    let away = decide(&cluster, &Known::default(), IMAGE, at(1000));
    assert_eq!(away.kubernetes_version.as_deref(), Some("v1.36.3"));
    assert_eq!(away.nodes.unwrap().total, 3);
    assert_eq!(away.agent.as_ref().unwrap().tunnels, 0);
    assert_eq!(away.last_seen, Some(Time(at(0))));
    assert!(away.registration.is_some());
}

/// What is known of a cluster at the start.
fn beginning() -> Known {
    Known {
        settling: true,
        ..Known::default()
    }
}

#[test]
fn a_restarted_server_writes_nothing_while_everything_is_as_it_was() {
    let mut cluster = cluster(true);
    cluster.status = Some(decided(true, &healthy()));
    let unreported = Known {
        tunnels: 1,
        agent_version: Some("1".into()),
        protocol: 2,
        ..beginning()
    };
    let reported = Known {
        reported: ReportedStatus {
            agent: None,
            ..healthy().reported
        },
        ..unreported.clone()
    };
    let returned = Known {
        settling: true,
        tunnels: 1,
        ..healthy()
    };
    for known in [beginning(), unreported, reported, returned] {
        let status = decide(&cluster, &known, IMAGE, at(20));
        assert_eq!(Some(&status), cluster.status.as_ref(), "{known:?}");
    }
}

#[test]
fn news_is_told_while_the_rest_is_waited_for() {
    let mut cluster = cluster(true);
    cluster.status = Some(decided(true, &healthy()));
    let mut known = Known {
        settling: true,
        access: AccessState::Pending,
        ..healthy()
    };
    known.reported.components.as_mut().unwrap()[0].healthy = false;
    let status = decide(&cluster, &known, IMAGE, at(20));
    let unhealthy = ("False".to_owned(), "Unhealthy".to_owned());
    assert_eq!(reason(&status, API_SERVER_READY), unhealthy);
    assert_eq!(reason(&status, READY), unhealthy);
    assert_eq!(reason(&status, ACCESS_APPLIED).0, "True");
}

#[test]
fn a_cluster_that_joins_is_ready_as_soon_as_everything_about_it_is_right() {
    let mut cluster = cluster(true);
    let mut known = Known {
        access: AccessState::Pending,
        ..beginning()
    };
    for (change, ready) in [
        ((|_| {}) as fn(&mut Known), "False"),
        (|known| known.tunnels = 1, "False"),
        (|known| known.reported = healthy().reported, "False"),
        (|known| known.access = AccessState::Applied, "True"),
    ] {
        change(&mut known);
        known.silence = Some(Duration::ZERO);
        cluster.status = Some(decide(&cluster, &known, IMAGE, at(5)));
        let status = cluster.status.as_ref().unwrap();
        assert_eq!(reason(status, READY).0, ready);
    }
}

#[test]
fn a_restarted_server_keeps_a_cluster_unready_for_what_it_does_not_know_better() {
    let mut cluster = cluster(true);
    let mut known = healthy();
    known.reported.components.as_mut().unwrap()[0].healthy = false;
    cluster.status = Some(decided(true, &known));
    let returned = Known {
        reported: ReportedStatus::default(),
        settling: true,
        ..healthy()
    };
    let status = decide(&cluster, &returned, IMAGE, at(20));
    assert_eq!(reason(&status, READY).1, "Unhealthy");
}

#[test]
fn what_did_not_come_back_in_time_is_gone() {
    let mut cluster = cluster(true);
    cluster.status = Some(decided(true, &healthy()));
    let status = decide(&cluster, &Known::default(), IMAGE, at(60));
    assert_eq!(reason(&status, READY), ("False".into(), "AgentGone".into()));
    assert_eq!(status.agent.unwrap().tunnels, 0);
}

#[test]
fn a_new_cluster_is_told_of_at_once() {
    let status = decided(false, &beginning());
    assert_eq!(reason(&status, READY).1, "NotImported");
}

#[test]
fn a_message_names_some_of_many_failing_components() {
    let mut known = healthy();
    let failing = ComponentHealth {
        name: "x".repeat(256),
        healthy: false,
        message: Some("y".repeat(256)),
    };
    known.reported.components = Some(vec![failing; 64]);
    let status = decided(true, &known);
    let found = status.conditions.iter().find(|c| c.type_ == READY).unwrap();
    assert!(found.message.len() < 8192, "{}", found.message.len());
    assert!(found.message.contains("and 56 more"), "{}", found.message);
}
