//! Tests that compare rows with the output of `kubectl get`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{cells, columns, conditions};
use crate::builtin::{Kinds, catalog};
use crate::resource::Resource;

fn now() -> Timestamp {
    "2026-01-01T01:00:00Z".parse().unwrap()
}

fn row(group: &str, plural: &str, object: &Value) -> Vec<Value> {
    let catalog = catalog(Kinds::Cluster);
    let resource = catalog.find(group, "v1", plural).unwrap();
    let cells = cells(resource, object, now());
    assert_eq!(cells.len(), columns(resource).len(), "{plural}");
    cells
}

#[test]
fn table_row_of_every_kind_has_a_cell_per_column() {
    let empty = json!({"metadata": {"name": "x"}});
    for resource in catalog(Kinds::Cluster).iter() {
        assert_eq!(
            cells(resource, &empty, now()).len(),
            columns(resource).len(),
            "{}",
            resource.kind
        );
        assert!(
            columns(resource)
                .iter()
                .all(|column| !column.description.is_empty())
        );
    }
}

#[test]
fn table_row_of_pod_summarizes_its_containers() {
    let mut pod = json!({
        "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:57:00Z"},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], "nodeName": "n"},
        "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "containerStatuses": [
            {"name": "a", "ready": true, "restartCount": 0, "state": {"running": {}}},
            {"name": "b", "ready": false, "restartCount": 3,
             "state": {"waiting": {"reason": "CrashLoopBackOff"}},
             "lastState": {"terminated": {"finishedAt": "2026-01-01T00:59:30Z"}}},
        ]},
    });
    assert_eq!(
        row("", "pods", &pod),
        [
            "p",
            "1/2",
            "CrashLoopBackOff",
            "3 (30s ago)",
            "3m",
            "10.0.0.1",
            "n",
            "<none>",
            "<none>"
        ]
    );
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T01:00:00Z".into();
    assert_eq!(row("", "pods", &pod)[2], "Terminating");
    pod["spec"]["initContainers"] = json!([{"name": "i"}]);
    pod["status"]["initContainerStatuses"] = json!([{"name": "i", "state": {"running": {}}}]);
    pod["metadata"]["deletionTimestamp"] = Value::Null;
    assert_eq!(row("", "pods", &pod)[2], "Init:0/1");
    pod["status"]["phase"] = "Succeeded".into();
    let catalog = catalog(Kinds::Cluster);
    let pods = catalog.find("", "v1", "pods").unwrap();
    assert_eq!(conditions(pods, &pod).unwrap()[0]["reason"], "Succeeded");
}

#[test]
fn table_rows_of_workloads_show_replica_counts() {
    let deployment = json!({
        "metadata": {"name": "d", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [
                     {"key": "x", "operator": "In", "values": ["2", "1"]}]},
                 "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
        "status": {"readyReplicas": 2, "updatedReplicas": 3},
    });
    assert_eq!(
        row("apps", "deployments", &deployment),
        [
            json!("d"),
            json!("2/3"),
            json!(3),
            json!(0),
            json!("60m"),
            json!("c"),
            json!("i"),
            json!("a=b,x in (1,2)")
        ]
    );
    let job = json!({
        "metadata": {"name": "j"}, "spec": {"completions": 2},
        "status": {"succeeded": 1, "startTime": "2026-01-01T00:58:00Z"},
    });
    assert_eq!(
        row("batch", "jobs", &job)[1..5],
        ["Running", "1/2", "2m", "<unknown>"]
    );
}

#[test]
fn table_rows_of_services_nodes_and_events_match_kubectl() {
    let service = json!({
        "metadata": {"name": "s"},
        "spec": {"type": "NodePort", "clusterIPs": ["10.0.0.1"],
                 "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]},
    });
    assert_eq!(
        row("", "services", &service)[1..5],
        ["NodePort", "10.0.0.1", "<none>", "80:30080/TCP"]
    );
    let node = json!({
        "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": ""}},
        "spec": {"unschedulable": true},
        "status": {"conditions": [{"type": "Ready", "status": "Unknown"}],
                   "nodeInfo": {"kubeletVersion": "v1", "kernelVersion": "6", "architecture": "arm64"}},
    });
    let cells = row("", "nodes", &node);
    assert_eq!(cells[1..3], ["NotReady,SchedulingDisabled", "worker"]);
    assert_eq!(cells[8], "6 (arm64)");
    let event = json!({
        "metadata": {"name": "e"}, "type": "Normal", "reason": "Made", "eventTime": "2026-01-01T00:59:00Z",
        "regarding": {"kind": "Pod", "name": "p"}, "note": " done ", "reportingController": "c",
    });
    assert_eq!(
        row("events.k8s.io", "events", &event),
        [
            json!("60s"),
            json!("Normal"),
            json!("Made"),
            json!("pod/p"),
            json!(""),
            json!("c"),
            json!("done"),
            json!("60s"),
            json!(1),
            json!("e")
        ]
    );
}

#[test]
fn table_rows_of_custom_kind_contain_its_printer_columns() {
    let widgets: Resource = crate::crd::resources(&crate::crd::tests::widgets())
        .unwrap()
        .remove(0);
    let widget = json!({
        "metadata": {"name": "w", "creationTimestamp": "2026-01-01T00:59:59Z"},
        "spec": {"size": 5, "ports": [{"name": "a", "port": 80}, {"name": "b"}]},
    });
    // kube-apiserver 1.36.3 returns the same cells.
    assert_eq!(
        cells(&widgets, &widget, now()),
        [
            json!("w"),
            json!(5),
            Value::Null,
            Value::Null,
            json!("1s"),
            json!("a"),
            json!("80")
        ]
    );
    let names: Vec<String> = columns(&widgets)
        .into_iter()
        .map(|column| column.name)
        .collect();
    assert_eq!(
        names,
        [
            "Name",
            "Size",
            "Phase",
            "Since",
            "Age",
            "Ports",
            "FirstPort"
        ]
    );
}

#[test]
fn table_rows_of_cluster_kinds_match_kubectl() {
    let created = "2026-01-01T00:57:00Z";
    let ingress = json!({
        "metadata": {"name": "web", "creationTimestamp": created},
        "spec": {"ingressClassName": "nginx", "tls": [{}], "rules": [
            {"host": "a.io"}, {"host": "b.io"}, {"host": "c.io"}, {"host": "d.io"}]},
        "status": {"loadBalancer": {"ingress": [{"hostname": "lb"}, {"ip": "10.0.0.1"}]}},
    });
    assert_eq!(
        row("networking.k8s.io", "ingresses", &ingress),
        [
            "web",
            "nginx",
            "a.io,b.io,c.io + 1 more...",
            "10.0.0.1,lb",
            "80, 443",
            "3m"
        ]
    );
    let autoscaler = json!({
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "web", "creationTimestamp": created},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": 1,
            "maxReplicas": 3, "targetCPUUtilizationPercentage": 80},
        "status": {"currentReplicas": 2, "currentCPUUtilizationPercentage": 7},
    });
    let shown = row("autoscaling", "horizontalpodautoscalers", &autoscaler);
    assert_eq!(shown[1..4], ["Deployment/web", "cpu: 7%/80%", "1"]);
    assert_eq!(shown[4..6], [3, 2]);
    let budget = json!({"metadata": {"name": "web", "creationTimestamp": created},
        "spec": {"maxUnavailable": "25%"}, "status": {"disruptionsAllowed": 1}});
    let shown = row("policy", "poddisruptionbudgets", &budget);
    assert_eq!(shown[1..3], ["N/A", "25%"]);
    let class = json!({
        "metadata": {"name": "fast", "creationTimestamp": created, "annotations": {
            "storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "a.io/disk", "reclaimPolicy": "Retain"});
    let shown = row("storage.k8s.io", "storageclasses", &class);
    assert_eq!(
        shown[..4],
        ["fast (default)", "a.io/disk", "Retain", "Immediate"]
    );
    let quota = json!({"metadata": {"name": "q", "creationTimestamp": created},
        "status": {"hard": {"pods": "4", "limits.cpu": "2"}, "used": {"pods": "1"}}});
    let shown = row("", "resourcequotas", &quota);
    assert_eq!(shown[1..3], ["pods: 1/4", "limits.cpu: 0/2"]);
}
