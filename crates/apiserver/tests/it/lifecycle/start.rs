use drover_apiserver::access::Caller;
use drover_apiserver::lifecycle::LifecycleOptions;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::World;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

fn alice() -> Caller {
    Caller::user("alice", ["system:authenticated"])
}

#[tokio::test]
async fn new_server_has_system_namespaces_with_default_objects() {
    let world = World::with(LifecycleOptions {
        root_ca: Some("PEM".to_owned()),
        ..LifecycleOptions::default()
    })
    .await;
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        let namespace = world
            .find(&format!("/api/v1/namespaces/{name}"))
            .await
            .unwrap();
        assert_eq!(namespace["status"]["phase"], "Active");
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        world.until(&account, |_| true).await;
        let map = format!("/api/v1/namespaces/{name}/configmaps/kube-root-ca.crt");
        world
            .until(&map, |map| map["data"]["ca.crt"] == "PEM")
            .await;
    }
}

#[tokio::test]
async fn deleted_or_changed_default_objects_are_restored() {
    let world = World::with(LifecycleOptions {
        root_ca: Some("PEM".to_owned()),
        ..LifecycleOptions::default()
    })
    .await;
    let account = "/api/v1/namespaces/default/serviceaccounts/default";
    let first = world.until(account, |_| true).await;
    world.delete(account, "Background").await;
    world
        .until(account, |new| {
            new["metadata"]["uid"] != first["metadata"]["uid"]
        })
        .await;
    let map = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
    world.until(map, |_| true).await;
    world
        .patch(map, &json!({"data": {"ca.crt": "other"}}))
        .await;
    world.until(map, |map| map["data"]["ca.crt"] == "PEM").await;
}

#[tokio::test]
async fn bootstrap_roles_contain_aggregated_rules() {
    let world = World::new().await;
    let has = |role: &Value, resource: &str, verb: &str| {
        let rules = role["rules"].as_array();
        rules.into_iter().flatten().any(|rule| {
            let lists = |key: &str, item: &str| {
                let list = rule[key].as_array();
                list.into_iter().flatten().any(|own| own == item)
            };
            lists("resources", resource) && lists("verbs", verb)
        })
    };
    let admin = format!("{RBAC}/clusterroles/admin");
    let role = world
        .until(&admin, |role| {
            has(role, "pods/log", "get")
                && has(role, "secrets", "delete")
                && has(role, "roles", "create")
        })
        .await;
    let managers = role["metadata"]["managedFields"].as_array().unwrap();
    assert!(managers.iter().any(|entry| {
        entry["manager"] == "clusterrole-aggregation-controller" && entry["operation"] == "Apply"
    }));
    world
        .create(
            &format!("{RBAC}/clusterroles"),
            &json!({"metadata": {"name": "mine", "labels": {
                        "rbac.authorization.k8s.io/aggregate-to-view": "true"}},
                    "rules": [{"apiGroups": ["example.com"], "resources": ["widgets"],
                               "verbs": ["get"]}]}),
        )
        .await;
    world
        .until(&admin, |role| has(role, "widgets", "get"))
        .await;
}

#[tokio::test]
async fn role_binding_grants_permissions_before_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::at(folder.path(), LifecycleOptions::default()).await;
    let list = async |world: &World| {
        let path = "/api/v1/namespaces/default/configmaps";
        let (code, _) = world.ask_as(alice(), Method::GET, path, &Value::Null).await;
        code
    };
    assert_eq!(list(&world).await, StatusCode::FORBIDDEN);
    world
        .create(
            &format!("{RBAC}/namespaces/default/rolebindings"),
            &json!({"metadata": {"name": "b"},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                                "name": "view"},
                    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User",
                                  "name": "alice"}]}),
        )
        .await;
    let mut tries = 0;
    while list(&world).await != StatusCode::OK {
        tries += 1;
        assert!(tries < 500, "the binding does not authorize alice");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    world.stop().await;
    let world = World::at(folder.path(), LifecycleOptions::default()).await;
    assert_eq!(list(&world).await, StatusCode::OK);
}

#[tokio::test]
async fn restart_restores_removed_rule_of_bootstrap_role() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::at(folder.path(), LifecycleOptions::default()).await;
    let role = format!("{RBAC}/clusterroles/system:discovery");
    world.patch(&role, &json!({"rules": []})).await;
    world.stop().await;
    let world = World::at(folder.path(), LifecycleOptions::default()).await;
    let role = world.find(&role).await.unwrap();
    assert!(!role["rules"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn expired_events_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::at(folder.path(), LifecycleOptions::default()).await;
    let events = "/api/v1/namespaces/default/events";
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
                       "involvedObject": {"namespace": "default"}, "reason": "Because"});
    world.create(events, &event).await;
    world.settle().await;
    assert!(world.find(&format!("{events}/e")).await.is_some());
    world.stop().await;
    let options = LifecycleOptions {
        event_ttl_seconds: 0,
        ..LifecycleOptions::default()
    };
    let world = World::at(folder.path(), options).await;
    world.until_gone(&format!("{events}/e")).await;
}
