use serde_json::{Value, json};

use super::*;
use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::object::Object;

fn pod(name: &str, controller: Option<&str>, volumes: &Value, phase: &str) -> Object {
    let owners: Vec<_> = controller
        .iter()
        .map(|kind| json!({"kind": kind, "name": "owner", "controller": true}))
        .collect();
    Object::from(json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": name},
            "ownerReferences": owners},
        "spec": {"volumes": volumes},
        "status": {"phase": phase},
    }))
}

fn plan() -> DrainPlan {
    let mirror = Object::from(
        json!({"metadata": {"name": "etcd", "namespace": "kube-system",
        "uid": "etcd", "annotations": {"kubernetes.io/config.mirror": "x"}}}),
    );
    let empty = json!([{"name": "cache", "emptyDir": {}}]);
    let pods = [
        mirror,
        pod("web", Some("ReplicaSet"), &json!([]), "Running"),
        pod("cache", Some("ReplicaSet"), &empty, "Running"),
        pod("alone", None, &empty, "Running"),
        pod("done", Some("Job"), &empty, "Succeeded"),
        pod("agent", Some("DaemonSet"), &empty, "Running"),
    ];
    let budget = |name: &str, namespace: &str, app: &str| {
        json!({"metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": 0}})
    };
    let budgets = json!({"items": [
        budget("web", "shop", "web"),
        budget("elsewhere", "other", "web"),
        budget("done", "shop", "done"),
        budget("agent", "shop", "agent"),
    ]});
    drain_plan(&pods, &budgets)
}

#[test]
fn pods_are_planned_by_their_class() {
    let plan = plan();
    let classes: Vec<_> = plan
        .pods
        .iter()
        .map(|it| (it.name.as_str(), it.class))
        .collect();
    assert_eq!(
        classes,
        [
            ("web", PodClass::Evicted),
            ("done", PodClass::Finished),
            ("cache", PodClass::EmptyDir),
            ("alone", PodClass::Unmanaged),
            ("agent", PodClass::DaemonSet),
            ("etcd", PodClass::Mirror),
        ]
    );
    let leaving = plan.evictions();
    let leaving: Vec<_> = leaving.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(leaving, ["web", "done", "cache", "alone"]);
    // A finished pod and a pod that stays are not subject to budgets.
    assert_eq!(plan.blocking_budgets(), ["shop/web"]);
}

#[test]
fn loss_of_data_and_of_unmanaged_pods_needs_a_confirmation() {
    let plan = plan();
    let options = |force, delete_empty_dir| DrainOptions {
        force,
        delete_empty_dir,
    };
    assert!(plan.has_empty_dir());
    assert!(plan.needs_confirmation(options(false, true)));
    assert!(plan.needs_confirmation(options(true, false)));
    assert!(!plan.needs_confirmation(options(true, true)));
    let node = KubectlObject {
        cluster: "berlin".to_owned(),
        kind: Kind::NODES,
        namespace: None,
        name: "n1".to_owned(),
    };
    assert_eq!(
        options(true, true).command(&node),
        "kubectl --context berlin drain n1 --ignore-daemonsets --delete-emptydir-data --force"
    );
}

#[test]
fn eviction_of_the_drain_ignores_a_new_pod_with_the_same_name() {
    let request = plan().evictions()[0].eviction("berlin");
    assert_eq!(
        request.path(),
        "/k8s/clusters/berlin/api/v1/namespaces/shop/pods/web/eviction?fieldManager=drover-ui"
    );
    assert_eq!(request.body["deleteOptions"]["preconditions"]["uid"], "web");
}

#[test]
fn progress_counts_pods_that_are_gone_or_failed() {
    let mut progress = DrainProgress::of(plan().evictions());
    assert_eq!(progress.finished(), 0);
    progress.set("web", PodState::Gone);
    progress.set("done", PodState::Terminating);
    progress.set("unknown", PodState::Gone);
    assert!(!progress.has_failed());
    progress.set("cache", PodState::Failed("denied".to_owned()));
    assert!(progress.has_failed());
    assert_eq!(progress.finished(), 2);
    assert!((progress.part() - 0.5).abs() < f64::EPSILON);
    assert!(DrainProgress::default().part() > 0.99);
}
