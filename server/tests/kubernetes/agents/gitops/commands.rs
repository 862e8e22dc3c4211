//! Tests of `drover git` and `drover fleet` with a real cluster.

use std::path::{Path, PathBuf};

use drover_api::fleet::GitRepo;
use drover_api::gitops::FLEET_NAMESPACE;
use drover_e2e::SharedControlPlane;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::super::rig::Running;
use super::{REPOSITORY, Rig, create_repository, start_with_gitops, wait_for_data};
use crate::git::{Client, SOON, api_token};
use crate::place::TestHub;

/// The program `drover` with the administrator's token.
struct Drover {
    home: TempDir,
    url: String,
    token: String,
}

/// The result of a command.
struct Output {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Drover {
    fn new(rig: &Rig, token: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("ca.crt"), &rig.server.trust).unwrap();
        std::fs::write(home.path().join("token"), token).unwrap();
        Self {
            home,
            url: rig.server.url.clone(),
            token: token.to_owned(),
        }
    }

    fn file(&self, name: &str) -> String {
        self.home.path().join(name).display().to_string()
    }

    async fn run(&self, folder: &Path, line: &[&str]) -> Output {
        let running = Command::new(env!("CARGO_BIN_EXE_drover"))
            .args(line)
            .current_dir(folder)
            .env_clear()
            .env("HOME", self.home.path())
            .env("DROVER_SERVER", &self.url)
            .env("DROVER_TOKEN", &self.token)
            .env("DROVER_CA_FILE", self.file("ca.crt"))
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(2 * SOON, running).await;
        let output = output.unwrap_or_else(|_| panic!("{line:?} does not end"));
        let output = output.unwrap();
        Output {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command successfully. Returns its standard output.
    async fn done(&self, folder: &Path, line: &[&str]) -> String {
        let output = self.run(folder, line).await;
        let Output { code, out, err } = output;
        assert_eq!(code, Some(0), "{line:?}: {out}{err}");
        out
    }
}

/// A GitRepo `shop` that `drover git add` created, and a clone of its repository.
struct Shop {
    drover: Drover,
    git: Client,
    clone: PathBuf,
}

impl Shop {
    async fn add(rig: &Rig) -> Self {
        let token = api_token(&rig.server, &rig.admin).await;
        let drover = Drover::new(rig, &token);
        let git = Client::new(&rig.server);
        let clone = git.clone("shop", &token, "shop", &[]).await;
        let url = format!("{}/git/shop.git", rig.server.url);
        let (password, ca) = (drover.file("token"), drover.file("ca.crt"));
        let add = [
            "git",
            "add",
            "shop",
            &url,
            "--path",
            "shop",
            "--all-clusters",
        ];
        let credential = ["--username", "git", "--password-file", &password];
        // Only `drover git sync` starts polls.
        let options = [
            "--git-ca-file",
            &ca,
            "--no-polling",
            "--wait",
            "--timeout=1m",
        ];
        let line = [&add[..], &credential, &options].concat();
        drover.done(&clone, &line).await;
        Self { drover, git, clone }
    }

    fn write(&self, text: &str) {
        std::fs::write(self.clone.join("shop/fleet.yaml"), text).unwrap();
    }

    async fn push(&self, text: &str) {
        self.git
            .commit(&self.clone, "shop/fleet.yaml", text.as_bytes())
            .await;
        let push = ["push", "--quiet", "origin", "main"];
        self.git.done(&self.clone, &push).await;
    }

    async fn done(&self, line: &[&str]) -> String {
        self.drover.done(&self.clone, line).await
    }

    async fn run(&self, line: &[&str]) -> Output {
        self.drover.run(&self.clone, line).await
    }
}

/// Starts a server with the repository `shop`, and a cluster with an agent.
async fn cluster_with_repository() -> (Rig, SharedControlPlane, Running) {
    let hub = TestHub::embedded();
    create_repository(&hub, REPOSITORY).await;
    let (rig, cluster) = Rig::with_cluster_on(hub).await;
    rig.join("shop", &cluster).await;
    let agent = start_with_gitops(&cluster, "pod-0").await;
    (rig, cluster, agent)
}

/// Returns the command line of a command for the folder `shop`.
fn fleet(command: &'static str) -> [&'static str; 6] {
    [
        "fleet",
        command,
        "shop",
        "shop",
        "--targets-file",
        "targets.yaml",
    ]
}

impl Shop {
    /// Checks that commands report objects that the API server rejects, and templates with errors.
    async fn check_rejected_objects(&self) {
        // The API server rejects the object, and the agent would report this error.
        let template = self.clone.join("shop/templates/shop.yaml");
        let valid = std::fs::read_to_string(&template).unwrap();
        std::fs::write(&template, valid.replace("\ndata:", "\ndata: []\nunknown:")).unwrap();
        let rejected = self.run(&fleet("diff")).await;
        assert_eq!(rejected.code, Some(1), "{}{}", rejected.out, rejected.err);
        assert!(
            rejected.out.contains("rejected ConfigMap shop/shop"),
            "{}{}",
            rejected.out,
            rejected.err
        );
        std::fs::write(&template, "{{ .Values.missing.key }}").unwrap();
        let failed = self.run(&fleet("test")).await;
        assert_eq!(failed.code, Some(1), "{}{}", failed.out, failed.err);
        assert!(failed.out.contains("failed"), "{}", failed.out);
        std::fs::write(&template, valid).unwrap();
    }
}

fn colored(color: &str) -> String {
    REPOSITORY[0].1.replace("red", color)
}

#[tokio::test]
async fn commands_add_sync_pause_and_delete_a_git_repo() {
    let (rig, cluster, _agent) = cluster_with_repository().await;
    let shop = Shop::add(&rig).await;
    wait_for_data(&cluster, Some(&[("cluster", "shop"), ("color", "red")])).await;
    let list = shop.done(&["git", "list"]).await;
    assert!(list.contains("shop") && list.contains("1/1"), "{list}");
    let page = shop.done(&["git", "get", "shop"]).await;
    assert!(page.contains("shop-shop"), "{page}");
    assert!(!page.contains(&shop.drover.token), "{page}");

    shop.push(&colored("blue")).await;
    shop.done(&["git", "sync", "shop", "--wait", "--timeout=1m"])
        .await;
    wait_for_data(&cluster, Some(&[("cluster", "shop"), ("color", "blue")])).await;

    shop.done(&["git", "pause", "shop"]).await;
    shop.push(&colored("green")).await;
    let paused = shop
        .run(&["git", "sync", "shop", "--wait", "--timeout=1m"])
        .await;
    assert_eq!(paused.code, Some(1), "{}", paused.err);
    assert!(paused.err.contains("git resume"), "{}", paused.err);
    wait_for_data(&cluster, Some(&[("cluster", "shop"), ("color", "blue")])).await;
    shop.done(&["git", "resume", "shop", "--wait", "--timeout=1m"])
        .await;
    wait_for_data(&cluster, Some(&[("cluster", "shop"), ("color", "green")])).await;

    shop.push("helm: 5\n").await;
    let stalled = shop
        .run(&["git", "sync", "shop", "--wait", "--timeout=1m"])
        .await;
    assert_eq!(stalled.code, Some(1), "{}", stalled.err);
    assert!(stalled.err.contains("shop/fleet.yaml"), "{}", stalled.err);

    let secrets = Api::<Secret>::namespaced(rig.server.hub.client(), FLEET_NAMESPACE);
    assert!(secrets.get_opt("shop-git").await.unwrap().is_some());
    shop.done(&["git", "delete", "shop", "--yes", "--wait"])
        .await;
    wait_for_data(&cluster, None).await;
    assert_eq!(secrets.get_opt("shop-git").await.unwrap(), None);
    assert_eq!(rig.fleet::<GitRepo>().get_opt("shop").await.unwrap(), None);
    rig.server.stop().await;
}

#[tokio::test]
async fn deletion_with_keep_resources_leaves_the_objects_in_the_cluster() {
    let (rig, cluster, _agent) = cluster_with_repository().await;
    let shop = Shop::add(&rig).await;
    let delete = [
        "git",
        "delete",
        "shop",
        "--keep-resources",
        "--yes",
        "--wait",
    ];
    shop.done(&delete).await;
    // The agent deletes the record of the release after the objects.
    let secrets = Api::<Secret>::namespaced(cluster.client(), "shop");
    drover_e2e::eventually("no release record", SOON, async || {
        let records = ListParams::default().labels("owner=helm");
        match secrets.list(&records).await.unwrap().items.len() {
            0 => Ok(()),
            count => Err(format!("{count} records")),
        }
    })
    .await
    .unwrap();
    wait_for_data(&cluster, Some(&[("cluster", "shop"), ("color", "red")])).await;
    rig.server.stop().await;
}

#[tokio::test]
async fn commands_show_the_changes_and_the_drift_of_a_folder() {
    let (rig, cluster, _agent) = cluster_with_repository().await;
    let shop = Shop::add(&rig).await;
    let targets = "targets: [{clusterSelector: {}}]\ntargetRestrictions: [{clusterSelector: {}}]\n";
    std::fs::write(shop.clone.join("targets.yaml"), targets).unwrap();

    let same = shop
        .run(&[&fleet("diff")[..], &["--exit-code"]].concat())
        .await;
    assert_eq!(same.code, Some(0), "{}{}", same.out, same.err);
    shop.write(&colored("blue"));
    let diff = shop
        .run(&[&fleet("diff")[..], &["--exit-code"]].concat())
        .await;
    assert_eq!(diff.code, Some(8), "{}{}", diff.out, diff.err);
    assert!(
        diff.out.contains("bundle shop-shop, cluster shop"),
        "{}",
        diff.out
    );
    assert!(
        diff.out.contains("-  color: red\n+  color: blue\n"),
        "{}",
        diff.out
    );
    wait_for_data(&cluster, Some(&[("cluster", "shop"), ("color", "red")])).await;

    let rendered = shop.done(&fleet("render")).await;
    assert!(rendered.contains("namespace: shop"), "{rendered}");
    assert!(rendered.contains("color: blue"), "{rendered}");
    let offline = ["fleet", "render", "shop", "shop", "--offline"];
    let offline = shop.run(&offline).await;
    assert_eq!(offline.code, Some(0), "{}", offline.err);
    let tested = shop.done(&fleet("test")).await;
    assert!(tested.contains("ok"), "{tested}");

    shop.check_rejected_objects().await;

    let maps = Api::<ConfigMap>::namespaced(cluster.client(), "shop");
    let drift = Patch::Merge(json!({ "data": { "color": "black" } }));
    maps.patch("shop", &PatchParams::default(), &drift)
        .await
        .unwrap();
    let shown = drover_e2e::eventually("the drift", SOON, async || {
        let text = shop
            .done(&["fleet", "bundlediff", "--bundle", "shop-shop"])
            .await;
        if text.contains("Modified") {
            Ok(text)
        } else {
            Err(text)
        }
    });
    let shown = shown.await.unwrap();
    assert!(shown.contains("\"color\": \"red\""), "{shown}");
    let drifted = [
        "bundle",
        "diff",
        "shop-shop",
        "--cluster",
        "shop",
        "--exit-code",
    ];
    let drifted = shop.run(&drifted).await;
    assert_eq!(drifted.code, Some(8), "{}{}", drifted.out, drifted.err);
    assert!(
        drifted.out.contains("-  color: black\n+  color: red\n"),
        "{}",
        drifted.out
    );
    let monitor = shop
        .done(&["fleet", "monitor", "-n", FLEET_NAMESPACE])
        .await;
    let monitor: Value = serde_json::from_str(&monitor).unwrap();
    assert_eq!(monitor["gitrepos"][0]["name"], "shop");
    assert_eq!(monitor["bundledeployments"][0]["name"], "shop-shop");
    assert_eq!(monitor["diagnostics"], json!({}));
    rig.server.stop().await;
}

#[tokio::test]
async fn printed_target_is_deployed_without_the_agent() {
    let (rig, cluster, _agent) = cluster_with_repository().await;
    let token = api_token(&rig.server, &rig.admin).await;
    let drover = Drover::new(&rig, &token);
    let git = Client::new(&rig.server);
    let clone = git.clone("shop", &token, "shop", &[]).await;
    std::fs::write(
        clone.join("targets.yaml"),
        "targets: [{clusterSelector: {}}]\n",
    )
    .unwrap();
    let apply = ["fleet", "apply", "other", "shop", "-o", "bundle.yaml"];
    let apply = [&apply[..], &["--targets-file", "targets.yaml"]].concat();
    drover.done(&clone, &apply).await;
    rig.wait_for("shop", "Connected", ("True", "TunnelOpen"))
        .await;
    let target = drover
        .done(&clone, &["fleet", "target", "-b", "bundle.yaml"])
        .await;
    std::fs::write(clone.join("target.yaml"), target).unwrap();
    let dry = ["fleet", "deploy", "-i", "target.yaml", "--dry-run"];
    let printed = drover.done(&clone, &dry).await;
    assert!(printed.contains("color: red"), "{printed}");
    wait_for_data(&cluster, None).await;
    let deploy = ["fleet", "deploy", "-i", "target.yaml", "--cluster", "shop"];
    drover.done(&clone, &deploy).await;
    wait_for_data(&cluster, Some(&[("cluster", "shop"), ("color", "red")])).await;
    rig.server.stop().await;
}
