//! Tests of create, get, update, patch and delete of single objects.

use http::Method;
use serde_json::{Value, json};

use crate::hub::{Hub, MAPS, config_map};

#[tokio::test]
async fn object_is_created_read_updated_and_deleted() {
    let hub = Hub::new().await;
    let created = hub.create(MAPS, config_map("a")).await;
    assert_eq!(created["metadata"]["namespace"], "default");
    assert_eq!(created["metadata"]["uid"].as_str().unwrap().len(), 36);
    let entry = &created["metadata"]["managedFields"][0];
    assert_eq!(
        (&entry["manager"], &entry["operation"]),
        (&json!("it"), &json!("Update"))
    );
    let path = format!("{MAPS}/a");
    assert_eq!(hub.get(&path).await.expect(200), created);

    let mut changed = created.clone();
    changed["data"]["key"] = "other".into();
    let changed = hub.put(&path, changed).await.expect(200);
    assert_eq!(changed["data"]["key"], "other");
    let version = |object: &Value| -> u64 {
        object["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    };
    assert!(version(&changed) > version(&created));

    let gone = hub.delete(&path).await.expect(200);
    assert_eq!(gone["status"], "Success");
    assert_eq!(
        gone["details"],
        json!({"name": "a", "kind": "configmaps", "uid": created["metadata"]["uid"]})
    );
    let missing = hub.get(&path).await;
    assert_eq!(missing.message(), "configmaps \"a\" not found");
    missing.expect(404);
}

#[tokio::test]
async fn create_with_existing_name_returns_409() {
    let hub = Hub::new().await;
    hub.create(MAPS, config_map("a")).await;
    let again = hub.post(MAPS, config_map("a")).await;
    assert_eq!(again.message(), "configmaps \"a\" already exists");
    assert_eq!(again.expect(409)["reason"], "AlreadyExists");
}

#[tokio::test]
async fn generate_name_creates_unique_names() {
    let hub = Hub::new().await;
    let map = json!({"metadata": {"generateName": "x-"}});
    let names: Vec<String> =
        futures::future::join_all((0..20).map(|_| hub.create(MAPS, map.clone())))
            .await
            .iter()
            .map(|created| created["metadata"]["name"].as_str().unwrap().to_owned())
            .collect();
    assert!(
        names
            .iter()
            .all(|name| name.starts_with("x-") && name.len() == 7)
    );
}

#[tokio::test]
async fn create_in_missing_or_terminating_namespace_is_rejected() {
    let hub = Hub::new().await;
    let missing = hub
        .post("/api/v1/namespaces/x/configmaps", config_map("a"))
        .await;
    assert_eq!(missing.message(), "namespaces \"x\" not found");
    missing.expect(404);
    hub.create("/api/v1/namespaces", json!({"metadata": {"name": "x"}}))
        .await;
    let going = hub.delete("/api/v1/namespaces/x").await.expect(200);
    assert_eq!(going["status"]["phase"], "Terminating");
    let refused = hub
        .post("/api/v1/namespaces/x/configmaps", config_map("a"))
        .await;
    assert_eq!(
        refused.message(),
        "configmaps \"a\" is forbidden: unable to create new content in namespace x because it is \
         being terminated"
    );
    let cause = refused.expect(403)["details"]["causes"][0]["reason"].clone();
    assert_eq!(cause, "NamespaceTerminating");
}

#[tokio::test]
async fn update_with_old_resource_version_returns_409() {
    let hub = Hub::new().await;
    let created = hub.create(MAPS, config_map("a")).await;
    let path = format!("{MAPS}/a");
    let mut first = created.clone();
    first["data"]["key"] = "1".into();
    hub.put(&path, first).await.expect(200);
    let mut second = created.clone();
    second["data"]["key"] = "2".into();
    let refused = hub.put(&path, second.clone()).await;
    assert_eq!(
        refused.message(),
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please \
         apply your changes to the latest version and try again"
    );
    assert_eq!(refused.expect(409)["reason"], "Conflict");
    // Without a resourceVersion the update is unconditional, where the kind allows it.
    second["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    hub.put(&path, second.clone()).await.expect(200);
    // A different UID is rejected.
    second["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000".into();
    let refused = hub.put(&path, second).await;
    assert!(
        refused
            .message()
            .contains("Precondition failed: UID in precondition")
    );
    refused.expect(409);
}

#[tokio::test]
async fn update_without_changes_retains_resource_version() {
    let hub = Hub::new().await;
    let created = hub.create(MAPS, config_map("a")).await;
    let same = hub
        .put(&format!("{MAPS}/a"), created.clone())
        .await
        .expect(200);
    assert_eq!(same, created);
}

#[tokio::test]
async fn update_of_missing_object_returns_404_unless_kind_allows_create_on_update() {
    let hub = Hub::new().await;
    hub.put(&format!("{MAPS}/a"), config_map("a"))
        .await
        .expect(404);
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let created = hub.put(leases, lease).await.expect(201);
    assert_eq!(created["spec"]["holderIdentity"], "me");
}

#[tokio::test]
async fn request_body_with_name_or_namespace_different_from_the_path_is_rejected() {
    let hub = Hub::new().await;
    hub.create(MAPS, config_map("a")).await;
    let refused = hub.put(&format!("{MAPS}/a"), config_map("b")).await;
    assert_eq!(
        refused.message(),
        "the name of the object (b) does not match the name on the URL (a)"
    );
    refused.expect(400);
    let mut elsewhere = config_map("c");
    elsewhere["metadata"]["namespace"] = "other".into();
    let refused = hub.post(MAPS, elsewhere).await;
    assert_eq!(
        refused.message(),
        "the namespace of the provided object does not match the namespace sent on the request"
    );
    refused.expect(400);
}

#[tokio::test]
async fn dry_run_does_not_change_the_store() {
    let hub = Hub::new().await;
    let created = hub
        .post(&format!("{MAPS}?dryRun=All"), config_map("a"))
        .await
        .expect(201);
    assert!(created["metadata"]["uid"].is_string());
    assert!(created["metadata"].get("resourceVersion").is_none());
    hub.get(&format!("{MAPS}/a")).await.expect(404);
    let real = hub.create(MAPS, config_map("a")).await;
    let path = format!("{MAPS}/a?dryRun=All");
    let patched = hub
        .patch(&path, "merge", json!({"data": {"key": "x"}}))
        .await
        .expect(200);
    assert_eq!(patched["data"]["key"], "x");
    hub.delete(&path).await.expect(200);
    assert_eq!(hub.get(&format!("{MAPS}/a")).await.expect(200), real);
}

#[tokio::test]
async fn all_patch_types_produce_the_same_object() {
    let hub = Hub::new().await;
    let path = format!("{MAPS}/a");
    hub.create(MAPS, config_map("a")).await;
    let patches = [
        (
            "json",
            json!([{"op": "add", "path": "/data/json", "value": "1"}]),
        ),
        ("merge", json!({"data": {"merge": "1"}})),
        ("strategic-merge", json!({"data": {"strategic": "1"}})),
    ];
    for (kind, patch) in patches {
        hub.patch(&path, kind, patch).await.expect(200);
    }
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": {"apply": "1"}});
    let applied = hub
        .patch(&format!("{path}?fieldManager=me"), "apply", applied)
        .await
        .expect(200);
    assert_eq!(
        applied["data"],
        json!({"key": "value", "json": "1", "merge": "1", "strategic": "1", "apply": "1"})
    );
}

#[tokio::test]
async fn apply_creates_objects_and_reports_conflicts() {
    let hub = Hub::new().await;
    let path = format!("{MAPS}/a");
    let applied = config_map("a");
    let mine = format!("{path}?fieldManager=me");
    let created = hub.patch(&mine, "apply", applied.clone()).await.expect(201);
    assert_eq!(
        created["metadata"]["managedFields"][0]["operation"],
        "Apply"
    );
    let mut other = applied.clone();
    other["data"]["key"] = "other".into();
    let refused = hub
        .patch(&format!("{path}?fieldManager=you"), "apply", other.clone())
        .await;
    assert_eq!(
        refused.message(),
        "Apply failed with 1 conflict: conflict with \"me\": .data.key"
    );
    refused.expect(409);
    let forced = format!("{path}?fieldManager=you&force=true");
    assert_eq!(
        hub.patch(&forced, "apply", other).await.expect(200)["data"]["key"],
        "other"
    );
    hub.patch(&path, "apply", applied).await.expect(422);
}

#[tokio::test]
async fn concurrent_patches_of_one_object_are_all_applied() {
    let hub = Hub::new().await;
    hub.create(MAPS, config_map("a")).await;
    let path = format!("{MAPS}/a");
    let patches = (0..20).map(|number| {
        let field = format!("n{number}");
        hub.patch(&path, "merge", json!({"data": {field: "1"}}))
    });
    for answer in futures::future::join_all(patches).await {
        answer.expect(200);
    }
    let data = hub.get(&path).await.expect(200)["data"].clone();
    assert_eq!(data.as_object().unwrap().len(), 21);
}

#[tokio::test]
async fn finalizers_delay_deletion_of_object() {
    let hub = Hub::new().await;
    let mut map = config_map("a");
    map["metadata"]["finalizers"] = json!(["example.com/hold"]);
    hub.create(MAPS, map).await;
    let path = format!("{MAPS}/a");
    let going = hub.delete(&path).await.expect(200);
    assert!(going["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(going["metadata"]["deletionGracePeriodSeconds"], 0);
    hub.get(&path).await.expect(200);
    let last = hub
        .patch(&path, "merge", json!({"metadata": {"finalizers": null}}))
        .await
        .expect(200);
    assert_eq!(last["metadata"]["name"], "a");
    hub.get(&path).await.expect(404);
}

#[tokio::test]
async fn propagation_policy_sets_deletion_finalizer() {
    let hub = Hub::new().await;
    for (policy, finalizer) in [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")] {
        let name = policy.to_lowercase();
        hub.create(MAPS, config_map(&name)).await;
        let path = format!("{MAPS}/{name}");
        let going = hub
            .call(Method::DELETE, &path)
            .send(json!({"propagationPolicy": policy}))
            .await
            .expect(200);
        assert_eq!(
            going["metadata"]["finalizers"],
            json!([finalizer]),
            "{policy}"
        );
    }
    hub.create(MAPS, config_map("background")).await;
    let path = format!("{MAPS}/background?propagationPolicy=Background");
    hub.delete(&path).await.expect(200);
    hub.get(&format!("{MAPS}/background")).await.expect(404);
}

#[tokio::test]
async fn delete_checks_uid_and_resource_version_preconditions() {
    let hub = Hub::new().await;
    let created = hub.create(MAPS, config_map("a")).await;
    let path = format!("{MAPS}/a");
    let refused = hub
        .call(Method::DELETE, &path)
        .send(json!({"preconditions": {"uid": "x"}}))
        .await;
    assert!(
        refused
            .message()
            .contains("the UID in the precondition (x) does not match")
    );
    refused.expect(409);
    let refused = hub
        .call(Method::DELETE, &path)
        .send(json!({"preconditions": {"resourceVersion": "1"}}))
        .await;
    refused.expect(409);
    let right = json!({"preconditions": {"uid": created["metadata"]["uid"],
        "resourceVersion": created["metadata"]["resourceVersion"]}});
    hub.call(Method::DELETE, &path)
        .send(right)
        .await
        .expect(200);
}

#[tokio::test]
async fn scheduled_pod_is_deleted_gracefully() {
    let hub = Hub::new().await;
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "c", "image": "i"}]}});
    hub.create(pods, pod).await;
    let path = format!("{pods}/p");
    let going = hub.delete(&path).await.expect(200);
    assert_eq!(going["metadata"]["deletionGracePeriodSeconds"], 30);
    let sooner = hub
        .delete(&format!("{path}?gracePeriodSeconds=5"))
        .await
        .expect(200);
    assert_eq!(sooner["metadata"]["deletionGracePeriodSeconds"], 5);
    let now = hub
        .delete(&format!("{path}?gracePeriodSeconds=0"))
        .await
        .expect(200);
    assert_eq!(now["metadata"]["name"], "p");
    hub.get(&path).await.expect(404);
}

#[tokio::test]
async fn system_namespaces_cannot_be_deleted() {
    let hub = Hub::new().await;
    let refused = hub.delete("/api/v1/namespaces/default").await;
    assert_eq!(
        refused.message(),
        "namespaces \"default\" is forbidden: this namespace may not be deleted"
    );
    refused.expect(403);
}

#[tokio::test]
async fn delete_collection_deletes_only_objects_that_match_the_label_selector() {
    let hub = Hub::new().await;
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let mut map = config_map(name);
        map["metadata"]["labels"] = json!({"l": label});
        hub.create(MAPS, map).await;
    }
    let gone = hub
        .delete(&format!("{MAPS}?labelSelector=l%3Dx"))
        .await
        .expect(200);
    assert_eq!(gone["kind"], "ConfigMapList");
    assert_eq!(gone["items"].as_array().unwrap().len(), 2);
    let remaining = hub.get(MAPS).await.expect(200);
    assert_eq!(remaining["items"][0]["metadata"]["name"], "b");
    assert_eq!(remaining["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn unknown_and_duplicate_fields_cause_warnings_or_rejection() {
    let hub = Hub::new().await;
    let body = r#"{"metadata":{"name":"a"},"data":{"k":"1","k":"2"},"nonsense":1}"#;
    let warned = hub.call(Method::POST, MAPS).send_text(body).await;
    let mut warnings = warned.warnings();
    warnings.sort();
    assert_eq!(
        warnings,
        [
            "299 - \"duplicate field \\\"data.k\\\"\"",
            "299 - \"unknown field \\\"nonsense\\\"\""
        ]
    );
    assert!(warned.expect(201).get("nonsense").is_none());
    let path = format!("{MAPS}?fieldValidation=Strict");
    let refused = hub.call(Method::POST, &path).send_text(body).await;
    assert_eq!(
        refused.message(),
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: \
         duplicate field \"data.k\", unknown field \"nonsense\""
    );
    refused.expect(400);
    let path = format!("{MAPS}?fieldValidation=Ignore");
    let ignored = hub
        .call(Method::POST, &path)
        .send_text(&body.replace("\"a\"", "\"b\""))
        .await;
    assert!(ignored.warnings().is_empty());
    ignored.expect(201);
}
