//! Tests a complete user workflow: first start, import, use and removal of a cluster.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use drover_e2e::{ControlPlane, Member, Options, World, eventually};
use serde_json::Value;

const SOON: Duration = Duration::from_mins(1);

pub(crate) async fn first_password_is_printed_once_and_must_be_changed(world: &mut World) {
    let password = world.server.first_password().unwrap();
    // The password of the administrator is not the printed one, because the login required a
    // change.
    assert_ne!(password, world.admin.password);
    let old = world
        .admin
        .drover()
        .env("HOME", world.scratch("old-password").unwrap())
        .with_stdin(format!("{password}\n"));
    let url = world.server.url();
    let fingerprint = world.server.fingerprint().unwrap();
    let login = [
        "login",
        &url,
        "--username=admin",
        "--password-stdin",
        "--ca-fingerprint",
        &fingerprint,
    ];
    let refused = old.output(login).await.unwrap();
    assert!(!refused.status.success(), "{refused:?}");

    world.server.restart().await.unwrap();
    let printed = world.server.printed();
    assert_eq!(printed.matches("with the password").count(), 1, "{printed}");
    assert_eq!(printed.matches(&password).count(), 1, "{printed}");
    // The Cluster's conditions are older than the restart, so send a request through the proxy.
    let through = world.through();
    eventually(
        "a request through the proxy after the restart",
        SOON,
        async || {
            let version = through.run(["get", "--raw", "/version"]).await;
            version.map_err(|error| error.to_string())
        },
    )
    .await
    .unwrap();
}

pub(crate) async fn kubeconfigs_with_token_and_with_exec_plugin_access_the_cluster(
    world: &mut World,
) {
    let merged = std::fs::read_to_string(world.admin.home().join(".kube/config")).unwrap();
    assert!(merged.contains("credential"), "{merged}");
    assert!(
        !merged.contains("drover_"),
        "the kubeconfig must not contain a token: {merged}"
    );
    let kubectl = world.admin.kubectl();
    let words = [
        "--context",
        world.east.name(),
        "get",
        "namespaces",
        "-o",
        "name",
    ];
    let by_plug_in = kubectl.run(words).await.unwrap();
    let by_token = world
        .through()
        .run(["get", "namespaces", "-o", "name"])
        .await
        .unwrap();
    assert!(
        by_plug_in.stdout.contains("namespace/drover-agent"),
        "{by_plug_in:?}"
    );
    assert_eq!(by_plug_in.stdout, by_token.stdout);
    let mode = std::fs::metadata(world.kubeconfig())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

pub(crate) async fn tokens_are_listed_without_secrets_and_can_be_deleted(world: &mut World) {
    let drover = world.admin.drover();
    let create = [
        "token",
        "create",
        "--description=a backup job",
        "--ttl=1h",
        "-o",
        "json",
    ];
    let created = drover.run(create).await.unwrap().stdout;
    let created: Value = serde_json::from_str(&created).unwrap();
    let token = created["token"].as_str().unwrap();
    let id = created["metadata"]["id"].as_str().unwrap();
    let listed = drover
        .run(["token", "list", "-o", "json"])
        .await
        .unwrap()
        .stdout;
    assert!(listed.contains(id), "{listed}");
    assert!(listed.contains("a backup job"), "{listed}");
    let secret = token.rsplit('_').next().unwrap();
    assert!(!listed.contains(secret), "{listed}");

    let authority = world.scratch("token").unwrap().join("ca.crt");
    std::fs::write(&authority, authority_of(world)).unwrap();
    let other = drover
        .clone()
        .env("HOME", world.scratch("token").unwrap())
        .env("DROVER_SERVER", world.server.url())
        .env("DROVER_CA_FILE", &authority)
        .env("DROVER_TOKEN", token);
    let clusters = other.run(["cluster", "list"]).await.unwrap().stdout;
    assert!(clusters.contains("east"), "{clusters}");
    drover.run(["token", "delete", id]).await.unwrap();
    eventually("the token to be refused", SOON, async || {
        let output = other.output(["cluster", "list"]).await.unwrap();
        let refused = output.status.code() == Some(3);
        refused.then_some(()).ok_or_else(|| format!("{output:?}"))
    })
    .await
    .unwrap();
}

/// Returns the certificate authority of the server, as PEM, from the kubeconfig.
fn authority_of(world: &World) -> Vec<u8> {
    use base64::Engine as _;
    let text = std::fs::read_to_string(world.kubeconfig()).unwrap();
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&text).unwrap();
    let cluster = kubeconfig.clusters[0].cluster.clone().unwrap();
    let data = cluster.certificate_authority_data.unwrap();
    base64::engine::general_purpose::STANDARD
        .decode(data)
        .unwrap()
}

pub(crate) async fn token_of_a_deleted_cluster_is_invalid_after_its_recreation(world: &mut World) {
    let options = Options {
        name: "west".to_owned(),
        ..Options::default()
    };
    let cluster = ControlPlane::start(options).await.unwrap();
    let before = objects_of(&cluster).await;
    let mut west = Member::new(cluster, None);
    let admin = world.admin.clone();
    west.import(&admin).await.unwrap();
    west.start_agents(1).await.unwrap();
    west.wait_until_usable(&admin).await.unwrap();
    let list = admin
        .drover()
        .run(["cluster", "list"])
        .await
        .unwrap()
        .stdout;
    assert!(list.contains("east") && list.contains("west"), "{list}");

    let kubeconfig = admin.token_kubeconfig("west").await.unwrap();
    let old = admin.kubectl_with(&kubeconfig);
    old.run(["get", "namespaces"]).await.unwrap();

    let delete = [
        "cluster",
        "delete",
        "west",
        "--yes",
        "--wait",
        "--timeout=60s",
    ];
    admin.drover().run(delete).await.unwrap();
    west.end_agents();
    assert_only_previous_objects_remain(&west.cluster, &before).await;
    let gone = old.output(["get", "namespaces"]).await.unwrap();
    assert!(!gone.status.success(), "{gone:?}");

    west.import(&admin).await.unwrap();
    west.start_agents(1).await.unwrap();
    west.wait_until_usable(&admin).await.unwrap();
    let refused = old.output(["get", "namespaces"]).await.unwrap();
    assert!(
        !refused.status.success(),
        "the old token must stay invalid: {refused:?}"
    );
    let new = admin.token_kubeconfig("west").await.unwrap();
    admin
        .kubectl_with(&new)
        .run(["get", "namespaces"])
        .await
        .unwrap();
    admin.drover().run(delete).await.unwrap();
}

/// Returns the names of all namespaces, roles and role bindings in the cluster.
async fn objects_of(cluster: &ControlPlane) -> Vec<String> {
    let kinds = "namespaces,clusterroles,clusterrolebindings,customresourcedefinitions";
    let words = ["get", kinds, "-o", "name"];
    let names = cluster.kubectl(words).await.unwrap().stdout;
    names.lines().map(str::to_owned).collect()
}

async fn assert_only_previous_objects_remain(cluster: &ControlPlane, before: &[String]) {
    eventually("all objects of Drover to be deleted", SOON, async || {
        let now = objects_of(cluster).await;
        let remaining: Vec<_> = now
            .into_iter()
            .filter(|name| !before.contains(name))
            .collect();
        if remaining.is_empty() {
            Ok(())
        } else {
            Err(remaining.join(", "))
        }
    })
    .await
    .unwrap();
}
