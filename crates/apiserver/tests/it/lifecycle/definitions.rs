use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Pause, World};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn definition(plural: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true,
                          "schema": {"openAPIV3Schema": {"type": "object",
                              "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

fn has(object: &Value, kind: &str, status: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|own| own["type"] == kind && own["status"] == status)
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}})
}

async fn served(world: &World) {
    let path = format!("{DEFINITIONS}/widgets.example.com");
    world
        .until(&path, |own| has(own, "Established", "True"))
        .await;
    // The request is not retried, because creation must work as soon as the CRD is established.
    let (code, answer) = world.ask(Method::GET, WIDGETS, &Value::Null).await;
    assert_eq!(code, StatusCode::OK, "{answer}");
}

#[tokio::test]
async fn crd_is_established_and_served_after_restart() {
    let folder = tempfile::tempdir().unwrap();
    let options = drover_apiserver::lifecycle::LifecycleOptions::default;
    let world = World::at(folder.path(), options()).await;
    world
        .create(DEFINITIONS, &definition("widgets", "Widget"))
        .await;
    served(&world).await;
    world.create(WIDGETS, &widget("a")).await;
    world.stop().await;
    let world = World::at(folder.path(), options()).await;
    assert!(world.find(&format!("{WIDGETS}/a")).await.is_some());
}

#[tokio::test]
async fn crd_with_conflicting_kind_is_established_after_kind_becomes_free() {
    let world = World::new().await;
    world
        .create(DEFINITIONS, &definition("gadgets", "Widget"))
        .await;
    let gadgets = format!("{DEFINITIONS}/gadgets.example.com");
    world
        .until(&gadgets, |own| has(own, "Established", "True"))
        .await;
    world
        .create(DEFINITIONS, &definition("widgets", "Widget"))
        .await;
    let widgets = format!("{DEFINITIONS}/widgets.example.com");
    let refused = world
        .until(&widgets, |own| has(own, "NamesAccepted", "False"))
        .await;
    assert!(has(&refused, "Established", "False"));
    world.delete(&gadgets, "Background").await;
    world.until_gone(&gadgets).await;
    served(&world).await;
}

#[tokio::test]
async fn crd_deletion_deletes_its_custom_objects() {
    let world = World::new().await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let first = definition("widgets", "Widget");
    world.create(DEFINITIONS, &first).await;
    served(&world).await;
    let mut owned = widget("held");
    owned["metadata"]["finalizers"] = json!(["example.com/wait"]);
    world.create(WIDGETS, &owned).await;
    world.create(WIDGETS, &widget("free")).await;
    world.delete(&path, "Background").await;
    world
        .until(&path, |own| has(own, "Terminating", "True"))
        .await;
    world.until_gone(&format!("{WIDGETS}/free")).await;
    let released = json!({"metadata": {"finalizers": null}});
    world.patch(&format!("{WIDGETS}/held"), &released).await;
    world.until_gone(&path).await;
    world.create(DEFINITIONS, &first).await;
    served(&world).await;
    assert_eq!(world.find(&format!("{WIDGETS}/free")).await, None);
}

#[tokio::test]
async fn crd_cannot_replace_a_built_in_kind() {
    let world = World::new().await;
    let mut taking = definition("clusterroles", "ClusterRole");
    taking["metadata"] = json!({
        "name": "clusterroles.rbac.authorization.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    });
    taking["spec"]["group"] = "rbac.authorization.k8s.io".into();
    taking["spec"]["scope"] = "Cluster".into();
    world.create(DEFINITIONS, &taking).await;
    let path = format!("{DEFINITIONS}/clusterroles.rbac.authorization.k8s.io");
    let refused = world
        .until(&path, |own| has(own, "NamesAccepted", "False"))
        .await;
    assert!(!has(&refused, "Established", "True"));
    world.delete(&path, "Background").await;
    world.until_gone(&path).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin";
    assert!(world.find(roles).await.is_some());
}

#[tokio::test]
async fn custom_objects_cannot_be_created_while_their_crd_is_terminating() {
    let world = World::new().await;
    world
        .create(DEFINITIONS, &definition("widgets", "Widget"))
        .await;
    served(&world).await;
    let mut owned = widget("held");
    owned["metadata"]["finalizers"] = json!(["example.com/wait"]);
    world.create(WIDGETS, &owned).await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    world.delete(&path, "Background").await;
    let (code, body) = world.ask(Method::POST, WIDGETS, &widget("late")).await;
    assert_eq!(code, StatusCode::METHOD_NOT_ALLOWED, "{body}");
    let release = json!({"metadata": {"finalizers": null}});
    world.patch(&format!("{WIDGETS}/held"), &release).await;
    world.until_gone(&path).await;
}

#[tokio::test]
async fn deletion_of_crd_without_served_versions_deletes_its_custom_objects() {
    let world = World::new().await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let first = definition("widgets", "Widget");
    world.create(DEFINITIONS, &first).await;
    served(&world).await;
    world.create(WIDGETS, &widget("a")).await;
    let mut unserved = first["spec"]["versions"].clone();
    unserved[0]["served"] = false.into();
    let unserved = json!({"spec": {"versions": unserved}});
    world.patch(&path, &unserved).await;
    world.until_gone(WIDGETS).await;
    world.delete(&path, "Background").await;
    world.until_gone(&path).await;
    world.create(DEFINITIONS, &first).await;
    served(&world).await;
    assert_eq!(world.find(&format!("{WIDGETS}/a")).await, None);
}

#[tokio::test]
async fn fields_unknown_to_the_storage_version_are_pruned() {
    let world = World::new().await;
    let mut versions = definition("widgets", "Widget");
    let version = |name: &str, field: &str| {
        json!({"name": name, "served": true, "storage": name == "v1",
               "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                   "both": {"type": "string"}, field: {"type": "string"}}}}})
    };
    versions["spec"]["versions"] = json!([version("v1", "old"), version("v2", "new")]);
    world.create(DEFINITIONS, &versions).await;
    served(&world).await;
    let mut object = widget("a");
    object["apiVersion"] = "example.com/v2".into();
    object["both"] = "kept".into();
    object["new"] = "unknown to the other".into();
    world
        .create(&WIDGETS.replace("/v1/", "/v2/"), &object)
        .await;
    let read = world.find(&format!("{WIDGETS}/a")).await.unwrap();
    assert_eq!((&read["both"], read.get("new")), (&json!("kept"), None));
}

#[tokio::test]
async fn object_is_not_created_during_concurrent_deletion_of_its_crd() {
    let pause = Arc::new(Pause::before("late"));
    let world = World::paused(Arc::clone(&pause)).await;
    world
        .create(DEFINITIONS, &definition("widgets", "Widget"))
        .await;
    served(&world).await;
    let late = widget("late");
    let path = format!("{WIDGETS}/late");
    let create = world.ask(Method::POST, WIDGETS, &late);
    let remove = async {
        pause.reached().await;
        let own = format!("{DEFINITIONS}/widgets.example.com");
        world.delete(&own, "Background").await;
        world.until_gone(&own).await;
        pause.end();
    };
    let ((code, answer), ()) = tokio::join!(create, remove);
    assert_eq!(code, StatusCode::NOT_FOUND, "{answer}");
    world
        .create(DEFINITIONS, &definition("widgets", "Widget"))
        .await;
    served(&world).await;
    assert_eq!(world.find(&path).await, None);
}
