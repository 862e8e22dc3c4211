//! Tests that open watches end when their credential is revoked, and that new requests are
//! rejected.

use std::path::Path;
use std::time::{Duration, Instant};

use drover_e2e::{CommandLine, Running, TestUser, World, eventually};
use serde_json::Value;

const SOON: Duration = Duration::from_mins(1);
/// Documented maximum time from a revocation until open watches are closed.
const CUT_WITHIN: Duration = Duration::from_secs(5);

/// An open watch of kubectl.
pub(crate) struct Watch {
    kubectl: CommandLine,
    running: Running,
}

impl Watch {
    async fn open(world: &World, name: &str, kubectl: CommandLine) -> Self {
        Self::of(world, name, kubectl, ("kube-system", "kube-root-ca.crt")).await
    }

    /// Opens a watch of the ConfigMaps in a namespace. Waits until kubectl prints the name of the
    /// given ConfigMap.
    pub(crate) async fn of(
        world: &World,
        name: &str,
        kubectl: CommandLine,
        (namespace, seen): (&str, &str),
    ) -> Self {
        let logs = world.scratch("watches").unwrap();
        let words = ["get", "configmaps", "--namespace", namespace, "--watch"];
        let mut running = kubectl.start(name, words, &logs).unwrap();
        running.wait_for_log(seen, SOON).await.unwrap();
        Self { kubectl, running }
    }

    /// Asserts that the watch ends within `CUT_WITHIN` and that new requests are rejected.
    pub(crate) async fn ends(mut self) {
        let since = Instant::now();
        let end = eventually("the watch to end", SOON, async || {
            self.running.exited().ok_or("the watch is still open")
        });
        end.await.unwrap();
        let took = since.elapsed();
        assert!(took < CUT_WITHIN, "the watch ended after {took:?}");
        let refused = self.kubectl.output(["get", "namespaces"]).await.unwrap();
        assert!(!refused.status.success(), "{refused:?}");
        let reported = ["nauthorized", "orbidden", "logged in", "not permitted"];
        assert!(
            reported.iter().any(|word| refused.stderr.contains(word)),
            "{refused:?}"
        );
    }

    /// Asserts that the watch is still open.
    pub(crate) fn goes_on(mut self) {
        let ended = self.running.exited();
        assert_eq!(ended, None, "{}", self.running.log());
    }
}

/// Returns the ID of the token in a kubeconfig.
fn token_id(kubeconfig: &Path) -> String {
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    let (_, rest) = text.split_once("drover_").unwrap();
    rest.split('_').next().unwrap().to_owned()
}

async fn with_kubeconfig(world: &World, name: &str) -> (TestUser, CommandLine) {
    let person = world.person(name, true).await.unwrap();
    let kubeconfig = person.token_kubeconfig("east").await.unwrap();
    let kubectl = person.kubectl_with(&kubeconfig);
    granted(&kubectl).await;
    (person, kubectl)
}

/// Waits until the binding of a new administrator exists in the cluster.
async fn granted(kubectl: &CommandLine) {
    eventually("the binding in the cluster", SOON, async || {
        kubectl.run(["get", "namespaces"]).await
    })
    .await
    .unwrap();
}

pub(crate) async fn deleted_token_closes_its_watch_and_is_rejected(world: &mut World) {
    let kubeconfig = world.admin.token_kubeconfig("east").await.unwrap();
    let kubectl = world.admin.kubectl_with(&kubeconfig);
    let watch = Watch::open(world, "deleted-token", kubectl).await;
    let other = Watch::open(world, "other-token", world.through()).await;
    let delete = ["token", "delete", &token_id(&kubeconfig)];
    world.admin.drover().run(delete).await.unwrap();
    watch.ends().await;
    other.goes_on();
}

pub(crate) async fn expired_token_closes_its_watch_and_is_rejected(world: &mut World) {
    let file = world.scratch("expiry").unwrap().join("minute.yaml");
    let path = file.display().to_string();
    let begin = Instant::now();
    let words = [
        "cluster",
        "kubeconfig",
        "east",
        "--credential=token",
        "--ttl=60s",
        "--output-file",
        &path,
    ];
    world.admin.drover().run(words).await.unwrap();
    let kubectl = world.admin.kubectl_with(&file);
    let watch = Watch::open(world, "expired-token", kubectl).await;
    let rest = Duration::from_mins(1).saturating_sub(begin.elapsed());
    tokio::time::sleep(rest).await;
    watch.ends().await;
}

pub(crate) async fn disabling_a_user_closes_watches_and_enabling_restores_access(
    world: &mut World,
) {
    let (_, kubectl) = with_kubeconfig(world, "mary").await;
    let watch = Watch::open(world, "disabled-user", kubectl.clone()).await;
    let drover = world.admin.drover();
    drover.run(["user", "disable", "mary"]).await.unwrap();
    watch.ends().await;
    drover.run(["user", "enable", "mary"]).await.unwrap();
    granted(&kubectl).await;
}

pub(crate) async fn deletion_of_a_user_closes_watches_and_permanently_removes_access(
    world: &mut World,
) {
    let (_, kubectl) = with_kubeconfig(world, "john").await;
    let watch = Watch::open(world, "deleted-user", kubectl.clone()).await;
    let drover = world.admin.drover();
    drover
        .run(["user", "delete", "john", "--yes"])
        .await
        .unwrap();
    watch.ends().await;
    // A new user gets the same name.
    let (_, new) = with_kubeconfig(world, "john-again").await;
    granted(&new).await;
    kubectl.run(["get", "namespaces"]).await.unwrap_err();
}

pub(crate) async fn demoted_administrator_loses_open_watches_and_cluster_bindings(
    world: &mut World,
) {
    let (_, kubectl) = with_kubeconfig(world, "paula").await;
    let watch = Watch::open(world, "demoted", kubectl).await;
    // Remove the administrator flag on the hub, as an operator does.
    let words = [
        "patch",
        "users.management.drover.dev",
        "paula",
        "--type=merge",
        "-p",
    ];
    let patch = [r#"{"spec":{"administrator":false}}"#];
    world.hub.kubectl(words.iter().chain(&patch)).await.unwrap();
    watch.ends().await;
    eventually(
        "the binding to be deleted in the cluster",
        SOON,
        async || {
            let bindings = ["get", "clusterrolebindings", "-o", "json"];
            let text = world.east.cluster.kubectl(bindings).await.unwrap().stdout;
            let bindings: Value = serde_json::from_str(&text).unwrap();
            let uid = uid_of(world, "paula").await;
            let bound = bindings.to_string().contains(&uid);
            if bound {
                Err("the binding still exists")
            } else {
                Ok(())
            }
        },
    )
    .await
    .unwrap();
}

async fn uid_of(world: &World, user: &str) -> String {
    let words = [
        "get",
        "users.management.drover.dev",
        user,
        "-o",
        "jsonpath={.metadata.uid}",
    ];
    world.hub.kubectl(words).await.unwrap().stdout
}
