use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Pause, World, map};

const MAPS: &str = "/api/v1/namespaces/shop/configmaps";
const SHOP: &str = "/api/v1/namespaces/shop";

async fn shop() -> World {
    let world = World::new().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    world.create("/api/v1/namespaces", &namespace).await;
    world
}

fn condition<'a>(namespace: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = namespace["status"]["conditions"].as_array()?;
    conditions.iter().find(|own| own["type"] == kind)
}

#[tokio::test]
async fn namespace_deletion_deletes_its_content() {
    let world = shop().await;
    for number in 0..20 {
        world.create(MAPS, &map(&format!("m{number}"), &[])).await;
    }
    let role = json!({"metadata": {"name": "r"}, "rules": []});
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles";
    world.create(roles, &role).await;
    world.delete(SHOP, "Background").await;
    world.until_gone(SHOP).await;
    assert_eq!(world.find(&format!("{MAPS}/m0")).await, None);
    assert_eq!(world.find(&format!("{roles}/r")).await, None);
}

#[tokio::test]
async fn terminating_namespace_waits_for_finalizers_and_reports_finalizer_names() {
    let world = shop().await;
    let mut owned = map("held", &[]);
    owned["metadata"]["finalizers"] = json!(["example.com/wait"]);
    world.create(MAPS, &owned).await;
    world.delete(SHOP, "Background").await;
    let namespace = world
        .until(SHOP, |own| {
            condition(own, "NamespaceFinalizersRemaining")
                .is_some_and(|own| own["status"] == "True")
        })
        .await;
    assert_eq!(namespace["status"]["phase"], "Terminating");
    assert_eq!(
        condition(&namespace, "NamespaceContentRemaining").unwrap()["message"],
        "Some resources are remaining: configmaps. has 1 resource instances"
    );
    let (code, _) = world.ask(Method::POST, MAPS, &map("late", &[])).await;
    assert_eq!(code, StatusCode::FORBIDDEN);
    world
        .patch(
            &format!("{MAPS}/held"),
            &json!({"metadata": {"finalizers": null}}),
        )
        .await;
    world.until_gone(SHOP).await;
}

#[tokio::test]
async fn recreated_namespace_contains_no_old_objects() {
    let world = shop().await;
    world.create(MAPS, &map("old", &[])).await;
    world.delete(SHOP, "Background").await;
    world.until_gone(SHOP).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    world.create("/api/v1/namespaces", &namespace).await;
    assert_eq!(world.find(&format!("{MAPS}/old")).await, None);
    world
        .until(&format!("{SHOP}/serviceaccounts/default"), |_| true)
        .await;
}

#[tokio::test]
async fn object_is_not_created_during_concurrent_deletion_of_its_namespace() {
    let pause = Arc::new(Pause::before("late"));
    let world = World::paused(Arc::clone(&pause)).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    world.create("/api/v1/namespaces", &namespace).await;
    let late = map("late", &[]);
    let create = world.ask(Method::POST, MAPS, &late);
    let remove = async {
        pause.reached().await;
        world.delete(SHOP, "Background").await;
        world.until_gone(SHOP).await;
        pause.end();
    };
    let ((code, answer), ()) = tokio::join!(create, remove);
    assert_eq!(code, StatusCode::NOT_FOUND, "{answer}");
    assert_eq!(answer["message"], "namespaces \"shop\" not found");
    world.create("/api/v1/namespaces", &namespace).await;
    assert_eq!(world.find(&format!("{MAPS}/late")).await, None);
}

#[tokio::test]
async fn object_is_created_during_concurrent_labelling_of_its_namespace() {
    let pause = Arc::new(Pause::before("late"));
    let world = World::paused(Arc::clone(&pause)).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    world.create("/api/v1/namespaces", &namespace).await;
    let late = map("late", &[]);
    let create = world.ask(Method::POST, MAPS, &late);
    let label = async {
        pause.reached().await;
        world
            .patch(SHOP, &json!({"metadata": {"labels": {"a": "b"}}}))
            .await;
        pause.end();
    };
    let ((code, answer), ()) = tokio::join!(create, label);
    assert_eq!(code, StatusCode::CREATED, "{answer}");
}
