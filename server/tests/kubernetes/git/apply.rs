//! Tests of `drover fleet apply` with a real server.

use std::path::Path;
use std::process::Output;

use drover_api::fleet::{Bundle, BundleDeployment, Content, TargetCustomizationMode};
use drover_api::gitops::FLEET_NAMESPACE;
use drover_e2e::eventually;
use drover_git_hosting::{InitialCommit, Repositories};
use drover_gitops::ids::{bundle_values, clear_bundle_values};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

use super::{SOON, api_token, large_text};
use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(local_folder_is_applied_updated_and_deployed);

const FILES: &[(&str, &str)] = &[
    (
        "shop/fleet.yaml",
        "helm:\n  chart: .\n  valuesFiles: [../values.yaml]\n  values:\n    color: red\n",
    ),
    (
        "shop/Chart.yaml",
        "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    ),
    (
        "shop/templates/a.yaml",
        "kind: ConfigMap\ndata: {color: \"{{ .Values.color }}\"}\n",
    ),
    ("shop/tests/ignored.yaml", "kind: Secret\n"),
    ("shop/.fleetignore", "tests/*\n"),
    ("values.yaml", "size: 5\n"),
    ("plain/b.yaml", "kind: ConfigMap\n"),
];
const TARGETS: &str =
    "targets: [{clusterSelector: {}}]\ntargetRestrictions: [{clusterSelector: {}}]\n";

/// A folder, and the program `drover` with the administrator's token.
struct Local {
    folder: TempDir,
    url: String,
    token: String,
}

impl Local {
    fn new(server: &Server, token: String) -> Self {
        let local = Self {
            folder: tempfile::tempdir().unwrap(),
            url: server.url.clone(),
            token,
        };
        for (path, text) in FILES {
            local.write(path, text);
        }
        std::fs::write(local.folder.path().join("targets.yaml"), TARGETS).unwrap();
        std::fs::write(local.folder.path().join("ca.crt"), &server.trust).unwrap();
        local
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    async fn apply(&self, arguments: &[&str]) -> Output {
        let running = Command::new(env!("CARGO_BIN_EXE_drover"))
            .args(["fleet", "apply"])
            .args(arguments)
            .args(["--targets-file", "targets.yaml"])
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("DROVER_SERVER", &self.url)
            .env("DROVER_TOKEN", &self.token)
            .env("DROVER_CA_FILE", self.folder.path().join("ca.crt"))
            .kill_on_drop(true)
            .output();
        tokio::time::timeout(SOON, running).await.unwrap().unwrap()
    }

    /// Runs the command successfully. Returns the text on standard error.
    async fn applied(&self, arguments: &[&str]) -> String {
        let output = self.apply(arguments).await;
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

fn bundles(server: &Server) -> Api<Bundle> {
    Api::namespaced(server.hub.client(), FLEET_NAMESPACE)
}

async fn local_folder_is_applied_updated_and_deployed(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let cluster = json!({ "name": "till" });
    server
        .post("/v1/clusters", &admin, cluster)
        .await
        .expect(201);
    let local = Local::new(&server, api_token(&server, &admin).await);
    let created = local.applied(&["local", "shop", "plain"]).await;
    assert!(
        created.contains("Created bundle fleet-default/local-shop"),
        "{created}"
    );
    assert!(
        created.contains("Created bundle fleet-default/local-plain"),
        "{created}"
    );

    let deployments = Api::<BundleDeployment>::all(server.hub.client());
    let deployed = async || {
        let all = deployments.list(&ListParams::default()).await.unwrap();
        let ids = all.items.into_iter().map(|it| it.spec.deployment_id);
        let mut ids: Vec<String> = ids.filter(|id| !id.is_empty()).collect();
        ids.sort();
        ids
    };
    let wait_for = async |old: &[String]| {
        eventually("the bundle deployments", SOON, async || {
            let ids = deployed().await;
            let is_done = ids.len() == 2 && ids != old;
            if is_done {
                Ok(ids)
            } else {
                Err(format!("{ids:?}"))
            }
        })
        .await
        .unwrap()
    };
    let first = wait_for(&[]).await;
    let secrets: Api<Secret> = Api::namespaced(server.hub.client(), FLEET_NAMESPACE);
    let secret = secrets.get("local-shop").await.unwrap();
    assert_eq!(
        secret.data.unwrap()["values.yaml"].0,
        br#"{"color":"red","size":5}"#
    );
    let bundle = bundles(&server).get("local-shop").await.unwrap();
    let owner = secret.metadata.owner_references.unwrap().remove(0);
    assert_eq!(
        (owner.kind, Some(owner.uid)),
        ("Bundle".to_owned(), bundle.metadata.uid)
    );
    let helm = bundle.spec.options.helm.unwrap();
    assert_eq!((helm.values, helm.values_files), (None, vec![]));

    let unchanged = local.applied(&["local", "shop"]).await;
    assert!(
        unchanged.contains("Unchanged: bundle fleet-default/local-shop"),
        "{unchanged}"
    );
    local.write("values.yaml", "size: 6\n");
    let updated = local
        .applied(&["local", "shop", "--label", "env=test"])
        .await;
    assert!(
        updated.contains("Updated bundle fleet-default/local-shop"),
        "{updated}"
    );
    let second = wait_for(&first).await;
    let bundle = bundles(&server).get("local-shop").await.unwrap();
    assert_eq!(bundle.metadata.labels.unwrap()["env"], "test");
    // The server's finalizer is still on the Bundle.
    assert!(bundle.metadata.finalizers.is_some());

    // A chart without values needs no Secret.
    local.write("shop/fleet.yaml", "{}");
    local.applied(&["local", "shop"]).await;
    assert_eq!(secrets.get_opt("local-shop").await.unwrap(), None);

    let third = wait_for(&second).await;
    local.write("shop/large.txt", &large_text());
    local.applied(&["local", "shop"]).await;
    let after = wait_for(&third).await;
    let bundle = bundles(&server).get("local-shop").await.unwrap();
    let content = bundle.spec.contents_id;
    assert!(
        after
            .iter()
            .any(|id| id.starts_with(&format!("{content}:"))),
        "{content}: {after:?}"
    );
    let contents = Api::<Content>::all(server.hub.client());
    assert_eq!(contents.get(&content).await.unwrap().content, None);
    server.stop().await;
}

/// Returns the initial commit with the files of the folder.
async fn create_repository(hub: &TestHub) {
    let repositories = Repositories::open(hub.folder().join("git")).unwrap();
    let commit = InitialCommit {
        files: FILES,
        author: "Ann",
        email: "ann@example.invalid",
        message: "Add the shop",
    };
    let name = "shop".parse().unwrap();
    repositories.create_with(&name, Some(commit)).await.unwrap();
}

fn printed(file: &Path) -> Vec<Bundle> {
    let text = std::fs::read_to_string(file).unwrap();
    let documents = text.split("---\n");
    documents
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

#[tokio::test]
async fn printed_bundles_equal_the_bundles_of_a_git_repo_and_do_not_replace_them() {
    let hub = TestHub::embedded();
    create_repository(&hub).await;
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let token = api_token(&server, &admin).await;
    super::create_git_repo(
        &server,
        &token,
        "shop",
        json!({
            "paths": ["shop", "plain"], "targets": [{ "clusterSelector": {} }],
        }),
    )
    .await;
    let local = Local::new(&server, token);
    let file = local.folder.path().join("bundles.yaml");
    local
        .applied(&["shop", "shop", "plain", "-o", "bundles.yaml"])
        .await;
    for mut bundle in printed(&file) {
        let name = bundle.metadata.name.clone().unwrap();
        let stored = eventually("the bundle of the GitRepo", SOON, async || {
            bundles(&server).get(&name).await
        });
        let stored = stored.await.unwrap();
        let values = bundle_values(&bundle);
        clear_bundle_values(&mut bundle);
        bundle.spec.values_hash = values.hash;
        // The hub sets this default.
        bundle.spec.target_customization_mode = TargetCustomizationMode::FirstMatch;
        assert_eq!(bundle.spec, stored.spec);
    }
    let refused = local.apply(&["shop", "shop"]).await;
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("belongs to the GitRepo shop"), "{text}");
    server.stop().await;
}

#[tokio::test]
async fn user_without_permissions_creates_no_bundle() {
    let hub = TestHub::embedded();
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let nobody = server.user(&admin, "nobody").await;
    let local = Local::new(&server, api_token(&server, &nobody).await);
    let refused = local.apply(&["local", "plain"]).await;
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    assert_eq!(
        bundles(&server)
            .list(&ListParams::default())
            .await
            .unwrap()
            .items,
        []
    );
    server.stop().await;
}
