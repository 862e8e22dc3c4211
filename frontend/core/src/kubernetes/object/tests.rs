use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use drover_rows::Severity;

fn kind(plural: &str) -> Kind {
    Kind::of_plural(plural).unwrap()
}

fn overview(plural: &str, value: Value) -> Overview {
    Overview::of(kind(plural), &Object::from(value))
}

fn state(overview: &Overview) -> ObjectState {
    overview.object_state.clone().unwrap()
}

fn object_state(plural: &str, value: Value) -> (Severity, String) {
    let object_state = state(&overview(plural, value));
    (object_state.severity, object_state.words)
}

fn pod(phase: &str, containers: &Value, statuses: &Value) -> Value {
    json!({
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "u"},
        "spec": {"containers": containers, "nodeName": "n1"},
        "status": {"phase": phase, "containerStatuses": statuses},
    })
}

fn fact<'a>(overview: &'a Overview, name: &str) -> &'a FactValue {
    let mut facts = overview
        .sections
        .iter()
        .flat_map(|section| match &section.content {
            SectionContent::Facts(facts) => facts.as_slice(),
            SectionContent::Table(_) => &[],
        });
    &facts.find(|fact| fact.name == name).unwrap().worth
}

#[test]
fn running_pod_is_healthy() {
    let value = pod(
        "Running",
        &json!([{"name": "web", "image": "shop/web:1",
            "ports": [{"containerPort": 8080, "name": "http"}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5}}]),
        &json!([{"name": "web", "ready": true, "restartCount": 2,
            "state": {"running": {"startedAt": "2026-11-22T00:00:00Z"}},
            "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled",
                "finishedAt": "2026-11-22T00:00:00Z"}}}]),
    );
    let overview = overview("pods", value);
    assert_eq!(
        overview.object_state,
        Some(ObjectState::of(Severity::Healthy, "Running"))
    );
    let web = &overview.containers[0];
    assert_eq!(web.ports, ["8080/TCP http"]);
    assert_eq!(web.requests.as_deref(), Some("cpu 100m, memory 64Mi"));
    assert_eq!(
        web.probes[0].words,
        "GET /ready on port http (HTTP), every 5 s, timeout 1 s, fails after 3 consecutive failures"
    );
    let (last, at) = web.last.as_ref().unwrap();
    assert_eq!(last.words, "OOMKilled, exit code 137");
    assert!(last.why.as_ref().unwrap().contains("out of memory"));
    assert!(at.is_some());
    let FactValue::Links(nodes) = fact(&overview, "Node") else {
        panic!("the node is not a link");
    };
    let target = nodes[0].target.as_ref().unwrap();
    assert_eq!(target.screen("berlin"), "/clusters/berlin/nodes/-/n1");
}

#[test]
fn failing_pod_has_a_reason_and_advice() {
    let one = json!([{"name": "web", "image": "x"}]);
    let waiting = |reason: &str| json!([{"name": "web", "state": {"waiting": {"reason": reason}}}]);
    let crashing = overview("pods", pod("Running", &one, &waiting("CrashLoopBackOff")));
    assert_eq!(state(&crashing).severity, Severity::Failing);
    assert_eq!(state(&crashing).words, "CrashLoopBackOff");
    let cause = state(&crashing).why.unwrap();
    assert!(cause.contains("logs of the previous run"), "{cause}");
    for (reason, severity, words) in [
        ("ImagePullBackOff", Severity::Failing, "ImagePullBackOff"),
        (
            "ContainerCreating",
            Severity::Progressing,
            "ContainerCreating",
        ),
        (
            "CreateContainerConfigError",
            Severity::Failing,
            "CreateContainerConfigError",
        ),
    ] {
        let found = object_state("pods", pod("Pending", &one, &waiting(reason)));
        assert_eq!(found, (severity, words.to_owned()), "{reason}");
    }
    let mut unscheduled = pod("Pending", &one, &json!([]));
    unscheduled["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/3 nodes are available"}]);
    let unscheduled = overview("pods", unscheduled);
    assert_eq!(state(&unscheduled).words, "Unschedulable");
    assert!(
        unscheduled.conditions[0]
            .advice
            .unwrap()
            .contains("Add nodes")
    );
    let mut leaving = pod("Running", &one, &json!([]));
    leaving["metadata"]["deletionTimestamp"] = json!("2026-11-22T00:00:00Z");
    assert_eq!(
        object_state("pods", leaving),
        (Severity::Progressing, "Terminating".to_owned())
    );
    let mut evicted = pod("Failed", &one, &json!([]));
    evicted["status"]["reason"] = json!("Evicted");
    assert_eq!(
        object_state("pods", evicted),
        (Severity::Failing, "Evicted".to_owned())
    );
}

#[test]
fn condition_with_status_unknown_has_specific_advice() {
    let advice = |plural: &str, kind: &str, status: &str, reason: &str| {
        let value = json!({"status": {"conditions":
            [{"type": kind, "status": status, "reason": reason}]}});
        overview(plural, value).conditions[0].advice
    };
    for (plural, kind, bad) in [
        ("nodes", "MemoryPressure", "True"),
        ("nodes", "Ready", "False"),
        ("pods", "Ready", "False"),
        ("deployments", "Available", "False"),
        ("deployments", "ReplicaFailure", "True"),
    ] {
        let (known, unknown) = (
            advice(plural, kind, bad, ""),
            advice(plural, kind, "Unknown", ""),
        );
        assert!(known.is_some() && unknown.is_some(), "{kind}");
        assert_ne!(known, unknown, "{kind}");
    }
    let paused = advice("deployments", "Progressing", "Unknown", "DeploymentPaused");
    assert!(paused.unwrap().contains("rollout resume"));
}

#[test]
fn pod_on_an_unready_node_has_reason_node_not_ready() {
    let one = json!([{"name": "web", "image": "x"}]);
    let creating = json!([{"name": "web", "state": {"waiting": {"reason": "ContainerCreating"}}}]);
    let creating = Object::from(pod("Pending", &one, &creating));
    let on = |pod: &Object, lost: &str| PodLine::on(pod, &[lost.to_owned()]).object_state;
    assert_eq!(on(&creating, "n2").words, "ContainerCreating");
    let lost = on(&creating, "n1");
    assert_eq!(
        (lost.severity, &*lost.words),
        (Severity::Failing, "NodeNotReady")
    );
    assert!(lost.why.unwrap().contains("n1"));
    let over = Object::from(pod("Succeeded", &one, &json!([])));
    assert_eq!(on(&over, "n1").words, "Succeeded");

    // The kubelet has not accepted the pod.
    let waits = state(&overview("pods", pod("Pending", &one, &json!([]))));
    assert_eq!(
        (waits.severity, &*waits.words),
        (Severity::Degraded, "Pending")
    );
    assert!(waits.why.unwrap().contains("n1"));
    // The node controller has set Ready to False; the kubelet's state is outdated.
    let ready = json!([{"name": "web", "ready": true, "state": {"running": {}}}]);
    let mut running = pod("Running", &one, &ready);
    running["status"]["conditions"] = json!([{"type": "Ready", "status": "False"},
        {"type": "ContainersReady", "status": "True"}]);
    assert_eq!(state(&overview("pods", running)).words, "NodeNotReady");
}

#[test]
fn container_count_includes_sidecars_and_excludes_ephemeral_containers() {
    let running = |name: &str, ready: bool| {
        json!({"name": name, "ready": ready,
            "state": {"running": {"startedAt": "2026-11-22T00:00:00Z"}}})
    };
    let main = json!([{"name": "web", "image": "x"}]);
    let mut pod = pod("Running", &main, &json!([running("web", true)]));
    pod["spec"]["initContainers"] = json!([
        {"name": "prepare", "image": "x"},
        {"name": "proxy", "image": "x", "restartPolicy": "Always"}]);
    let prepared = json!({"name": "prepare", "ready": true,
        "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
    pod["status"]["initContainerStatuses"] = json!([prepared, running("proxy", false)]);
    let found = object_state("pods", pod.clone());
    let expected = (Severity::Degraded, "1 of 2 containers ready".to_owned());
    assert_eq!(found, expected);
    pod["status"]["initContainerStatuses"] = json!([prepared, running("proxy", true)]);
    pod["spec"]["ephemeralContainers"] = json!([{"name": "debugger", "image": "x"}]);
    pod["status"]["ephemeralContainerStatuses"] = json!([{"name": "debugger",
        "state": {"terminated": {"exitCode": 130, "reason": "Error"}}}]);
    let found = object_state("pods", pod);
    assert_eq!(found, (Severity::Healthy, "Running".to_owned()));
}

#[test]
fn known_exit_codes_have_explanations() {
    assert!(meaning(137, Some("OOMKilled")).starts_with("out of memory"));
    assert!(meaning(137, Some("Error")).contains("SIGKILL"));
    assert!(meaning(127, None).contains("not found"));
    assert!(meaning(138, None).contains("signal 10"));
    assert!(meaning(-7, None).contains("of the program"));
}

#[test]
fn terminated_container_is_final_if_the_restart_policy_forbids_a_restart() {
    let ended = |policy: &str, code: i64| {
        let mut value = pod(
            "Running",
            &json!([{"name": "web"}]),
            &json!([{"name": "web", "state": {"terminated": {"exitCode": code}}}]),
        );
        value["spec"]["restartPolicy"] = json!(policy);
        let Lifecycle::Ended { for_good, .. } = life(&Object::from(value), "web") else {
            panic!("the container has not ended");
        };
        for_good
    };
    assert!(!ended("Always", 0));
    assert!(ended("OnFailure", 0) && !ended("OnFailure", 1));
    assert!(ended("Never", 1));
    assert_eq!(life(&Object::from(json!({})), "web"), Lifecycle::Unknown);
}

#[test]
fn owner_of_a_replica_set_pod_is_the_deployment() {
    let owner_of = |kind: &str, name: &str| {
        let object = Object::from(json!({"metadata": {"namespace": "shop",
            "labels": {"pod-template-hash": "5d4f"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "o"}]}}));
        assert!(object.is_owned_by("o") && !object.is_owned_by("u"));
        object.owners().remove(0)
    };
    let owner = owner_of("ReplicaSet", "web-5d4f");
    assert_eq!(owner.words, "Deployment web, by ReplicaSet web-5d4f");
    let screen = owner.target.unwrap().screen("berlin");
    assert_eq!(screen, "/clusters/berlin/deployments/shop/web");
    let strange = owner_of("Rollout", "web");
    assert_eq!(
        (strange.words.as_str(), strange.target),
        ("Rollout web", None)
    );
}

fn deployment(expected: i64, updated: i64, available: i64) -> Value {
    json!({"metadata": {"generation": 2, "name": "web", "namespace": "shop"},
        "spec": {"replicas": expected, "strategy": {"type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 1}},
            "selector": {"matchLabels": {"app": "web"},
                "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}]},
            "template": {"spec": {"containers": [{"image": "shop/web:1"}, {"image": "shop/web:1"}]}}},
        "status": {"observedGeneration": 2, "updatedReplicas": updated,
            "readyReplicas": available, "availableReplicas": available}})
}

#[test]
fn workload_status_shows_the_rollout_progress() {
    let of = |expected, updated, available| {
        object_state("deployments", deployment(expected, updated, available))
    };
    assert_eq!(of(3, 3, 3), (Severity::Healthy, "3 of 3 ready".to_owned()));
    assert_eq!(
        of(3, 1, 3),
        (
            Severity::Progressing,
            "rolling out: 1 of 3 updated".to_owned()
        )
    );
    assert_eq!(
        of(3, 3, 2),
        (Severity::Degraded, "2 of 3 available".to_owned())
    );
    assert_eq!(
        of(3, 3, 0),
        (Severity::Failing, "0 of 3 available".to_owned())
    );
    assert_eq!(of(0, 0, 0), (Severity::Idle, "scaled to 0".to_owned()));
    let mut newer = deployment(3, 3, 3);
    newer["metadata"]["generation"] = json!(3);
    assert_eq!(object_state("deployments", newer).1, "updating");
    let mut stuck = deployment(3, 1, 3);
    stuck["status"]["conditions"] = json!([{"type": "Progressing", "status": "False",
        "reason": "ProgressDeadlineExceeded", "message": "timed out"}]);
    let stuck = overview("deployments", stuck);
    assert_eq!(state(&stuck).words, "rollout stuck");
    assert!(stuck.conditions[0].advice.unwrap().contains("rollout undo"));
    let daemons = json!({"status": {"desiredNumberScheduled": 2, "numberReady": 2,
        "updatedNumberScheduled": 2, "numberAvailable": 2}});
    assert_eq!(
        object_state("daemonsets", daemons),
        (Severity::Healthy, "2 of 2 ready".to_owned())
    );
}

#[test]
fn related_pods_are_listed_by_the_selector_of_the_workload() {
    let web = Object::from(deployment(1, 1, 1));
    let found = related(kind("deployments"), &web).unwrap();
    assert_eq!(found.option, "--selector 'app=web,tier in (a,b)'");
    assert_eq!(
        found.query,
        "labelSelector=app%3Dweb%2Ctier%20in%20%28a%2Cb%29"
    );
    assert_eq!(found.namespace.as_deref(), Some("shop"));
    let overview = Overview::of(kind("deployments"), &web);
    assert_eq!(
        fact(&overview, "Images"),
        &FactValue::Codes(vec!["shop/web:1".to_owned()])
    );
    assert_eq!(
        fact(&overview, "Strategy"),
        &FactValue::Text("rolling update, max unavailable 25%, max surge 1".to_owned())
    );
    // An empty selector must not select all objects.
    assert_eq!(related(kind("deployments"), &Object::from(json!({}))), None);
    let node = Object::from(json!({"metadata": {"name": "n1"}}));
    let pods = related(Kind::NODES, &node).unwrap();
    assert_eq!(pods.query, "fieldSelector=spec.nodeName%3Dn1");
}

#[test]
fn job_status_shows_completions() {
    let job = json!({"spec": {"completions": 5}, "status": {"active": 1, "succeeded": 2}});
    assert_eq!(
        object_state("jobs", job),
        (
            Severity::Progressing,
            "running: 2 of 5 completed".to_owned()
        )
    );
    let failed = json!({"status": {"conditions": [{"type": "Failed", "status": "True",
        "reason": "BackoffLimitExceeded", "message": "Job has reached the limit"}]}});
    let failed = overview("jobs", failed);
    assert_eq!(state(&failed).words, "failed");
    assert!(
        state(&failed)
            .why
            .unwrap()
            .starts_with("Backoff limit exceeded. Job has")
    );
    let cron = json!({"metadata": {"namespace": "shop"}, "spec": {"schedule": "*/5 * * * *"},
        "status": {"active": [{"name": "tidy-1"}]}});
    let cron = overview("cronjobs", cron);
    assert_eq!(state(&cron).words, "1 job running");
    assert_eq!(
        fact(&cron, "Last run"),
        &FactValue::Text("never".to_owned())
    );
    let FactValue::Links(jobs) = fact(&cron, "Running jobs") else {
        panic!("the jobs are not links");
    };
    assert_eq!(
        jobs[0].target.as_ref().unwrap().screen("berlin"),
        "/clusters/berlin/jobs/shop/tidy-1"
    );
}

#[test]
fn node_status_shows_failed_conditions_and_cordon() {
    let node = |ready: &str, pressure: &str, cordoned: bool| {
        json!({"metadata": {"name": "n1", "labels": {"node-role.kubernetes.io/control-plane": ""}},
            "spec": {"unschedulable": cordoned,
                "taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]},
            "status": {"capacity": {"cpu": "4", "memory": "16Gi"}, "allocatable": {"cpu": "3900m"},
                "conditions": [{"type": "Ready", "status": ready},
                    {"type": "DiskPressure", "status": pressure}]}})
    };
    assert_eq!(
        object_state("nodes", node("True", "False", false)).1,
        "Ready"
    );
    assert_eq!(
        object_state("nodes", node("True", "False", true)).1,
        "Ready,SchedulingDisabled"
    );
    assert_eq!(
        object_state("nodes", node("True", "True", false)).1,
        "Ready,DiskPressure"
    );
    assert_eq!(
        object_state("nodes", node("False", "False", false)).1,
        "NotReady"
    );
    assert_eq!(
        object_state("nodes", node("Unknown", "False", false)).1,
        "NotReady"
    );
    let overview = overview("nodes", node("True", "True", false));
    assert_eq!(
        fact(&overview, "CPU"),
        &FactValue::Text("3.9 cores of 4 cores allocatable".to_owned())
    );
    assert_eq!(
        fact(&overview, "Memory"),
        &FactValue::Text("16 GiB".to_owned())
    );
    assert_eq!(
        fact(&overview, "Roles"),
        &FactValue::Text("control-plane".to_owned())
    );
    assert_eq!(
        overview.conditions[0].name, "DiskPressure",
        "problem conditions sort first"
    );
}

/// Generates random JSON that often contains known field names.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "metadata",
        "spec",
        "status",
        "containers",
        "containerStatuses",
        "conditions",
        "state",
        "terminated",
        "exitCode",
        "waiting",
        "reason",
        "name",
        "type",
        "ports",
        "selector",
        "matchLabels",
        "labels",
        "capacity",
        "replicas",
        "template",
        "phase",
        "taints",
        "volumes",
        "active",
    ]);
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(|entries| {
                entries
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_objects_do_not_panic(value in anything()) {
        let object = Object::from(value);
        for kind in Kind::WORKLOADS.into_iter().chain([Kind::NODES]) {
            let _ = Overview::of(kind, &object);
            let _ = related(kind, &object);
        }
        let _ = (PodLine::of(&object), object.owners(), life(&object, "web"), is_finished(&object));
        let _ = (crashes(&object), PodLine::on(&object, &[String::new()]));
    }
}
