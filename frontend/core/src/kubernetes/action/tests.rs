use serde_json::{Value, json};

use super::*;
use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::object::Object;
use crate::problem::{Problem, ProblemKind};

fn target(plural: &str, name: &str) -> KubectlObject {
    let kind = Kind::of_plural(plural).unwrap();
    KubectlObject {
        cluster: "berlin".to_owned(),
        kind,
        namespace: kind.namespaced.then(|| "shop".to_owned()),
        name: name.to_owned(),
    }
}

fn deployment() -> Object {
    Object::from(json!({
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7",
            "labels": {"app": "web", "tier": "front"},
            "annotations": {"deployment.kubernetes.io/revision": "2", "team": "red"},
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"spec": {"containers": [{"name": "web", "image": "shop/web:2"}]}},
        },
    }))
}

const DEPLOYMENT_PATH: &str = "/k8s/clusters/berlin/apis/apps/v1/namespaces/shop/deployments/web";

#[test]
fn scale_uses_the_scale_subresource_and_its_undo_restores_the_replicas() {
    let (target, object) = (target("deployments", "web"), deployment());
    let change = Change::Scale(5);
    let request = change.request(&target, &object);
    assert_eq!(request.method, "PATCH");
    let path = format!("{DEPLOYMENT_PATH}/scale?fieldManager=drover-ui");
    assert_eq!(request.path(), path);
    assert_eq!(
        request.clone().dry_run().path(),
        format!("{path}&dryRun=All")
    );
    assert_eq!(
        request.body,
        json!({"metadata": {"uid": "u1"}, "spec": {"replicas": 5}})
    );
    assert_eq!(change.undo(&object), Some(Change::Scale(3)));
    assert_eq!(
        change.command(&target, &object),
        "kubectl --context berlin --namespace shop scale deployment web --replicas 5"
    );
    let access = Access::of(Action::Scale, &target);
    assert_eq!(
        access.words(),
        "patch deployments.apps/scale in namespace shop"
    );
}

#[test]
fn restart_sets_the_annotation_of_kubectl() {
    let at = "2026-11-29T10:00:00.25Z".parse().unwrap();
    let change = Change::Restart(at);
    let request = change.request(&target("deployments", "web"), &deployment());
    let annotations = request.body.pointer("/spec/template/metadata/annotations");
    let expected = json!({"kubectl.kubernetes.io/restartedAt": "2026-11-29T10:00:00Z"});
    assert_eq!(annotations, Some(&expected));
    assert_eq!(change.undo(&deployment()), None);
}

#[test]
fn image_of_a_cron_job_is_in_the_template_of_its_jobs() {
    let change = Change::SetImage {
        container: "backup".to_owned(),
        init: true,
        image: "backup:2".to_owned(),
    };
    let object = Object::from(
        json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": {
        "initContainers": [{"name": "backup", "image": "backup:1"}]}}}}}}),
    );
    let request = change.request(&target("cronjobs", "nightly"), &object);
    let path = "/spec/jobTemplate/spec/template/spec/initContainers/0/image";
    assert_eq!(request.body.pointer(path), Some(&json!("backup:2")));
    let Some(Change::SetImage { image, .. }) = change.undo(&object) else {
        panic!("the undo sets an image");
    };
    assert_eq!(image, "backup:1");
}

#[test]
fn triggered_job_belongs_to_its_cron_job() {
    let object = Object::from(json!({
        "metadata": {"name": "nightly", "namespace": "shop", "uid": "u9"},
        "spec": {"jobTemplate": {"metadata": {"labels": {"app": "backup"}}, "spec": {"backoffLimit": 1}}},
    }));
    let target = target("cronjobs", "nightly");
    let change = Change::Trigger("nightly-manual".to_owned());
    let request = change.request(&target, &object);
    assert_eq!(
        request.path(),
        "/k8s/clusters/berlin/apis/batch/v1/namespaces/shop/jobs?fieldManager=drover-ui"
    );
    let body = &request.body;
    assert_eq!(body.pointer("/spec/backoffLimit"), Some(&json!(1)));
    assert_eq!(body.pointer("/metadata/labels/app"), Some(&json!("backup")));
    assert_eq!(
        body.pointer("/metadata/ownerReferences/0/uid"),
        Some(&json!("u9"))
    );
    assert_eq!(
        change.command(&target, &object),
        "kubectl --context berlin --namespace shop create job nightly-manual --from cronjob/nightly"
    );
    let access = Access::of(Action::Trigger, &target);
    assert_eq!(access.words(), "create jobs.batch in namespace shop");
}

#[test]
fn deletion_and_eviction_apply_only_to_the_shown_object() {
    let object =
        Object::from(json!({"metadata": {"name": "web-0", "namespace": "shop", "uid": "u3"}}));
    let target = target("pods", "web-0");
    let delete = Change::Delete(Cascade::Foreground).request(&target, &object);
    assert_eq!(
        delete.path(),
        "/k8s/clusters/berlin/api/v1/namespaces/shop/pods/web-0"
    );
    assert_eq!(delete.body["propagationPolicy"], "Foreground");
    assert_eq!(delete.body["preconditions"]["uid"], "u3");
    let evict = Change::Evict.request(&target, &object);
    assert!(evict.path().contains("/pods/web-0/eviction?"), "{evict:?}");
    assert_eq!(evict.body["deleteOptions"]["preconditions"]["uid"], "u3");
}

#[test]
fn debug_container_sees_the_processes_of_its_target() {
    let target = target("pods", "web-0");
    let change = Change::Debug {
        name: "debugger".to_owned(),
        image: "busybox".to_owned(),
        target: "web".to_owned(),
    };
    let object = Object::from(json!({}));
    let request = change.request(&target, &object);
    let container = &request.body["spec"]["ephemeralContainers"][0];
    assert_eq!(container["targetContainerName"], "web");
    assert!(
        change
            .command(&target, &object)
            .ends_with("debug web-0 -it --image busybox --container debugger --target web")
    );
}

fn replica_set(revision: &str, image: &str, owner: &str) -> Value {
    json!({
        "metadata": {
            "name": format!("web-{revision}"),
            "annotations": {
                "deployment.kubernetes.io/revision": revision,
                "deployment.kubernetes.io/desired-replicas": "3",
                "kubernetes.io/change-cause": "upgrade",
            },
            "ownerReferences": [{"kind": "Deployment", "name": "web", "uid": owner}],
        },
        "spec": {"template": {
            "metadata": {"labels": {"app": "web", "pod-template-hash": "abc"}},
            "spec": {"containers": [{"name": "web", "image": image}]},
        }},
    })
}

#[test]
fn deployment_is_rolled_back_to_the_template_of_a_replica_set() {
    let (target, object) = (target("deployments", "web"), deployment());
    let source = revision_source(&target, &object).unwrap();
    assert_eq!(
        source.path,
        "/k8s/clusters/berlin/apis/apps/v1/namespaces/shop/replicasets?labelSelector=app%3Dweb"
    );
    let list = json!({"items": [
        replica_set("1", "shop/web:1", "u1"),
        replica_set("2", "shop/web:2", "u1"),
        replica_set("9", "other", "another owner"),
    ]});
    let revisions = revisions(target.kind, &object, &list);
    let numbers: Vec<_> = revisions
        .iter()
        .map(|it| (it.number, it.is_current))
        .collect();
    assert_eq!(numbers, [(2, true), (1, false)]);
    let change = Change::RollBack(Box::new(revisions[1].clone()));
    let body = change.request(&target, &object).body;
    let template = &body[0]["value"];
    assert_eq!(template["spec"]["containers"][0]["image"], "shop/web:1");
    assert_eq!(template["metadata"]["labels"], json!({"app": "web"}));
    // As in kubectl, the annotations of the revision replace other annotations.
    let annotations =
        json!({"deployment.kubernetes.io/revision": "2", "kubernetes.io/change-cause": "upgrade"});
    assert_eq!(body[1]["value"], annotations);
    assert_eq!(
        body[2],
        json!({"op": "replace", "path": "/metadata/uid", "value": "u1"})
    );
    let undo = change.undo(&object).unwrap().request(&target, &object).body;
    assert_eq!(
        undo[0]["value"]["spec"]["containers"][0]["image"],
        "shop/web:2"
    );
    assert_eq!(undo[1]["value"]["team"], "red");
}

#[test]
fn stateful_set_is_rolled_back_with_the_patch_of_a_controller_revision() {
    let list = json!({"items": [{
        "metadata": {"ownerReferences": [{"uid": "u1"}]},
        "revision": 4,
        "data": {"spec": {"template": {"$patch": "replace",
            "spec": {"containers": [{"name": "db", "image": "db:1"}]}}}},
    }]});
    let target = target("statefulsets", "db");
    let revisions = revisions(target.kind, &deployment(), &list);
    assert_eq!(revisions[0].images(), ["db:1"]);
    assert!(!template_text(&revisions[0].template).contains("$patch"));
    let request = Change::RollBack(Box::new(revisions[0].clone())).request(&target, &deployment());
    assert_eq!(request.media_type, "application/strategic-merge-patch+json");
    assert_eq!(request.body["spec"]["template"]["$patch"], "replace");
}

#[test]
fn taints_are_replaced_only_in_the_version_that_the_user_edited() {
    let object = Object::from(json!({
        "metadata": {"name": "n1", "resourceVersion": "12"},
        "spec": {"taints": [
            {"key": "gone", "effect": "NoExecute", "timeAdded": "2026-11-29T10:00:00Z"},
            {"key": "old", "value": "1", "effect": "NoSchedule"},
        ]},
    }));
    assert_eq!(taints_text(&object), "gone:NoExecute\nold=1:NoSchedule");
    let taints = taints_of_text("gone:NoExecute\n new=2:PreferNoSchedule \n\n", &object).unwrap();
    let target = target("nodes", "n1");
    let change = Change::Taints(taints);
    let body = change.request(&target, &object).body;
    assert_eq!(body["metadata"]["resourceVersion"], "12");
    assert_eq!(
        body["spec"]["taints"][0]["timeAdded"],
        "2026-11-29T10:00:00Z"
    );
    assert_eq!(
        change.command(&target, &object),
        "kubectl --context berlin taint nodes n1 --overwrite new=2:PreferNoSchedule old:NoSchedule-"
    );
    let node = |version: &str, taint: &str| {
        Object::from(json!({
            "metadata": {"name": "n1", "resourceVersion": version},
            "spec": {"taints": [{"key": taint, "effect": "NoSchedule"}]},
        }))
    };
    let (opened, reported, tainted) = (node("1", "a"), node("2", "a"), node("3", "b"));
    assert_eq!(change.base(&opened, &reported), &reported);
    assert_eq!(change.base(&opened, &tainted), &opened);
    for (text, part) in [
        ("a=b", "Not a taint"),
        ("a:Never", "Not a taint"),
        ("a:NoExecute\na=1:NoExecute", "Duplicate"),
    ] {
        let error = taints_of_text(text, &object).unwrap_err();
        assert!(error.words().contains(part), "{error:?}");
    }
}

#[test]
fn label_change_removes_only_the_deleted_lines() {
    let (target, object) = (target("deployments", "web"), deployment());
    let labels = labels_of_text("app=web\nenv=test").unwrap();
    let change = Change::Labels(labels);
    assert_eq!(
        change.request(&target, &object).body,
        json!({"metadata": {"labels": {"env": "test", "tier": null}, "uid": "u1"}})
    );
    assert!(
        change
            .command(&target, &object)
            .ends_with("label deployment web --overwrite app=web env=test tier-")
    );
    assert!(labels_of_text("=x").is_err());
    assert!(labels_of_text("a=1\na=2").is_err());
}

#[test]
fn menu_contains_the_actions_of_the_current_state() {
    let of = |plural: &str, value: Value| {
        let kind = Kind::of_plural(plural).unwrap();
        available(kind, &Object::from(value))
    };
    let paused = of("deployments", json!({"spec": {"paused": true}}));
    assert!(paused.contains(&Action::Resume) && !paused.contains(&Action::Pause));
    assert!(!paused.contains(&Action::RollBack));
    let suspended = of("cronjobs", json!({"spec": {"suspend": true}}));
    assert!(suspended.contains(&Action::Unsuspend) && suspended.contains(&Action::Trigger));
    let finished = json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}});
    assert_eq!(of("jobs", finished), [Action::Labels, Action::Delete]);
    let mirror = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}});
    assert_eq!(of("pods", mirror), [Action::Labels, Action::Delete]);
    let cordoned = of("nodes", json!({"spec": {"unschedulable": true}}));
    assert_eq!(cordoned[0], Action::Uncordon);
    assert_eq!(of("events", json!({})), []);
    assert_eq!(main_action(Kind::NODES, &cordoned), Some(Action::Uncordon));
    assert_eq!(main_action(Kind::PODS, &[Action::Debug]), None);
}

#[test]
fn eviction_names_the_disruption_budgets_that_block_the_pod() {
    let pod = Object::from(json!({"metadata": {"labels": {"app": "web", "tier": "front"}}}));
    let budget = |name: &str, allowed: u32, selector: Value| {
        json!({"metadata": {"name": name}, "spec": {"selector": selector},
            "status": {"disruptionsAllowed": allowed}})
    };
    let list = json!({"items": [
        budget("web", 0, json!({"matchLabels": {"app": "web"}})),
        budget("relaxed", 1, json!({"matchLabels": {"app": "web"}})),
        budget("other", 0, json!({"matchLabels": {"app": "db"}})),
        budget("all", 0, json!({})),
        budget("front", 0, json!({"matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["front"]},
            {"key": "canary", "operator": "DoesNotExist"},
        ]})),
        {"metadata": {"name": "none"}, "spec": {}, "status": {"disruptionsAllowed": 0}},
    ]});
    assert_eq!(budgets_of(&pod, &list), ["web", "all", "front"]);
}

#[test]
fn error_of_a_change_names_the_cause_and_the_next_step() {
    let access = Access::of(Action::Scale, &target("deployments", "web"));
    let explain = |kind, message: &str| explain_problem(&Problem::new(kind, message), &access);
    let forbidden = explain(
        ProblemKind::Forbidden,
        "User \"ann\" cannot patch resource \"deployments/scale\".",
    );
    assert!(
        forbidden
            .contains("Requires the permission: patch deployments.apps/scale in namespace shop"),
        "{forbidden}"
    );
    let quota = explain(ProblemKind::Forbidden, "Exceeded quota: small.");
    assert!(quota.contains("quota or an admission policy"), "{quota}");
    let conflict = explain(ProblemKind::Conflict, "Conflict.");
    assert!(conflict.contains("changed at the same time"), "{conflict}");
    for (kind, message) in [
        (
            ProblemKind::Conflict,
            "Precondition failed: UID in precondition: a, UID in object meta: b.",
        ),
        (
            ProblemKind::Invalid,
            "metadata.uid: Invalid value: \"a\": field is immutable.",
        ),
    ] {
        let recreated = explain(kind, message);
        assert!(
            recreated.contains("deleted and created again"),
            "{recreated}"
        );
    }
    let offline = explain(ProblemKind::Offline, "No connection.");
    assert!(offline.contains("can have applied"), "{offline}");
}

#[test]
fn access_review_asks_for_the_request_of_the_action() {
    let access = Access::of(Action::Evict, &target("pods", "web-0"));
    let review = access.review();
    let attributes = &review["spec"]["resourceAttributes"];
    assert_eq!(attributes["verb"], "create");
    assert_eq!(attributes["subresource"], "eviction");
    assert_eq!(attributes["namespace"], "shop");
    assert_eq!(attributes["name"], "web-0");
    let question = access.question("berlin");
    assert_eq!(
        (question.verb.as_str(), question.resource.as_str()),
        ("create", "pods/eviction")
    );
    assert_eq!(
        (question.object.as_str(), question.namespace.as_str()),
        ("web-0", "shop")
    );
    assert!(Access::is_denied(&json!({"status": {"allowed": false}})));
    assert!(!Access::is_denied(&json!({"status": {"allowed": true}})));
    assert!(!Access::is_denied(&json!({})));
}

#[test]
fn deletion_of_a_kind_with_data_requires_the_typed_name() {
    assert_eq!(deletion_danger(Kind::PODS), None);
    assert!(deletion_danger(Kind::NODES).is_some());
}

#[test]
fn scale_warns_about_the_autoscaler_of_the_workload() {
    let target = target("deployments", "web");
    assert_eq!(
        autoscalers_path(&target),
        "/k8s/clusters/berlin/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"
    );
    let autoscaler = |name: &str, kind: &str| {
        json!({"metadata": {"name": format!("{name}-scaler")},
            "spec": {"scaleTargetRef": {"kind": kind, "name": name}}})
    };
    let list = json!({"items": [
        autoscaler("db", "Deployment"),
        autoscaler("web", "StatefulSet"),
        autoscaler("web", "Deployment"),
    ]});
    assert_eq!(autoscaler_of(&target, &list).as_deref(), Some("web-scaler"));
    assert_eq!(autoscaler_of(&target, &json!({"items": []})), None);
}
