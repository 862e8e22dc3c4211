//! Tests that decisions lead to the expected state of a simulated cluster.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;
use crate::annotations::FAIL;
use crate::plan::Plan;

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn add<K: SimulatedKind>(world: &mut World, object: Value) {
    let mut object: K = serde_json::from_value(object).unwrap();
    let uid = object.meta().name.clone();
    object.meta_mut().uid = uid;
    K::objects(world).observe(object);
}

/// Returns a world with nodes whose status needs no update.
fn world(nodes: u32) -> World {
    let mut world = World::default();
    for plan in Plan::empty(nodes).nodes {
        let mut fresh = plan.node();
        fresh["status"] = plan.status();
        add::<Node>(&mut world, fresh);
        world.leases.insert(plan.name, now());
    }
    for act in decide(&world, &Timing::default(), now()).actions {
        if let Action::Patch { target, patch, .. } = act {
            let mut object = json!(node(&world, &target.name));
            merge(&mut object, &patch);
            object["metadata"]["resourceVersion"] = "2".into();
            add::<Node>(&mut world, object);
        }
    }
    world
}

fn node(world: &World, name: &str) -> Node {
    world.nodes.get("", name).unwrap().clone()
}

/// Applies a JSON merge patch (RFC 7396).
fn merge(target: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    for (name, value) in fields {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name], value);
        }
    }
}

fn pod(name: &str, annotations: &Value) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "n", "annotations": annotations, "resourceVersion": "1"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })
}

fn placed(name: &str, annotations: &Value) -> Value {
    let mut pod = pod(name, annotations);
    pod["spec"]["nodeName"] = "simulated-worker-1".into();
    pod
}

/// Applies the status updates of a pod until no update is necessary. Returns the statuses.
fn story(world: &mut World, name: &str, steps: usize) -> Vec<(i64, String)> {
    let timing = Timing {
        start: Duration::from_secs(2),
        ready: Duration::from_secs(3),
        job: Duration::from_secs(4),
        ..Timing::default()
    };
    let mut at = now();
    let mut reported = Vec::new();
    for step in 0..steps {
        let decision = decide(world, &timing, at);
        let message = decision
            .actions
            .into_iter()
            .find_map(|action| match action {
                Action::Patch { target, patch, .. } if target.name == name => Some(patch),
                _ => None,
            });
        if let Some(patch) = message {
            let mut pod = json!(world.pods.get("n", name).unwrap());
            merge(&mut pod, &patch);
            pod["metadata"]["resourceVersion"] = (step + 2).to_string().into();
            reported.push((at.duration_since(now()).as_secs(), summary(&pod)));
            add::<Pod>(world, pod);
        } else if let Some(wake) = decision.wake {
            at = wake;
            for lease in world.leases.values_mut() {
                *lease = at;
            }
        } else {
            break;
        }
    }
    reported
}

fn summary(pod: &Value) -> String {
    let container = &pod["status"]["containerStatuses"][0];
    let state = &container["state"];
    let state = state["waiting"]["reason"].as_str().unwrap_or_else(|| {
        if state["running"].is_null() {
            "ended"
        } else if container["ready"] == true {
            "ready"
        } else {
            "running"
        }
    });
    let phase = pod["status"]["phase"].as_str().unwrap();
    format!("{phase} {state} {}", container["restartCount"])
}

#[test]
fn idle_simulated_cluster_sends_only_node_leases() {
    let world = world(3);
    let decision = decide(&world, &Timing::default(), now());
    assert_eq!(decision.actions, []);
    let later = decision.wake.unwrap();
    let actions = decide(&world, &Timing::default(), later).actions;
    assert!(
        actions
            .iter()
            .all(|action| matches!(action, Action::RenewLease { .. })),
        "{actions:?}"
    );
    assert_eq!(actions.len(), 3);
}

#[test]
fn simulated_pod_starts_and_becomes_ready_after_fixed_delays() {
    let mut world = world(1);
    add::<Pod>(&mut world, placed("p", &json!({})));
    let reported = story(&mut world, "p", 8);
    let expected = [
        (0, "Pending ContainerCreating 0"),
        (2, "Running running 0"),
        (5, "Running ready 0"),
    ];
    assert_eq!(reported, expected.map(|(at, case)| (at, case.to_owned())));
}

#[test]
fn crashing_pod_is_restarted_with_backoff() {
    let mut world = world(1);
    add::<Pod>(
        &mut world,
        placed("p", &json!({ FAIL: "CrashLoopBackOff" })),
    );
    let reported = story(&mut world, "p", 40);
    let starts: Vec<i64> = reported
        .iter()
        .filter(|(_, case)| case.contains(" running "))
        .map(|(at, _)| *at)
        .collect();
    // The container runs for 4 s each time, and waits for 10 s, 20 s and 40 s.
    assert_eq!(starts[..4], [2, 16, 40, 84], "{reported:?}");
}

#[test]
fn failed_image_pull_creates_events_once() {
    let mut world = world(1);
    add::<Pod>(
        &mut world,
        placed("p", &json!({ FAIL: "ImagePullBackOff" })),
    );
    let reported = story(&mut world, "p", 12);
    assert_eq!(reported.last().unwrap().1, "Pending ImagePullBackOff 0");
    assert_eq!(reported.len(), 2, "{reported:?}");
}

#[test]
fn pods_are_spread_over_nodes_with_free_resources() {
    let mut world = world(2);
    for number in 0..5 {
        let mut pod = pod(&format!("p{number}"), &json!({}));
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1500m"}});
        add::<Pod>(&mut world, pod);
    }
    let actions = decide(&world, &Timing::default(), now()).actions;
    let mut nodes: Vec<&str> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Bind { node, .. } => Some(node.as_str()),
            _ => None,
        })
        .collect();
    nodes.sort_unstable();
    let (one, two) = ("simulated-worker-1", "simulated-worker-2");
    assert_eq!(nodes, [one, one, two, two]);
    let reason = actions.iter().find_map(|action| match action {
        Action::RecordUnschedulable { why: reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(reason, Some("0/2 nodes are available: 2 Insufficient cpu."));
}

#[test]
fn unreachable_node_is_tainted_and_receives_no_pods() {
    let mut world = world(1);
    let mut silent = json!(node(&world, "simulated-worker-1"));
    silent["metadata"]["annotations"] = json!({ FAIL: "NotReady" });
    silent["metadata"]["resourceVersion"] = "9".into();
    add::<Node>(&mut world, silent);
    let actions = decide(&world, &Timing::default(), now()).actions;
    let patches: Vec<&Value> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Patch { patch, .. } => Some(patch),
            _ => None,
        })
        .collect();
    assert!(
        patches
            .iter()
            .any(|patch| patch["spec"]["taints"][0]["effect"] == "NoSchedule")
    );
    let unknown = |patch: &&&Value| patch["status"]["conditions"][3]["status"] == "Unknown";
    assert_eq!(patches.iter().filter(unknown).count(), 1);
    assert!(
        !actions
            .iter()
            .any(|action| matches!(action, Action::RenewLease { .. }))
    );
}

#[test]
fn deleted_pod_is_removed_within_its_grace_period() {
    let mut world = world(1);
    let mut pod = placed("p", &json!({}));
    pod["metadata"]["deletionTimestamp"] = time(now() + SignedDuration::from_secs(30));
    pod["metadata"]["deletionGracePeriodSeconds"] = 30.into();
    add::<Pod>(&mut world, pod);
    let deleted = |at: i64| {
        let at = now() + SignedDuration::from_secs(at);
        let actions = decide(&world, &Timing::default(), at).actions;
        actions.iter().any(|action| {
            matches!(
                action,
                Action::Delete {
                    grace_seconds: Some(0),
                    ..
                }
            )
        })
    };
    assert_eq!((deleted(0), deleted(1)), (false, true));
}

#[test]
fn number_of_simulated_pods_is_limited() {
    let mut world = world(1);
    let limit = pod_limit(&world);
    assert_eq!(limit, BASE_POD_LIMIT + 2 * 110);
    for number in 0..limit - 30 {
        add::<Pod>(&mut world, placed(&format!("p{number}"), &json!({})));
    }
    let template = json!({"metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    add::<ReplicaSet>(
        &mut world,
        json!({"metadata": {"name": "huge", "namespace": "n"},
            "spec": {"replicas": 2_000_000_000, "selector": {"matchLabels": {"a": "b"}},
                "template": template}}),
    );
    let actions = decide(&world, &Timing::default(), now()).actions;
    let created = |action: &&Action| {
        matches!(
            action,
            Action::Create {
                kind: Kind::Pod,
                ..
            }
        )
    };
    assert_eq!(actions.iter().filter(created).count(), 30);
}
