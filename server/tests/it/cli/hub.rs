//! Tests of `drover hub` while a server in the test process has the hub open.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use drover_hub::connect::{Connection, HubOptions, connect};
use drover_hub::embedded::data_dir::DataDir;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use serde_json::Value;

use super::program::Drover;

async fn open(folder: &Path) -> Connection {
    connect(&HubOptions::Embedded(DataDir::new(folder)))
        .await
        .unwrap()
}

fn maps(hub: &Connection) -> Api<ConfigMap> {
    Api::namespaced(hub.client(), "default")
}

async fn write(hub: &Connection, name: &str) {
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    let params = PostParams::default();
    maps(hub).create(&params, &map).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_a_running_hub_can_be_restored() {
    let drover = Drover::new();
    let folder = drover.home.path().join("data");
    let backup = drover.home.path().join("backup.db");
    let (data, file) = (folder.to_str().unwrap(), backup.to_str().unwrap());
    let absent = drover.run(&["hub", "check", "--data-dir", data]).await;
    absent.failed(5, "--data-dir");

    let hub = open(&folder).await;
    write(&hub, "before").await;
    let words = ["hub", "backup", file, "--data-dir", data];
    let created = drover.run(&words).await.ok();
    assert!(created.err.contains("Keep it secret"), "{created:?}");
    let permissions = std::fs::metadata(&backup).unwrap().permissions().mode();
    assert_eq!(permissions & 0o777, 0o600);
    drover.run(&words).await.failed(1, "different file");
    write(&hub, "after").await;

    // The check works with a running hub; a restore requires a closed one.
    let output = drover
        .run(&["hub", "check", "--data-dir", data, "-o", "json"])
        .await
        .ok();
    let output: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(output["sound"], true, "{output}");
    let restore = ["hub", "restore", file, "--data-dir", data];
    let replace = ["hub", "restore", "--replace", file, "--data-dir", data];
    drover.run(&replace).await.failed(1, "stop the server");
    maps(&hub).get("after").await.unwrap();
    hub.close().await;

    drover.run(&restore).await.failed(1, "--replace");
    let done = drover.run(&replace).await.ok();
    assert!(done.out.contains("Intact"), "{done:?}");
    let hub = open(&folder).await;
    maps(&hub).get("before").await.unwrap();
    assert!(maps(&hub).get_opt("after").await.unwrap().is_none());
    hub.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_backup_is_reported_and_not_restored() {
    let drover = Drover::new();
    let folder = drover.home.path().join("data");
    let data = folder.to_str().unwrap();
    let hub = open(&folder).await;
    write(&hub, "kept").await;
    let damaged = drover.home.path().join("damaged.db");
    let file = damaged.to_str().unwrap();
    drover
        .run(&["hub", "backup", file, "--data-dir", data])
        .await
        .ok();
    hub.close().await;
    // Overwrite the second half of the file.
    let bytes = std::fs::read(&damaged).unwrap();
    let half = bytes.len() / 2;
    std::fs::write(&damaged, [&bytes[..half], &vec![0x55; half][..]].concat()).unwrap();

    let checked = drover.run(&["hub", "check", file]).await;
    assert_eq!(checked.code, 1, "{checked:?}");
    let refused = drover
        .run(&["hub", "restore", "--replace", file, "--data-dir", data])
        .await;
    assert_eq!(refused.code, 1, "{refused:?}");
    let hub = open(&folder).await;
    maps(&hub).get("kept").await.unwrap();
    hub.close().await;
}
