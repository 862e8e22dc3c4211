//! Tests of the path from a git repository to the objects in a cluster, with a real cluster.

mod commands;
mod helm_ops;
mod imports;

use std::collections::BTreeMap;
use std::time::Duration;

use drover_api::fleet::{Bundle, BundleDeployment, Content, FleetCluster, GitRepo};
use drover_api::gitops::FLEET_NAMESPACE;
use drover_api::kinds::{CheckInSpec, Cluster};
use drover_e2e::{ControlPlane, eventually};
use drover_git_hosting::{InitialCommit, Repositories};
use drover_gitops::check_in::CheckIns;
use drover_gitops::ids::sha256_hex;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::rig::{Rig, SOON, start_with_gitops, start_without_tunnel};
use crate::git::{Client, api_token, large_text};
use crate::place::{TestHub, on_both_hubs};

on_both_hubs!(
    bundle_is_deployed_changed_and_removed,
    agent_removes_a_bundle_that_was_deleted_while_the_agent_did_not_run,
);

/// Returns a file of a bundle with a ConfigMap.
fn config_map(data: &Value) -> Value {
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "shop" }, "data": data });
    json!({ "name": "shop.yaml", "content": object.to_string() })
}

fn bundle(resources: &Value) -> Bundle {
    serde_json::from_value(json!({
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Bundle",
        "metadata": { "name": "shop", "namespace": FLEET_NAMESPACE },
        "spec": {
            "defaultNamespace": "shop", "resources": resources,
            "targets": [{ "clusterSelector": {} }],
        },
    }))
    .unwrap()
}

impl Rig {
    fn fleet<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.server.hub.client(), FLEET_NAMESPACE)
    }

    /// Creates the bundle `shop` with a ConfigMap for all clusters.
    async fn create_bundle(&self, data: &Value) -> Api<Bundle> {
        let bundles = self.fleet::<Bundle>();
        let files = json!([config_map(data)]);
        bundles
            .create(&PostParams::default(), &bundle(&files))
            .await
            .unwrap();
        bundles
    }

    /// Returns the bundle deployments of all clusters.
    async fn deployments(&self) -> Vec<BundleDeployment> {
        let api = Api::<BundleDeployment>::all(self.server.hub.client());
        api.list(&ListParams::default()).await.unwrap().items
    }

    /// Waits until each bundle has a deployment that is ready.
    async fn wait_for_ready(&self, count: usize) {
        eventually("ready bundle deployments", SOON, async || {
            let deployments = self.deployments().await;
            let is_ready = |deployment: &BundleDeployment| {
                let status = deployment.status.as_ref();
                status.is_some_and(|it| {
                    it.ready && it.applied_deployment_id == deployment.spec.deployment_id
                })
            };
            if deployments.len() == count && deployments.iter().all(is_ready) {
                Ok(())
            } else {
                Err(format!("{deployments:#?}"))
            }
        })
        .await
        .unwrap();
    }
}

/// Waits until an object in the cluster fulfils a condition.
async fn wait_for_data(cluster: &ControlPlane, expected: Option<&[(&str, &str)]>) {
    let api = Api::<ConfigMap>::namespaced(cluster.client(), "shop");
    let expected = expected.map(|data| {
        let data = data
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        data.collect::<BTreeMap<_, _>>()
    });
    eventually("the ConfigMap in the cluster", SOON, async || {
        let found = api
            .get_opt("shop")
            .await
            .map_err(|error| error.to_string())?;
        let data = found.map(|found| found.data.unwrap_or_default());
        if data == expected {
            Ok(())
        } else {
            Err(format!("{data:?}"))
        }
    })
    .await
    .unwrap();
}

async fn create<K>(api: &Api<K>, object: &Value)
where
    K: Clone + DeserializeOwned + serde::Serialize + std::fmt::Debug,
{
    let object = serde_json::from_value(object.clone()).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

async fn bundle_is_deployed_changed_and_removed(hub: TestHub) {
    let (rig, cluster) = Rig::with_cluster_on(hub).await;
    rig.join("shop", &cluster).await;
    let _agent = start_with_gitops(&cluster, "pod-0").await;
    let bundles = rig.fleet::<Bundle>();
    let files = json!([config_map(&json!({ "color": "red", "size": "5" }))]);
    bundles
        .create(&PostParams::default(), &bundle(&files))
        .await
        .unwrap();
    rig.wait_for_ready(1).await;
    wait_for_data(&cluster, Some(&[("color", "red"), ("size", "5")])).await;

    // A field that the new version does not have disappears.
    let files = json!([config_map(&json!({ "color": "blue" }))]);
    let patch = Patch::Merge(json!({ "spec": { "resources": files } }));
    bundles
        .patch("shop", &PatchParams::default(), &patch)
        .await
        .unwrap();
    wait_for_data(&cluster, Some(&[("color", "blue")])).await;
    rig.wait_for_ready(1).await;

    // The agent may read the contents of its bundle deployments, and no other contents.
    let client = rig.server.hub.client();
    let deployment = rig.deployments().await.remove(0);
    let namespace = deployment.metadata.namespace.clone().unwrap();
    let roles = Api::<ClusterRole>::all(client.clone());
    let role = roles
        .get(&format!("drover:fleet:contents:{namespace}"))
        .await
        .unwrap();
    let named = role.rules.unwrap().remove(0).resource_names.unwrap();
    let (content, _) = deployment.spec.deployment_id.split_once(':').unwrap();
    assert!(named.contains(&content.to_owned()), "{named:?}");
    let contents = Api::<Content>::all(client);
    let contents = contents
        .list_metadata(&ListParams::default())
        .await
        .unwrap();
    assert_eq!(contents.items.len(), 2);

    eventually("the status of the Fleet Cluster", SOON, async || {
        let found = rig.fleet::<FleetCluster>().get("shop").await.unwrap();
        let status = found.status.unwrap_or_default();
        let is_ready = status.display.ready_bundles == "1/1" && status.agent.last_seen.is_some();
        if is_ready {
            Ok(())
        } else {
            Err(format!("{status:?}"))
        }
    })
    .await
    .unwrap();

    bundles
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_data(&cluster, None).await;
    eventually("the deletion of the bundle", SOON, async || {
        let left = (
            bundles.get_opt("shop").await.unwrap(),
            rig.deployments().await,
        );
        if left == (None, vec![]) {
            Ok(())
        } else {
            Err(format!("{left:?}"))
        }
    })
    .await
    .unwrap();
    let secrets = Api::<Secret>::namespaced(cluster.client(), "shop");
    let releases = ListParams::default().labels("owner=helm");
    eventually("the deletion of the release records", SOON, async || {
        let left = secrets.list(&releases).await.unwrap().items.len();
        if left == 0 { Ok(()) } else { Err(left) }
    })
    .await
    .unwrap();
    rig.server.stop().await;
}

async fn agent_removes_a_bundle_that_was_deleted_while_the_agent_did_not_run(hub: TestHub) {
    let (rig, cluster) = Rig::with_cluster_on(hub).await;
    rig.join("shop", &cluster).await;
    let agent = start_with_gitops(&cluster, "pod-0").await;
    let bundles = rig.create_bundle(&json!({ "color": "red" })).await;
    rig.wait_for_ready(1).await;
    agent.terminate().await;
    bundles
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    eventually("the deletion of the bundle deployment", SOON, async || {
        let left = rig.deployments().await.len();
        if left == 0 { Ok(()) } else { Err(left) }
    })
    .await
    .unwrap();
    wait_for_data(&cluster, Some(&[("color", "red")])).await;
    let _agent = start_with_gitops(&cluster, "pod-1").await;
    wait_for_data(&cluster, None).await;
    rig.server.stop().await;
}

/// Waits until no window is open, and the next window starts in at least 5 seconds. Returns its start.
async fn closed_window(windows: &CheckIns) -> Timestamp {
    loop {
        let window = windows.at(Timestamp::now(), None).unwrap();
        let left = window.next_start.duration_since(Timestamp::now());
        if window.active_until.is_none() && left > SignedDuration::from_secs(5) {
            return window.next_start;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn agent_without_a_tunnel_accesses_the_hub_only_in_its_windows() {
    let (rig, cluster) = Rig::with_cluster_on(TestHub::embedded()).await;
    rig.join("shop", &cluster).await;
    let check_in = CheckInSpec {
        schedule: Some("0,20,40 * * * * *".to_owned()),
        duration: "10s".to_owned(),
        ..CheckInSpec::default()
    };
    let patch = json!({ "spec": { "agent": { "gitopsOnly": true }, "checkIn": check_in } });
    let clusters = Api::<Cluster>::all(rig.server.hub.client());
    clusters
        .patch("shop", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    let windows = CheckIns::new(&check_in, "", |_| Some(TimeZone::UTC)).unwrap();
    let _agent = start_without_tunnel(&cluster, "pod-0").await;
    let bundles = rig.create_bundle(&json!({ "color": "red" })).await;
    wait_for_data(&cluster, Some(&[("color", "red")])).await;
    rig.wait_for_ready(1).await;

    let next = closed_window(&windows).await;
    let fleet_clusters = rig.fleet::<FleetCluster>();
    let last_seen = async || {
        let status = fleet_clusters.get("shop").await.unwrap().status;
        status.unwrap().agent.last_seen.unwrap().0
    };
    let seen = last_seen().await;
    let files = json!([config_map(&json!({ "color": "blue" }))]);
    let patch = json!({ "spec": { "resources": files } });
    bundles
        .patch("shop", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    eventually("the state WaitCheckIn", SOON, async || {
        let status = fleet_clusters.get("shop").await.unwrap().status;
        let display = status.unwrap().display.state;
        if display == "WaitCheckIn" {
            Ok(())
        } else {
            Err(display)
        }
    })
    .await
    .unwrap();
    let maps = Api::<ConfigMap>::namespaced(cluster.client(), "shop");
    while Timestamp::now() < next {
        let data = maps.get("shop").await.unwrap().data.unwrap();
        let is_before = Timestamp::now() < next;
        assert!(
            data["color"] == "red" || !is_before,
            "deployed outside of the windows"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    wait_for_data(&cluster, Some(&[("color", "blue")])).await;
    assert!(last_seen().await >= next && seen < next);

    eventually("the conditions of the Cluster", SOON, async || {
        let status = clusters.get("shop").await.unwrap().status.unwrap();
        let ready = status.conditions.iter().find(|one| one.type_ == "Ready");
        match ready {
            Some(ready) if ready.reason == "GitOpsOnly" => Ok(()),
            _ => Err(format!("{:?}", status.conditions)),
        }
    })
    .await
    .unwrap();
    rig.server.stop().await;
}

#[tokio::test]
async fn secret_of_the_hub_is_in_the_cluster_until_its_bundle_is_deleted() {
    let (rig, cluster) = Rig::with_cluster_on(TestHub::embedded()).await;
    rig.join("shop", &cluster).await;
    let _agent = start_with_gitops(&cluster, "pod-0").await;
    let source = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "login" },
        "stringData": { "password": "first" },
    });
    create(&rig.fleet::<Secret>(), &source).await;
    let bundles = rig.fleet::<Bundle>();
    let mut copying = bundle(&json!([config_map(&json!({ "color": "red" }))]));
    let resources = json!([{ "kind": "Secret", "name": "login" }]);
    copying.spec.options.downstream_resources = serde_json::from_value(resources).unwrap();
    bundles
        .create(&PostParams::default(), &copying)
        .await
        .unwrap();
    rig.wait_for_ready(1).await;
    let copies = Api::<Secret>::namespaced(cluster.client(), "shop");
    let copy = copies.get("login").await.unwrap();
    assert_eq!(copy.data.unwrap()["password"].0, b"first");

    bundles
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    eventually("the deletion of the copy", SOON, async || {
        match copies.get_opt("login").await {
            Ok(None) => Ok(()),
            found => Err(format!("{found:?}")),
        }
    })
    .await
    .unwrap();
    rig.server.stop().await;
}

const REPOSITORY: &[(&str, &str)] = &[
    (
        "shop/fleet.yaml",
        "defaultNamespace: shop\nhelm:\n  releaseName: shop\n  values:\n    color: red\n    \
         cluster: \"${ .ClusterName }\"\n",
    ),
    (
        "shop/Chart.yaml",
        "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    ),
    (
        "shop/templates/shop.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shop\ndata:\n  color: {{ .Values.color }}\n  \
         cluster: {{ .Values.cluster }}\n",
    ),
];

/// Creates the repository `shop` on the server's disk.
async fn create_repository(hub: &TestHub, files: &[(&str, &str)]) {
    let repositories = Repositories::open(hub.folder().join("git")).unwrap();
    let commit = InitialCommit {
        files,
        author: "Ann",
        email: "ann@example.invalid",
        message: "Add the shop",
    };
    repositories
        .create_with(&"shop".parse().unwrap(), Some(commit))
        .await
        .unwrap();
}

impl Rig {
    /// Creates a GitRepo for the repository `shop`.
    async fn create_git_repo(&self, token: &str) -> Api<GitRepo> {
        let credential = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "git" },
            "type": "kubernetes.io/basic-auth",
            "stringData": { "username": "git", "password": token },
        });
        create(&self.fleet::<Secret>(), &credential).await;
        let encoded = {
            use base64::Engine as _;
            base64::engine::general_purpose::STANDARD.encode(&self.server.trust)
        };
        let repo = json!({
            "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "GitRepo",
            "metadata": { "name": "shop" },
            "spec": {
                "repo": format!("{}/git/shop.git", self.server.url), "branch": "main",
                "clientSecretName": "git", "caBundle": encoded, "pollingInterval": "2s",
                "targets": [{ "clusterSelector": {} }],
            },
        });
        let repos = self.fleet::<GitRepo>();
        create(&repos, &repo).await;
        repos
    }
}

#[tokio::test]
async fn bundle_above_the_size_limit_of_the_hub_reaches_the_cluster() {
    let hub = TestHub::embedded();
    let large = large_text();
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shop\ndata:\n  \
                    hash: {{ .Files.Get \"large.txt\" | sha256sum }}\n";
    let files = [
        ("shop/fleet.yaml", "defaultNamespace: shop\n"),
        REPOSITORY[1],
        ("shop/templates/shop.yaml", template),
        ("shop/large.txt", &*large),
    ];
    create_repository(&hub, &files).await;
    let (rig, cluster) = Rig::with_cluster_on(hub).await;
    rig.join("shop", &cluster).await;
    let _agent = start_with_gitops(&cluster, "pod-0").await;
    let token = api_token(&rig.server, &rig.admin).await;
    let repos = rig.create_git_repo(&token).await;
    let hash = sha256_hex(large.as_bytes());
    wait_for_data(&cluster, Some(&[("hash", &hash)])).await;
    rig.wait_for_ready(1).await;

    let bundle = rig.fleet::<Bundle>().get("shop-shop").await.unwrap();
    let contents = Api::<Content>::all(rig.server.hub.client());
    let content = contents.get(&bundle.spec.contents_id).await.unwrap();
    assert_eq!((content.content, bundle.spec.resources), (None, Vec::new()));
    repos
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_data(&cluster, None).await;
    rig.server.stop().await;
}

#[tokio::test]
async fn pushed_commit_of_a_chart_reaches_the_cluster_and_a_broken_one_is_reported() {
    let hub = TestHub::embedded();
    create_repository(&hub, REPOSITORY).await;
    let (rig, cluster) = Rig::with_cluster_on(hub).await;
    rig.join("shop", &cluster).await;
    let _agent = start_with_gitops(&cluster, "pod-0").await;
    let token = api_token(&rig.server, &rig.admin).await;
    let repos = rig.create_git_repo(&token).await;
    wait_for_data(&cluster, Some(&[("cluster", "shop"), ("color", "red")])).await;
    rig.wait_for_ready(1).await;

    let client = Client::new(&rig.server);
    let folder = client.clone("shop", &token, "shop", &[]).await;
    let change = async |text: &str| {
        client
            .commit(&folder, "shop/fleet.yaml", text.as_bytes())
            .await;
        client
            .done(&folder, &["push", "--quiet", "origin", "main"])
            .await;
    };
    let (_, before) = REPOSITORY[0];
    change(&before.replace("red", "blue")).await;
    wait_for_data(&cluster, Some(&[("cluster", "shop"), ("color", "blue")])).await;

    // The deployed bundle stays as it is.
    change("helm: 5\n").await;
    eventually("the reason in the condition Stalled", SOON, async || {
        let status = repos.get("shop").await.unwrap().status.unwrap_or_default();
        let mut conditions = status.base.conditions.iter();
        let stalled = conditions.find(|condition| condition.type_ == "Stalled");
        match stalled {
            Some(found) if found.status == "True" && found.message.contains("shop/fleet.yaml") => {
                Ok(())
            }
            _ => Err(format!("{status:?}")),
        }
    })
    .await
    .unwrap();
    wait_for_data(&cluster, Some(&[("cluster", "shop"), ("color", "blue")])).await;

    repos
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_data(&cluster, None).await;
    rig.server.stop().await;
}
