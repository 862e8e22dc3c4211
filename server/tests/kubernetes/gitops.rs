//! Tests of the GitOps controllers without an agent: limits of tenants, deployment windows, copies, HelmOps
//! and ImageScans.

mod webhooks;

use std::fmt::Debug;
use std::time::Duration;

use drover_api::fleet::{
    Bundle, BundleDeployment, FleetCluster, FleetCondition, GitRepo, GitRepoRestriction, HelmOp,
    ImageScan, Policy, Schedule,
};
use drover_api::gitops::FLEET_NAMESPACE;
use drover_e2e::eventually;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::Role;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::place::{TestHub, on_both_hubs};
use crate::registration::pending_cluster;
use crate::server::Server;

on_both_hubs!(
    restriction_refuses_a_git_repo_and_names_the_field,
    policy_limits_the_service_accounts_of_bundles,
    closed_window_delays_a_deployment_until_it_opens,
    copied_secret_follows_its_source_and_its_bundle,
    helm_op_has_a_bundle_and_an_image_scan_is_not_supported,
);

const SOON: Duration = Duration::from_secs(30);
/// The namespace of the cluster `shop` on the hub.
const CLUSTER: &str = "cluster-fleet-default-shop-079927a5ce7c";

/// A kind in a namespace.
trait Kind:
    kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
{
}
impl<K> Kind for K where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
{
}

impl Server {
    fn api<K: Kind>(&self, namespace: &str) -> Api<K> {
        Api::namespaced(self.hub.client(), namespace)
    }

    /// Creates an object in the namespace of the Fleet Clusters, which the server creates.
    async fn create<K: Kind>(&self, name: &str, mut fields: Value) {
        fields["apiVersion"] = K::api_version(&()).into();
        fields["kind"] = K::kind(&()).into();
        fields["metadata"] = json!({ "name": name });
        let object: K = serde_json::from_value(fields).unwrap();
        let api = self.api::<K>(FLEET_NAMESPACE);
        eventually("the object is created", SOON, async || {
            api.create(&PostParams::default(), &object).await
        })
        .await
        .unwrap();
    }

    async fn change<K: Kind>(&self, name: &str, patch: Value) {
        let (api, params) = (self.api::<K>(FLEET_NAMESPACE), PatchParams::default());
        let patch = Patch::Merge(patch);
        api.patch(name, &params, &patch).await.unwrap();
    }

    /// Creates the Cluster `shop`, and waits for its namespace.
    async fn cluster(&self) {
        let admin = self.administrator().await;
        pending_cluster(self, &admin, "shop").await;
        let api = self.api::<FleetCluster>(FLEET_NAMESPACE);
        let found = eventually("the Fleet Cluster has a namespace", SOON, async || {
            let cluster = api.get("shop").await.map_err(|error| error.to_string())?;
            let status = cluster.status.unwrap_or_default();
            (status.namespace == CLUSTER)
                .then_some(())
                .ok_or(status.namespace)
        });
        found.await.unwrap();
    }

    /// Waits until the only bundle deployment of the cluster fulfils a condition.
    async fn deployment(&self, fulfils: impl Fn(&BundleDeployment) -> bool) -> BundleDeployment {
        let api = self.api::<BundleDeployment>(CLUSTER);
        let found = eventually("the bundle deployment", SOON, async || {
            let listed = api.list(&ListParams::default()).await;
            let mut items = listed.map_err(|error| error.to_string())?.items;
            match (items.pop(), items.is_empty()) {
                (Some(only), true) if fulfils(&only) => Ok(only),
                (found, _) => Err(format!("{found:#?}")),
            }
        });
        found.await.unwrap()
    }

    /// Waits until the condition of the bundle `shop` has a message with this beginning.
    async fn refused_bundle(&self, expected: &str) {
        let api = self.api::<Bundle>(FLEET_NAMESPACE);
        eventually("the refusal of the bundle", SOON, async || {
            let bundle = api.get("shop").await.map_err(|error| error.to_string())?;
            let conditions = bundle.status.unwrap_or_default().conditions;
            let mut messages = conditions.iter().map(|it| &it.message);
            let found = messages.any(|it| it.starts_with(expected));
            found
                .then_some(())
                .ok_or_else(|| format!("{conditions:#?}"))
        })
        .await
        .unwrap();
    }

    async fn has_no_deployment(&self) {
        let api = self.api::<BundleDeployment>(CLUSTER);
        let listed = api.list(&ListParams::default()).await.unwrap();
        assert!(listed.items.is_empty(), "{listed:?}");
    }

    /// Waits until an object has a condition with a status and a reason. Returns its message.
    async fn condition<K: Kind>(
        &self,
        name: &str,
        expected: (&str, &str, &str),
        conditions: impl Fn(K) -> Vec<FleetCondition>,
    ) -> String {
        let api = self.api::<K>(FLEET_NAMESPACE);
        let what = format!("the condition {expected:?}");
        let found = eventually(&what, SOON, async || {
            let object = api.get(name).await.map_err(|error| error.to_string())?;
            let conditions = conditions(object);
            let mut all = conditions.iter();
            let found = all.find(|it| (&*it.type_, &*it.status, &*it.reason) == expected);
            found
                .map(|it| it.message.clone())
                .ok_or_else(|| format!("{conditions:#?}"))
        });
        found.await.unwrap()
    }
}

fn of_repo(repo: GitRepo) -> Vec<FleetCondition> {
    repo.status.unwrap_or_default().base.conditions
}

fn of_helm_op(helm_op: HelmOp) -> Vec<FleetCondition> {
    helm_op.status.unwrap_or_default().base.conditions
}

fn bundle(mut options: Value) -> Value {
    options["resources"] = json!([{ "name": "a.yaml", "content": "kind: ConfigMap" }]);
    options["targets"] = json!([{ "clusterSelector": {} }]);
    json!({ "spec": options })
}

async fn restriction_refuses_a_git_repo_and_names_the_field(hub: TestHub) {
    let server = Server::start(&hub).await;
    let patterns = json!({ "allowedRepoPatterns": ["^https://git\\.example/"] });
    server
        .create::<GitRepoRestriction>("tenant", patterns)
        .await;
    let repo = json!({ "spec": { "repo": "https://127.0.0.1:1/shop.git" } });
    server.create::<GitRepo>("shop", repo).await;
    let refused = ("Accepted", "False", "PolicyViolation");
    let message = server.condition("shop", refused, of_repo).await;
    let expected = "spec.repo: \"https://127.0.0.1:1/shop.git\" is not permitted by allowedRepoPatterns of \
                    GitRepoRestriction tenant";
    assert!(message.starts_with(expected), "{message}");

    // The server polls the repository after a change of the restriction.
    let patterns = json!({ "allowedRepoPatterns": ["^https://127\\.0\\.0\\.1:1/"] });
    server
        .change::<GitRepoRestriction>("tenant", patterns)
        .await;
    server
        .condition("shop", ("Accepted", "True", ""), of_repo)
        .await;
    server
        .condition("shop", ("GitPolling", "False", ""), of_repo)
        .await;
    server.stop().await;
}

async fn policy_limits_the_service_accounts_of_bundles(hub: TestHub) {
    let server = Server::start(&hub).await;
    server.cluster().await;
    let policy = json!({ "requireServiceAccount": true, "allowedServiceAccounts": ["tenant"] });
    server.create::<Policy>("tenants", policy).await;
    // The server has the Policy when it has refused a GitRepo.
    let repo = json!({ "spec": { "repo": "https://127.0.0.1:1/shop.git" } });
    server.create::<GitRepo>("other", repo).await;
    let refused = ("Accepted", "False", "PolicyViolation");
    server.condition("other", refused, of_repo).await;
    server.create::<Bundle>("shop", bundle(json!({}))).await;
    let required =
        "spec.serviceAccount: set the field, because requireServiceAccount of Policy tenants";
    server.refused_bundle(required).await;
    let account = |name: &str| json!({ "spec": { "serviceAccount": name } });
    server.change::<Bundle>("shop", account("admin")).await;
    let listed = "spec.serviceAccount: \"admin\" is not permitted by allowedServiceAccounts";
    server.refused_bundle(listed).await;
    server.has_no_deployment().await;

    server.change::<Bundle>("shop", account("tenant")).await;
    let deployment = server.deployment(|_| true).await;
    assert_eq!(deployment.spec.staged_options.service_account, "tenant");
    server.stop().await;
}

async fn closed_window_delays_a_deployment_until_it_opens(hub: TestHub) {
    let server = Server::start(&hub).await;
    server.cluster().await;
    // One second in each leap year.
    let closed = json!({ "spec": {
        "schedule": "0 0 0 29 2 ?", "duration": "1s",
        "targets": { "clusters": [{ "clusterName": "shop" }] },
    } });
    server.create::<Schedule>("nightly", closed).await;
    let clusters = server.api::<FleetCluster>(FLEET_NAMESPACE);
    eventually("the cluster is outside of its window", SOON, async || {
        let status = clusters
            .get("shop")
            .await
            .unwrap()
            .status
            .unwrap_or_default();
        let is_closed = status.scheduled && !status.active_schedule;
        is_closed
            .then_some(())
            .ok_or_else(|| format!("{status:#?}"))
    })
    .await
    .unwrap();
    server.create::<Bundle>("shop", bundle(json!({}))).await;
    let waiting = server.deployment(|it| it.spec.off_schedule).await;
    assert_eq!(waiting.spec.deployment_id, "");
    assert_ne!(waiting.spec.staged_deployment_id, "");

    // The whole day except for its last second.
    let open = json!({ "spec": { "schedule": "0 0 0 * * ?", "duration": "23h59m59s" } });
    server.change::<Schedule>("nightly", open).await;
    let is_released = |it: &BundleDeployment| {
        !it.spec.off_schedule && it.spec.deployment_id == it.spec.staged_deployment_id
    };
    server.deployment(is_released).await;
    server.stop().await;
}

async fn copied_secret_follows_its_source_and_its_bundle(hub: TestHub) {
    let server = Server::start(&hub).await;
    server.cluster().await;
    let source = |password: &str| json!({ "stringData": { "password": password } });
    server.create::<Secret>("login", source("first")).await;
    let resources = json!([{ "kind": "Secret", "name": "login" }]);
    let options = json!({ "downstreamResources": resources });
    server.create::<Bundle>("shop", bundle(options)).await;
    let before = server.deployment(|_| true).await;
    let copies = server.api::<Secret>(CLUSTER);
    let password = async || {
        let copy = copies.get_opt("login").await.unwrap()?;
        Some(copy.data.unwrap()["password"].0.clone())
    };
    assert_eq!(password().await.as_deref(), Some(&b"first"[..]));
    let roles = server.api::<Role>(CLUSTER);
    let role = roles.get("drover-agent-secrets").await.unwrap();
    let permitted = format!("{:?}", role.rules);
    assert!(permitted.contains("\"login\""), "{permitted}");

    server.change::<Secret>("login", source("second")).await;
    // Without an event, the server reads the source once a minute.
    let event = json!({ "metadata": { "labels": { "changed": "true" } } });
    server.change::<Bundle>("shop", event).await;
    let generation = |it: &BundleDeployment| it.spec.downstream_resources_generation;
    let is_changed = |it: &BundleDeployment| generation(it) != generation(&before);
    server.deployment(is_changed).await;
    assert_eq!(password().await.as_deref(), Some(&b"second"[..]));

    let none = json!({ "spec": { "downstreamResources": null } });
    server.change::<Bundle>("shop", none).await;
    eventually("the copy is deleted", SOON, async || {
        match password().await {
            Some(_) => Err("the copy exists"),
            None => Ok(()),
        }
    })
    .await
    .unwrap();

    server
        .create::<Secret>("own", source("of the tenant"))
        .await;
    let own = json!({ "metadata": { "name": "own" }, "stringData": { "password": "own" } });
    let own: Secret = serde_json::from_value(own).unwrap();
    copies.create(&PostParams::default(), &own).await.unwrap();
    let resources = json!([{ "kind": "Secret", "name": "own" }]);
    let other = json!({ "spec": { "downstreamResources": resources } });
    server.change::<Bundle>("shop", other).await;
    server
        .refused_bundle("cannot copy the Secret own: the namespace")
        .await;
    let kept = copies.get("own").await.unwrap().data.unwrap();
    assert_eq!(kept["password"].0, b"own");
    server.stop().await;
}

async fn helm_op_has_a_bundle_and_an_image_scan_is_not_supported(hub: TestHub) {
    let server = Server::start(&hub).await;
    server.cluster().await;
    let scan = json!({ "spec": { "tagName": "shop", "gitrepoName": "shop", "image": "shop", "interval": "5m" } });
    server.create::<ImageScan>("shop", scan).await;
    let credential = json!({ "stringData": { "username": "shop", "password": "x" } });
    server.create::<Secret>("registry", credential).await;
    let helm_op = json!({ "spec": {
        "helm": {
            "chart": "shop", "repo": "https://charts.example", "version": "1.2.3",
            "values": { "color": "red" },
        },
        "helmSecretName": "registry", "targets": [{ "clusterSelector": {} }],
    } });
    server.create::<HelmOp>("shop", helm_op).await;
    let accepted = ("Accepted", "True", "");
    server.condition("shop", accepted, of_helm_op).await;
    let deployment = server.deployment(|_| true).await;
    let access = deployment.spec.helm_chart_options.unwrap();
    assert_eq!(access.secret_name, "registry");
    let helm = deployment.spec.staged_options.helm.unwrap();
    assert_eq!((&*helm.chart, &*helm.version), ("shop", "1.2.3"));
    let copy = server.api::<Secret>(CLUSTER).get("registry").await.unwrap();
    assert!(copy.data.unwrap().contains_key("password"));
    let bundle = server.api::<Bundle>(FLEET_NAMESPACE);
    let bundle = bundle.get("shop").await.unwrap();
    assert_ne!(bundle.spec.values_hash, "");

    // A range of the same chart keeps the version until a poll finds another version.
    let range = json!({ "spec": { "helm": { "version": "^1.0.0" } } });
    server.change::<HelmOp>("shop", range).await;
    let failed = ("Polled", "False", "PollFailed");
    server.condition("shop", failed, of_helm_op).await;
    server.condition("shop", accepted, of_helm_op).await;

    // The bundle stays as it is.
    let other = json!({ "spec": { "helm": { "repo": "https://localhost:1" } } });
    server.change::<HelmOp>("shop", other).await;
    let unknown = ("Accepted", "False", "NoVersion");
    let message = server.condition("shop", unknown, of_helm_op).await;
    let expected = "cannot read the repository https://localhost:1: ";
    assert!(message.starts_with(expected), "{message}");
    let message = server.condition("shop", failed, of_helm_op).await;
    assert!(message.contains("; the next attempt is at "), "{message}");
    server
        .deployment(|it| {
            let helm = it.spec.staged_options.helm.as_ref();
            helm.is_some_and(|helm| helm.version == "1.2.3")
        })
        .await;

    let unsupported = ("ImageScanned", "False", "NotSupported");
    let of_scan = |scan: ImageScan| scan.status.unwrap_or_default().conditions;
    server.condition("shop", unsupported, of_scan).await;
    server.stop().await;
}
