//! Tests that workloads start, roll out, scale and fail as they do in a real cluster.

use drover_simulate::Plan;
use drover_simulate::annotations::{FAIL, RUN_SECONDS, START_SECONDS};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::stage::Stage;

fn workload(kind: &str, name: &str, image: &str, more: &Value) -> Value {
    let labels = json!({ "app": name });
    let mut spec = json!({
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": image}]},
        },
    });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn count(object: Option<&Value>, field: &str) -> i64 {
    object.map_or(-1, |object| object["status"][field].as_i64().unwrap_or(0))
}

/// Returns true if the Deployment is rolled out according to the rules of `kubectl rollout status`.
fn is_rolled_out(object: Option<&Value>, replicas: i64) -> bool {
    let Some(one) = object else { return false };
    one["status"]["observedGeneration"] == one["metadata"]["generation"]
        && ["replicas", "updatedReplicas", "availableReplicas"]
            .iter()
            .all(|field| count(object, field) == replicas)
}

#[tokio::test(flavor = "multi_thread")]
async fn deployment_rolls_out_and_scales() {
    let stage = Stage::of(Plan::empty(2)).await;
    let replicas = |n| json!({ "replicas": n });
    let deployment = |image, n| workload("Deployment", "web", image, &replicas(n));
    stage.apply("apps", &deployment("web:1", 3)).await;
    let rolled = |n| move |object: Option<&Value>| is_rolled_out(object, n);
    stage.until("apps", "Deployment", "web", rolled(3)).await;
    stage.apply("apps", &deployment("web:1", 5)).await;
    stage.until("apps", "Deployment", "web", rolled(5)).await;
    stage.apply("apps", &deployment("web:2", 5)).await;
    let updated = |object: Option<&Value>| {
        is_rolled_out(object, 5)
            && object.is_some_and(|one| {
                one["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
            })
    };
    stage.until("apps", "Deployment", "web", updated).await;
    stage.apply("apps", &deployment("web:2", 0)).await;
    stage.until("apps", "Deployment", "web", rolled(0)).await;
    let images: Vec<Value> = stage.pods().await;
    assert!(
        images
            .iter()
            .all(|pod| !pod["metadata"]["deletionTimestamp"].is_null()),
        "{images:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn stateful_set_creates_pods_in_order() {
    let stage = Stage::of(Plan::empty(1)).await;
    let more = json!({"replicas": 3, "serviceName": "db"});
    let mut set = workload("StatefulSet", "db", "db:1", &more);
    set["spec"]["template"]["metadata"]["annotations"] = json!({START_SECONDS: "5"});
    stage.apply("apps", &set).await;
    stage
        .until("", "Pod", "db-0", |pod| {
            pod.is_some_and(|pod| !pod["spec"]["nodeName"].is_null())
        })
        .await;
    assert_eq!(stage.pod_names().await, ["db-0"]);
    let rolled = |object: Option<&Value>| {
        count(object, "readyReplicas") == 3 && count(object, "updatedReplicas") == 3
    };
    stage
        .advance_until("apps", "StatefulSet", "db", rolled)
        .await;
    assert_eq!(stage.pod_names().await, ["db-0", "db-1", "db-2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn daemon_set_runs_on_every_node() {
    let stage = Stage::of(Plan::empty(3)).await;
    let set = workload("DaemonSet", "agent", "agent:1", &json!({}));
    stage.apply("apps", &set).await;
    let everywhere = |object: Option<&Value>| count(object, "numberAvailable") == 3;
    stage.until("apps", "DaemonSet", "agent", everywhere).await;
    let mut nodes: Vec<_> = stage
        .pods()
        .await
        .iter()
        .map(|pod| pod["spec"]["nodeName"].clone())
        .collect();
    nodes.sort_by_key(ToString::to_string);
    nodes.dedup();
    assert_eq!(nodes.len(), 3);
}

fn job(name: &str, code: &str, more: &Value) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"template": {
            "metadata": {"annotations": {
                RUN_SECONDS: "3", "simulate.drover.dev/exit-code": code,
            }},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "job:1"}]},
        }},
    });
    for (field, value) in more.as_object().unwrap() {
        job["spec"][field] = value.clone();
    }
    job
}

fn has(object: Option<&Value>, kind: &str) -> bool {
    let conditions = object.and_then(|object| object["status"]["conditions"].as_array());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == kind && one["status"] == "True")
}

#[tokio::test(flavor = "multi_thread")]
async fn job_completes_or_fails_after_its_retries() {
    let stage = Stage::of(Plan::empty(1)).await;
    let more = json!({"completions": 4, "parallelism": 2});
    stage.apply("batch", &job("works", "0", &more)).await;
    stage
        .apply("batch", &job("fails", "3", &json!({"backoffLimit": 1})))
        .await;
    let complete = |job: Option<&Value>| has(job, "Complete") && count(job, "succeeded") == 4;
    stage.advance_until("batch", "Job", "works", complete).await;
    let failed = |job: Option<&Value>| has(job, "Failed") && count(job, "failed") == 2;
    stage.advance_until("batch", "Job", "fails", failed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unschedulable_pod_reports_the_reason_and_runs_after_resources_are_free() {
    let stage = Stage::of(Plan::empty(1)).await;
    let mut large = workload("Deployment", "large", "large:1", &json!({"replicas": 2}));
    large["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"requests": {"cpu": "3"}});
    stage.apply("apps", &large).await;
    let one = |object: Option<&Value>| count(object, "availableReplicas") == 1;
    stage.until("apps", "Deployment", "large", one).await;
    let events = stage
        .api("", "Event")
        .list(&ListParams::default())
        .await
        .unwrap();
    let refused = events
        .items
        .iter()
        .find(|event| event.data["reason"] == "FailedScheduling");
    assert_eq!(
        refused.unwrap().data["message"],
        "0/1 nodes are available: 1 Insufficient cpu."
    );
    let patch = json!({"spec": {"replicas": 1}});
    let scaled = stage.api("apps", "Deployment");
    scaled
        .patch("large", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    stage
        .until("apps", "Deployment", "large", |object| {
            is_rolled_out(object, 1)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_annotation_produces_the_same_pod_status_as_a_real_failure() {
    let stage = Stage::of(Plan::empty(1)).await;
    for (name, case) in [
        ("crashing", "CrashLoopBackOff"),
        ("no-image", "ImagePullBackOff"),
    ] {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": {FAIL: case, RUN_SECONDS: "1"}},
            "spec": {"containers": [{"name": "c", "image": "x:1"}]},
        });
        stage.apply("", &pod).await;
        let waits = |pod: Option<&Value>| {
            let status = pod.map(|pod| pod["status"]["containerStatuses"][0].clone());
            status.is_some_and(|status| status["state"]["waiting"]["reason"] == case)
        };
        stage.advance_until("", "Pod", name, waits).await;
    }
    let restarted = |pod: Option<&Value>| {
        let status = pod.map(|pod| pod["status"]["containerStatuses"][0].clone());
        status.is_some_and(|status| status["restartCount"].as_i64() >= Some(2))
    };
    stage.advance_until("", "Pod", "crashing", restarted).await;
    stage
        .api("", "Pod")
        .delete("crashing", &DeleteParams::default())
        .await
        .unwrap();
    stage.advance_until("", "Pod", "crashing", is_gone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn service_has_endpoints_of_ready_pods() {
    let stage = Stage::of(Plan::empty(1)).await;
    stage
        .apply(
            "apps",
            &workload("Deployment", "web", "web:1", &json!({"replicas": 2})),
        )
        .await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    stage.apply("", &service).await;
    stage
        .until("apps", "Deployment", "web", |object| {
            is_rolled_out(object, 2)
        })
        .await;
    let slices = stage.api("discovery.k8s.io", "EndpointSlice");
    let name = slices
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .remove(0);
    let name = kube::ResourceExt::name_any(&name);
    let both = |slice: Option<&Value>| {
        let endpoints = slice.and_then(|slice| slice["endpoints"].as_array());
        endpoints.is_some_and(|all| {
            all.len() == 2 && all.iter().all(|one| one["conditions"]["ready"] == true)
        })
    };
    stage
        .until("discovery.k8s.io", "EndpointSlice", &name, both)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_objects_are_not_recreated_after_a_restart() {
    let mut plan = Plan::empty(1);
    plan.objects = vec![workload(
        "Deployment",
        "sample",
        "sample:1",
        &json!({"replicas": 1}),
    )];
    plan.objects[0]["metadata"]["namespace"] = "default".into();
    let stage = Stage::of(plan.clone()).await;
    stage
        .until("apps", "Deployment", "sample", |object| {
            is_rolled_out(object, 1)
        })
        .await;
    let deployments = stage.api("apps", "Deployment");
    deployments
        .delete("sample", &DeleteParams::default())
        .await
        .unwrap();
    stage
        .apply(
            "apps",
            &workload("Deployment", "own", "own:1", &json!({"replicas": 1})),
        )
        .await;
    stage
        .until("apps", "Deployment", "own", |object| {
            is_rolled_out(object, 1)
        })
        .await;
    let stage = stage.restart(plan).await;
    stage.until("apps", "Deployment", "sample", is_gone).await;
    stage
        .until("apps", "Deployment", "own", |object| {
            is_rolled_out(object, 1)
        })
        .await;
}

fn is_gone(object: Option<&Value>) -> bool {
    object.is_none()
}
