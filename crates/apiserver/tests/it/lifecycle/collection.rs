use futures::StreamExt as _;
use serde_json::{Value, json};

use super::{World, map, owner};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn at(name: &str) -> String {
    format!("{MAPS}/{name}")
}

async fn owner_with(world: &World, dependents: &[(&str, bool)]) -> Value {
    let created = world.create(MAPS, &map("owner", &[])).await;
    for (name, blocks) in dependents {
        world
            .create(MAPS, &map(name, &[owner(&created, *blocks)]))
            .await;
    }
    created
}

async fn hold(world: &World, name: &str) {
    let finalizers = json!({"metadata": {"finalizers": ["example.com/wait"]}});
    world.patch(&at(name), &finalizers).await;
}

async fn release(world: &World, name: &str) {
    let path = at(name);
    let object = world.find(&path).await.unwrap();
    let mut finalizers = object["metadata"]["finalizers"].as_array().unwrap().clone();
    finalizers.retain(|own| own != "example.com/wait");
    world
        .patch(&path, &json!({"metadata": {"finalizers": finalizers}}))
        .await;
}

#[tokio::test]
async fn background_deletion_deletes_dependents_recursively() {
    let world = World::new().await;
    owner_with(&world, &[("a", false), ("b", true)]).await;
    let a = world.find(&at("a")).await.unwrap();
    world
        .create(MAPS, &map("grandchild", &[owner(&a, false)]))
        .await;
    world.delete(&at("owner"), "Background").await;
    for name in ["owner", "a", "b", "grandchild"] {
        world.until_gone(&at(name)).await;
    }
}

#[tokio::test]
async fn object_with_a_second_owner_loses_reference_to_the_deleted_owner() {
    let world = World::new().await;
    let first = owner_with(&world, &[]).await;
    let second = world.create(MAPS, &map("second", &[])).await;
    world
        .create(
            MAPS,
            &map("shared", &[owner(&first, false), owner(&second, false)]),
        )
        .await;
    world.delete(&at("owner"), "Background").await;
    let shared = world
        .until(&at("shared"), |own| {
            own["metadata"]["ownerReferences"].as_array().map(Vec::len) == Some(1)
        })
        .await;
    assert_eq!(
        shared["metadata"]["ownerReferences"][0]["uid"],
        second["metadata"]["uid"]
    );
}

#[tokio::test]
async fn foreground_deletion_waits_for_blocking_dependents_only() {
    let world = World::new().await;
    owner_with(&world, &[("blocks", true), ("free", false)]).await;
    hold(&world, "blocks").await;
    hold(&world, "free").await;
    world.delete(&at("owner"), "Foreground").await;
    for name in ["blocks", "free"] {
        world
            .until(&at(name), |own| {
                own["metadata"].get("deletionTimestamp").is_some()
            })
            .await;
    }
    world.settle().await;
    assert!(world.find(&at("owner")).await.is_some());
    release(&world, "blocks").await;
    world.until_gone(&at("owner")).await;
    assert!(world.find(&at("free")).await.is_some());
}

#[tokio::test]
async fn foreground_deletion_of_object_without_dependents_is_immediate() {
    let world = World::new().await;
    owner_with(&world, &[]).await;
    world.delete(&at("owner"), "Foreground").await;
    world.until_gone(&at("owner")).await;
}

#[tokio::test]
async fn foreground_deletion_deletes_leaf_dependents_first() {
    let world = World::new().await;
    owner_with(&world, &[("a", true)]).await;
    let a = world.find(&at("a")).await.unwrap();
    world
        .create(MAPS, &map("grandchild", &[owner(&a, true)]))
        .await;
    hold(&world, "grandchild").await;
    world.delete(&at("owner"), "Foreground").await;
    world
        .until(&at("grandchild"), |own| {
            own["metadata"].get("deletionTimestamp").is_some()
        })
        .await;
    world.settle().await;
    assert!(world.find(&at("a")).await.is_some());
    release(&world, "grandchild").await;
    for name in ["grandchild", "a", "owner"] {
        world.until_gone(&at(name)).await;
    }
}

#[tokio::test]
async fn foreground_deletion_resolves_owner_cycles() {
    let world = World::new().await;
    let first = owner_with(&world, &[("second", true)]).await;
    let second = world.find(&at("second")).await.unwrap();
    let circle = json!({"metadata": {"ownerReferences": [owner(&second, true)]}});
    world.patch(&at("owner"), &circle).await;
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    world.delete(&at("owner"), "Foreground").await;
    world.until_gone(&at("owner")).await;
    world.until_gone(&at("second")).await;
}

#[tokio::test]
async fn orphaned_dependents_are_not_deleted_and_lose_the_owner_reference() {
    let world = World::new().await;
    owner_with(&world, &[("a", true), ("b", false)]).await;
    world.delete(&at("owner"), "Orphan").await;
    world.until_gone(&at("owner")).await;
    for name in ["a", "b"] {
        let orphan = world.find(&at(name)).await.unwrap();
        let owners = orphan["metadata"]["ownerReferences"].as_array();
        assert!(owners.is_none_or(Vec::is_empty), "{orphan}");
    }
}

#[tokio::test]
async fn object_with_missing_or_recreated_owner_is_deleted() {
    let world = World::new().await;
    let created = owner_with(&world, &[]).await;
    let mut stale = owner(&created, false);
    stale["uid"] = "00000000-0000-0000-0000-000000000000".into();
    world.create(MAPS, &map("stale", &[stale])).await;
    let mut misnamed = owner(&created, false);
    misnamed["name"] = "nobody".into();
    world.create(MAPS, &map("misnamed", &[misnamed])).await;
    world
        .create(MAPS, &map("right", &[owner(&created, false)]))
        .await;
    world.until_gone(&at("stale")).await;
    world.until_gone(&at("misnamed")).await;
    world.settle().await;
    assert!(world.find(&at("right")).await.is_some());
}

#[tokio::test]
async fn dependents_of_owner_deleted_during_controller_downtime_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let options = drover_apiserver::lifecycle::LifecycleOptions::default;
    let world = World::at(folder.path(), options()).await;
    owner_with(&world, &[("a", false)]).await;
    world.stop().await;
    // Without controllers, deletion does not cascade.
    let path = folder.path().join("hub.db");
    let server =
        drover_apiserver::server::ApiServer::open(drover_apiserver::server::Options::new(path));
    let bare = World::bare(&server.await.unwrap());
    bare.delete(&at("owner"), "Background").await;
    bare.settle().await;
    assert!(bare.find(&at("a")).await.is_some());
    drop(bare);
    let world = World::at(folder.path(), options()).await;
    world.until_gone(&at("a")).await;
}

#[tokio::test]
async fn dependents_orphaned_before_a_server_restart_are_not_deleted() {
    const MANY: usize = 1200;
    let folder = tempfile::tempdir().unwrap();
    let options = drover_apiserver::lifecycle::LifecycleOptions::default();
    {
        // The garbage collector does not run yet.
        let server = super::open(folder.path(), &options).await;
        let world = World::bare(&server);
        // The owner's key sorts before those of its dependents, so the owner is read first.
        let created = world.create(MAPS, &map("a-owner", &[])).await;
        let dependents: Vec<Value> = (0..MANY)
            .map(|number| map(&format!("dependent-{number}"), &[owner(&created, true)]))
            .collect();
        let created = futures::stream::iter(&dependents).map(|own| world.create(MAPS, own));
        created.buffer_unordered(40).for_each(|_| async {}).await;
        world.delete(&at("a-owner"), "Orphan").await;
    }
    let world = World::at(folder.path(), options).await;
    world.until_gone(&at("a-owner")).await;
    world.settle().await;
    let (_, remaining) = world.ask(http::Method::GET, MAPS, &Value::Null).await;
    let remaining = remaining["items"].as_array().unwrap();
    let free = remaining.iter().filter(|own| {
        own["metadata"]["ownerReferences"]
            .as_array()
            .is_none_or(Vec::is_empty)
    });
    let free = free.filter(|own| own["metadata"]["name"].as_str().unwrap().starts_with("dep"));
    assert_eq!(free.count(), MANY);
}
