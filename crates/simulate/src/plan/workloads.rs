//! Sample workloads for simulated clusters.

use serde_json::{Value, json};

use crate::annotations::{FAIL, READY_SECONDS, RUN_SECONDS};

/// Returns a pod template with one container. The container requests CPU in millicores and memory
/// in MiB.
fn pod(labels: &Value, image: &str, (cpu, memory): (u32, u32), annotations: &Value) -> Value {
    let last = image.rsplit('/').next().unwrap_or(image);
    let name = last.split(':').next().unwrap_or(last);
    let requests = json!({"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")});
    json!({
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {"containers": [{
            "name": name, "image": image, "resources": {"requests": requests},
            "ports": [{"name": "http", "containerPort": 8080}],
        }]},
    })
}

/// A sample application, from which workloads and Services are built.
struct App<'a> {
    namespace: &'a str,
    name: &'a str,
    image: &'a str,
    needs: (u32, u32),
    annotations: Value,
}

impl App<'_> {
    fn labels(&self) -> Value {
        json!({"app.kubernetes.io/name": self.name})
    }

    fn workload(&self, kind: &str, more: Value) -> Value {
        let labels = self.labels();
        let template = pod(&labels, self.image, self.needs, &self.annotations);
        let mut spec = json!({"selector": {"matchLabels": labels}, "template": template});
        if let (Value::Object(spec), Value::Object(more)) = (&mut spec, more) {
            spec.extend(more);
        }
        json!({
            "apiVersion": "apps/v1", "kind": kind,
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": labels},
            "spec": spec,
        })
    }

    fn deployment(&self, replicas: u32) -> Value {
        self.workload("Deployment", json!({ "replicas": replicas }))
    }

    fn stateful_set(&self, replicas: u32) -> Value {
        let more = json!({"replicas": replicas, "serviceName": self.name});
        self.workload("StatefulSet", more)
    }

    fn daemon_set(&self) -> Value {
        let mut set = self.workload("DaemonSet", json!({}));
        set["spec"]["template"]["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
        set
    }

    fn job(&self, completions: u32, backoff: u32) -> Value {
        let mut template = pod(&json!({}), self.image, self.needs, &self.annotations);
        template["spec"]["restartPolicy"] = "Never".into();
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "completions": completions, "parallelism": 2, "backoffLimit": backoff,
                "template": template,
            },
        })
    }

    fn service(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": self.labels()},
            "spec": {
                "selector": self.labels(),
                "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
            },
        })
    }
}

fn app<'a>(namespace: &'a str, name: &'a str, image: &'a str, needs: (u32, u32)) -> App<'a> {
    App {
        namespace,
        name,
        image,
        needs,
        annotations: json!({}),
    }
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// Returns the system workloads that every cluster contains.
pub(super) fn system() -> Vec<Value> {
    let dns = app("kube-system", "coredns", "example.org/coredns:1", (100, 70));
    let proxy = app(
        "kube-system",
        "node-proxy",
        "example.org/node-proxy:1",
        (20, 30),
    );
    vec![dns.deployment(2), dns.service(), proxy.daemon_set()]
}

/// Returns the workloads of a web shop. `scale` multiplies the replicas.
pub(super) fn shop(scale: u32) -> Vec<Value> {
    let web = app("shop", "web", "example.org/shop/web:2.4", (100, 128));
    let cart = app("shop", "cart", "example.org/shop/cart:1.9", (150, 192));
    let store = app("shop", "store", "example.org/shop/store:7", (200, 512));
    let mut migrate = app("shop", "migrate", "example.org/shop/migrate:2.4", (50, 64));
    migrate.annotations = json!({RUN_SECONDS: "3"});
    vec![
        namespace("shop"),
        web.deployment(3 * scale),
        web.service(),
        cart.deployment(scale),
        cart.service(),
        store.stateful_set(scale.clamp(1, 3)),
        store.service(),
        migrate.job(1, 6),
    ]
}

/// Returns data processing workloads. `scale` multiplies the replicas.
pub(super) fn analytics(scale: u32) -> Vec<Value> {
    let ingest = app(
        "analytics",
        "ingest",
        "example.org/analytics/ingest:3",
        (250, 512),
    );
    let queue = app(
        "analytics",
        "queue",
        "example.org/analytics/queue:3",
        (500, 2048),
    );
    let mut report = app(
        "analytics",
        "report",
        "example.org/analytics/report:3",
        (400, 256),
    );
    report.annotations = json!({RUN_SECONDS: "8"});
    vec![
        namespace("analytics"),
        ingest.deployment(4 * scale),
        ingest.service(),
        queue.stateful_set(3),
        queue.service(),
        report.job(6, 6),
    ]
}

/// Returns the workloads of a platform team, for example monitoring.
pub(super) fn platform(scale: u32) -> Vec<Value> {
    let gateway = app(
        "platform",
        "gateway",
        "example.org/platform/gateway:5",
        (200, 128),
    );
    let logs = app(
        "platform",
        "log-shipper",
        "example.org/platform/log-shipper:5",
        (50, 64),
    );
    let mut slow = app(
        "platform",
        "search",
        "example.org/platform/search:8",
        (300, 768),
    );
    slow.annotations = json!({READY_SECONDS: "5"});
    vec![
        namespace("platform"),
        gateway.deployment(2 * scale),
        gateway.service(),
        logs.daemon_set(),
        slow.deployment(scale),
    ]
}

/// Returns failing workloads: crashes, missing images, insufficient resources, failing probes and a
/// failing Job.
pub(super) fn troubles() -> Vec<Value> {
    let fails = |name, case: &str| {
        let mut failing = app("troubles", name, "example.org/troubles/app:0", (50, 64));
        if !case.is_empty() {
            failing.annotations = json!({ FAIL: case });
        }
        failing
    };
    let mut huge = fails("too-large", "");
    huge.needs = (100_000, 64);
    let mut job = fails("failing-job", "CrashLoopBackOff");
    job.annotations[RUN_SECONDS] = "1".into();
    vec![
        namespace("troubles"),
        fails("crashing", "CrashLoopBackOff").deployment(2),
        fails("no-image", "ImagePullBackOff").deployment(1),
        fails("never-ready", "NotReady").deployment(1),
        huge.deployment(1),
        job.job(1, 1),
    ]
}
