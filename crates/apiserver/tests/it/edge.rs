//! Tests of request handling: paths, methods, media types, limits, headers, authentication and
//! authorization.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use drover_apiserver::access::Caller;
use drover_apiserver::serve::audit::{Audit, Record, Stage};
use drover_apiserver::serve::fair::ConcurrencyLimits;
use http::Method;
use serde_json::{Value, json};

use crate::hub::{Hub, MAPS, config_map};

#[tokio::test]
async fn unknown_paths_and_methods_are_rejected_as_in_kube_apiserver() {
    let hub = Hub::new().await;
    for (method, path, code, message) in [
        (
            Method::GET,
            "/api/v1/nonsense",
            404,
            "the server could not find the requested resource",
        ),
        (
            Method::GET,
            "/api/v1/configmaps/a",
            404,
            "the server could not find the requested resource",
        ),
        (
            Method::POST,
            "/api/v1/configmaps",
            405,
            "the server does not allow this method on the requested resource",
        ),
        (
            Method::PUT,
            MAPS,
            405,
            "the server does not allow this method on the requested resource",
        ),
        (
            Method::POST,
            "/version",
            405,
            "the server does not allow this method on the requested resource",
        ),
        (
            Method::DELETE,
            "/api/v1/namespaces",
            405,
            "the server does not allow this method on the requested resource",
        ),
        (
            Method::GET,
            "/api/v1/namespaces/default/pods/p/nonsense",
            404,
            "the server could not find the requested resource",
        ),
    ] {
        let answer = hub.call(method.clone(), path).none().await;
        assert_eq!(answer.code, code, "{method} {path}: {}", answer.text);
        assert_eq!(answer.message(), message, "{method} {path}");
    }
    for path in [
        "/nonsense",
        "/apis/made.up/v1/things",
        "/apis/made.up/v1/namespaces/x/things/y",
    ] {
        let answer = hub.get(path).await;
        assert_eq!(
            (answer.code.as_u16(), answer.text.as_str()),
            (404, "404 page not found\n")
        );
    }
}

#[tokio::test]
async fn unsupported_media_types_are_rejected() {
    let hub = Hub::new().await;
    let protobuf = "application/vnd.kubernetes.protobuf";
    let refused = hub
        .call(Method::GET, MAPS)
        .header("accept", protobuf)
        .none()
        .await;
    assert_eq!(
        refused.message(),
        "only the following media types are accepted: application/json, application/yaml"
    );
    refused.expect(406);
    let refused = hub
        .call(Method::POST, MAPS)
        .header("content-type", "text/plain")
        .send_text("k8s")
        .await;
    assert_eq!(
        refused.message(),
        "the body of the request was in an unknown format - accepted media types include: \
         application/json, application/yaml, application/vnd.kubernetes.protobuf"
    );
    refused.expect(415);
    let refused = hub
        .call(Method::PATCH, &format!("{MAPS}/a"))
        .send(json!({}))
        .await;
    assert_eq!(refused.message(), "415: Unsupported Media Type");
    refused.expect(415);
    let both = format!("{protobuf},application/json");
    hub.call(Method::GET, MAPS)
        .header("accept", &both)
        .none()
        .await
        .expect(200);
}

#[tokio::test]
async fn request_body_size_is_limited() {
    let hub = Hub::new().await;
    let mut map = config_map("a");
    map["data"]["key"] = "x".repeat(3 * 1024 * 1024).into();
    let refused = hub.post(MAPS, map).await;
    assert_eq!(
        refused.message(),
        "Request entity too large: limit is 3145728"
    );
    refused.expect(413);
    let refused = hub.call(Method::POST, MAPS).send_text("{nonsense").await;
    assert!(refused.message().starts_with(
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get \
         version/kind; json parse error: "
    ));
    refused.expect(400);
}

#[tokio::test]
async fn request_body_with_a_kind_different_from_the_path_is_rejected() {
    let hub = Hub::new().await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
    let refused = hub.post(MAPS, secret).await;
    assert_eq!(
        refused.message(),
        "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to \
         (core.ConfigMap): unknown conversion"
    );
    refused.expect(400);
}

#[tokio::test]
async fn responses_have_audit_id_and_are_not_cached() {
    let hub = Hub::new().await;
    let answer = hub.get(MAPS).await;
    assert_eq!(answer.headers["cache-control"], "no-cache, private");
    assert_eq!(answer.headers["audit-id"].to_str().unwrap().len(), 36);
    let answer = hub
        .call(Method::GET, MAPS)
        .header("audit-id", "mine")
        .none()
        .await;
    assert_eq!(answer.headers["audit-id"], "mine");
}

#[tokio::test]
async fn anonymous_request_can_read_only_the_version_and_invalid_token_is_rejected() {
    let hub = Hub::new().await;
    let refused = hub
        .call(Method::GET, MAPS)
        .by(Caller::anonymous())
        .none()
        .await;
    assert_eq!(
        refused.message(),
        "configmaps is forbidden: User \"system:anonymous\" cannot list resource \"configmaps\" \
         in API group \"\" in the namespace \"default\""
    );
    refused.expect(403);
    let version = hub
        .call(Method::GET, "/version")
        .by(Caller::anonymous())
        .none()
        .await;
    assert_eq!(version.expect(200)["minor"], "36");
    let refused = hub.outside(Method::GET, MAPS, "Bearer nonsense").await;
    assert_eq!(refused.expect(401)["reason"], "Unauthorized");
    // Headers cannot authenticate a caller of this process.
    let refused = hub
        .call(Method::GET, MAPS)
        .by(Caller::anonymous())
        .header("x-remote-user", "admin")
        .header("x-remote-group", "system:masters")
        .none()
        .await;
    refused.expect(403);
}

#[tokio::test]
async fn service_account_token_has_the_permissions_of_its_account() {
    let hub = Hub::new().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    hub.create(accounts, json!({"metadata": {"name": "robot"}}))
        .await;
    let issued = hub
        .post(&format!("{accounts}/robot/token"), json!({"spec": {}}))
        .await
        .expect(201);
    assert_eq!(
        (&issued["kind"], &issued["metadata"]["name"]),
        (&json!("TokenRequest"), &json!("robot"))
    );
    let bearer = format!("Bearer {}", issued["status"]["token"].as_str().unwrap());
    hub.outside(Method::GET, MAPS, &bearer).await.expect(403);
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role = json!({"metadata": {"name": "reader"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]});
    hub.create(&format!("{rbac}/roles"), role).await;
    let binding = json!({"metadata": {"name": "robot"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}]});
    hub.create(&format!("{rbac}/rolebindings"), binding).await;
    // The RBAC index is updated from the store with a delay.
    for _ in 0..100 {
        if hub.outside(Method::GET, MAPS, &bearer).await.code == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    hub.outside(Method::GET, MAPS, &bearer).await.expect(200);
    hub.outside(Method::GET, &format!("{MAPS}/a"), &bearer)
        .await
        .expect(403);
    let user = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let requested = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let review = hub
        .outside_with(Method::POST, user, &bearer, &requested)
        .await
        .expect(201);
    assert_eq!(
        review["status"]["userInfo"]["username"],
        "system:serviceaccount:default:robot"
    );
}

#[tokio::test]
async fn kubernetes_role_with_permissions_that_the_writer_lacks_is_rejected() {
    let hub = Hub::new().await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = |name: &str, verbs: Value| {
        json!({"metadata": {"name": name}, "rules": [
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": verbs}]})
    };
    hub.create(roles, role("writer", json!(["create"]))).await;
    let binding = json!({"metadata": {"name": "writer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "writer"},
        "subjects": [{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}]});
    hub.create(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        binding,
    )
    .await;
    let eve = || Caller::user("eve", ["system:authenticated"]);
    let mut refused = hub
        .call(Method::POST, roles)
        .by(eve())
        .send(role("more", json!(["*"])))
        .await;
    for _ in 0..100 {
        if refused.message().contains("escalat")
            || refused.message().contains("attempting to grant")
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        refused = hub
            .call(Method::POST, roles)
            .by(eve())
            .send(role("more", json!(["*"])))
            .await;
    }
    assert!(
        refused
            .message()
            .contains("is attempting to grant RBAC permissions not currently held"),
        "{}",
        refused.text
    );
    refused.expect(403);
    hub.call(Method::POST, roles)
        .by(eve())
        .send(role("same", json!(["create"])))
        .await
        .expect(201);
}

#[tokio::test]
async fn impersonated_request_has_permissions_of_impersonated_user() {
    let hub = Hub::new().await;
    let refused = hub
        .call(Method::GET, MAPS)
        .header("impersonate-user", "eve")
        .none()
        .await;
    assert!(
        refused
            .message()
            .contains("User \"eve\" cannot list resource \"configmaps\"")
    );
    refused.expect(403);
    let refused = hub
        .call(Method::GET, MAPS)
        .by(Caller::user("eve", ["system:authenticated"]))
        .header("impersonate-user", "admin")
        .header("impersonate-group", "system:masters")
        .none()
        .await;
    assert!(
        refused.message().contains("cannot impersonate"),
        "{}",
        refused.text
    );
    refused.expect(403);
}

#[tokio::test]
async fn health_endpoints_list_their_checks() {
    let hub = Hub::new().await;
    for path in ["/livez", "/readyz", "/healthz"] {
        let answer = hub
            .call(Method::GET, path)
            .by(Caller::anonymous())
            .none()
            .await;
        assert_eq!(
            (answer.code.as_u16(), answer.text.as_str()),
            (200, "ok"),
            "{path}"
        );
    }
    assert_eq!(hub.get("/livez/ping").await.text, "ok");
    let verbose = hub.get("/readyz?verbose").await;
    assert!(verbose.text.starts_with("[+]ping ok\n[+]store ok\n"));
    assert!(verbose.text.ends_with("readyz check passed\n"));
    hub.get("/livez/nonsense").await.expect(404);
    let metrics = hub.get("/metrics").await;
    assert!(metrics.text.contains("apiserver_request_total{"));
}

#[derive(Default)]
struct RecordedAudit(Mutex<Vec<(String, String, Option<u16>)>>);

impl Audit for RecordedAudit {
    fn record(&self, record: &Record<'_>) {
        let code = match record.stage {
            Stage::Received => None,
            Stage::Started(code) | Stage::Complete(code) => Some(code.as_u16()),
        };
        let verb = record.request.verb.to_string();
        self.0
            .lock()
            .unwrap()
            .push((record.caller.name.clone(), verb, code));
    }
}

#[tokio::test]
async fn audit_records_contain_received_and_completed_requests() {
    let noted = Arc::new(RecordedAudit::default());
    let hub = Hub::with(|options| options.audit = Arc::clone(&noted) as _).await;
    hub.get(&format!("{MAPS}/a")).await.expect(404);
    let record = |code| ("admin".to_owned(), "get".to_owned(), code);
    assert_eq!(*noted.0.lock().unwrap(), [record(None), record(Some(404))]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caller_with_many_requests_does_not_delay_other_callers() {
    let bounds = ConcurrencyLimits {
        running: 1,
        reserve: 0,
        waiting: 200,
        ..ConcurrencyLimits::default()
    };
    let hub = Arc::new(Hub::with(|options| options.bounds = bounds).await);
    hub.create(MAPS, config_map("a")).await;
    let done = Arc::new(Mutex::new(Vec::new()));
    let send = |name: &'static str| {
        let (hub, done) = (Arc::clone(&hub), Arc::clone(&done));
        tokio::spawn(async move {
            let caller = Caller::privileged(name);
            let answer = hub.call(Method::GET, MAPS).by(caller).none().await;
            done.lock().unwrap().push(name);
            answer.code.as_u16()
        })
    };
    let mut greedy: Vec<_> = (0..400).map(|_| send("greedy")).collect();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let modest = send("modest");
    assert_eq!(modest.await.unwrap(), 200);
    let before = done.lock().unwrap().len();
    let mut codes = Vec::new();
    for request in greedy.drain(..) {
        codes.push(request.await.unwrap());
    }
    let refused = codes.iter().filter(|code| **code == 429).count();
    let served = codes.iter().filter(|code| **code == 200).count();
    assert_eq!(refused + served, 400);
    assert!(
        refused > 0,
        "the server rejected no request of the caller with many requests"
    );
    let finished_later = 400 - (before - 1);
    assert!(
        finished_later > 50,
        "the other caller waited for too many requests; {finished_later} finished later"
    );
}

#[tokio::test]
async fn manipulated_path_does_not_extend_namespaced_permissions() {
    let hub = Hub::new().await;
    let other = "/api/v1/namespaces/default/namespaces/kube-public";
    for (method, path) in [
        (Method::GET, other.to_owned()),
        (
            Method::GET,
            "/api/v1/namespaces/default/namespaces".to_owned(),
        ),
        (
            Method::GET,
            "/api/v1/namespaces/default/namespaces?watch=1".to_owned(),
        ),
        (Method::GET, format!("{other}/status")),
        (Method::PUT, format!("{other}/finalize")),
        (Method::DELETE, other.to_owned()),
    ] {
        let answer = hub.call(method.clone(), &path).none().await;
        assert_eq!(answer.code, 404, "{method} {path}: {}", answer.text);
    }
    let created = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}});
    let into = "/api/v1/namespaces/default/namespaces";
    hub.call(Method::POST, into).send(created).await.expect(404);
    hub.get("/api/v1/namespaces/kube-public").await.expect(200);
}

#[tokio::test]
async fn out_of_range_times_are_rejected_without_panic() {
    let hub = Hub::new().await;
    let pods = "/api/v1/namespaces/default/pods";
    let pod = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {
                "nodeName": "n", "terminationGracePeriodSeconds": i64::MAX,
                "containers": [{"name": "c", "image": "i"}],
            },
        })
    };
    for (name, query) in [
        ("own", String::new()),
        ("asked", format!("?gracePeriodSeconds={}", i64::MAX)),
    ] {
        hub.create(pods, pod(name)).await;
        let path = format!("{pods}/{name}");
        let going = hub.call(Method::DELETE, &format!("{path}{query}")).none();
        let going = going.await.expect(200);
        assert_eq!(going["metadata"]["deletionGracePeriodSeconds"], i32::MAX);
        let now = hub.call(Method::DELETE, &format!("{path}?gracePeriodSeconds=0"));
        now.none().await.expect(200);
        hub.get(&path).await.expect(404);
    }
    let watch = format!("{pods}?watch=1&timeoutSeconds={}", i64::MAX);
    let watch = hub.call(Method::GET, &watch).stream("").await;
    assert_eq!(watch.status(), 200);
}

#[tokio::test]
async fn error_messages_about_objects_have_limited_length() {
    let hub = Hub::new().await;
    let mut unknown = config_map("unknown");
    for number in 0..20_000 {
        unknown[format!("unknown{number}")] = 1.into();
    }
    let answer = hub.call(Method::POST, MAPS).send(unknown).await;
    assert_eq!(answer.code, 201);
    let warnings = answer.warnings();
    assert!((10..=100).contains(&warnings.len()), "{}", warnings.len());
    let mut twice_controlled = config_map("owned");
    let owner = |number: usize| {
        json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": number.to_string(),
               "controller": true})
    };
    twice_controlled["metadata"]["ownerReferences"] = (0..2000).map(owner).collect();
    let refused = hub.call(Method::POST, MAPS).send(twice_controlled).await;
    assert_eq!(refused.code, 422);
    assert!(refused.text.len() < 16 << 20, "{}", refused.text.len());
}

#[tokio::test]
async fn too_deeply_nested_object_is_not_stored() {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "deeps.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "deeps", "kind": "Deep"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                          "schema": {"openAPIV3Schema": {"type": "object",
                              "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    let world = crate::lifecycle::World::new().await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    world.create(path, &definition).await;
    let deeps = "/apis/example.com/v1/namespaces/default/deeps";
    let nested = |levels: usize| {
        let mut inside = json!({});
        for _ in 0..levels {
            inside = json!({ "a": inside });
        }
        json!({"apiVersion": "example.com/v1", "kind": "Deep",
               "metadata": {"name": format!("deep-{levels}")}, "spec": inside})
    };
    world
        .until(&format!("{path}/deeps.example.com"), |own| {
            own["status"]["conditions"][1]["status"] == "True"
        })
        .await;
    for (levels, expected) in [(60, 201), (120, 400)] {
        let (code, body) = world.ask(Method::POST, deeps, &nested(levels)).await;
        assert_eq!(code, expected, "{levels}: {body}");
    }
    let (code, _) = world.ask(Method::GET, deeps, &Value::Null).await;
    assert_eq!(code, 200);
    world
        .delete(&format!("{deeps}/deep-60"), "Background")
        .await;
}
