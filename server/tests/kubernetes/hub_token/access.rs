//! Tests of the access of an agent to the hub with a token.

use std::time::Duration;

use drover_agent_link::hub::HubPlace;
use drover_e2e::eventually;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
    WatchEvent, WatchParams,
};
use kube::core::GroupVersionKind;
use serde_json::json;

use super::{
    ACCOUNT, NAMESPACE, access, create, create_account, refusal, registered_cluster, request_token,
};
use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(
    agent_has_exactly_the_permissions_of_its_service_account_on_the_hub,
    deletion_of_a_cluster_ends_the_access_of_its_agent_to_the_hub,
);

const SOON: Duration = Duration::from_secs(30);
/// Maximum time until the access ends after the deletion of the service account.
const REVOKED: Duration = Duration::from_secs(5);
const GROUP: &str = "hubtoken.example";

fn code<T>(result: kube::Result<T>) -> u16 {
    match result {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("no response: {error:?}"),
    }
}

/// Defines a kind with a status, and creates an object of the kind.
async fn create_report(server: &Server) -> Api<DynamicObject> {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": schema },
    });
    create::<CustomResourceDefinition>(
        Api::all(server.hub.client()),
        json!({
            "metadata": { "name": format!("reports.{GROUP}") },
            "spec": {
                "group": GROUP, "scope": "Namespaced", "versions": [version],
                "names": { "plural": "reports", "singular": "report", "kind": "Report" },
            },
        }),
    )
    .await;
    let reports = reports(server.hub.client());
    let report = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Report",
        "metadata": { "name": "shop" }, "spec": {},
    });
    let report: DynamicObject = serde_json::from_value(report).unwrap();
    eventually("the kind is served", SOON, async || {
        let params = PostParams::default();
        let created = reports.create(&params, &report).await;
        created.map(drop).map_err(|error| error.to_string())
    })
    .await
    .unwrap();
    reports
}

fn reports(client: kube::Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(GROUP, "v1", "Report");
    let resource = ApiResource::from_gvk_with_plural(&kind, "reports");
    Api::namespaced_with(client, NAMESPACE, &resource)
}

/// Waits until the hub applies the new role of the agent's service account. Returns the current resource
/// version.
async fn wait_for_role(maps: &Api<ConfigMap>) -> String {
    let listed = eventually("the agent can list", SOON, async || {
        maps.list(&ListParams::default()).await
    });
    listed.await.unwrap().metadata.resource_version.unwrap()
}

async fn agent_has_exactly_the_permissions_of_its_service_account_on_the_hub(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let shop = registered_cluster(&server, &admin, "shop").await;
    let rules = json!([
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"] },
        { "apiGroups": [GROUP], "resources": ["reports/status"], "verbs": ["patch"] },
    ]);
    create_account(&server, rules).await;
    let stored = create_report(&server).await;
    let settings = json!({ "metadata": { "name": "settings" }, "data": { "a": "b" } });
    let hub_maps: Api<ConfigMap> = Api::namespaced(server.hub.client(), NAMESPACE);
    create(hub_maps.clone(), settings).await;

    let (client, place) = access(&server, &shop).client().await.unwrap();
    let expected = HubPlace {
        cluster_uid: place.cluster_uid.clone(),
        cluster_namespace: "fleet-default".to_owned(),
        cluster_name: "shop".to_owned(),
        namespace: NAMESPACE.to_owned(),
        check_in: None,
    };
    assert_eq!(place, expected);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    wait_for_role(&maps).await;
    assert_eq!(maps.get("settings").await.unwrap().data.unwrap()["a"], "b");
    assert!(
        !maps
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    let events = maps.watch(&WatchParams::default(), "0").await.unwrap();
    let mut events = events.boxed();
    create(hub_maps, json!({ "metadata": { "name": "later" } })).await;
    let later = async {
        loop {
            match events.try_next().await.unwrap() {
                Some(WatchEvent::Added(map)) if map.metadata.name.as_deref() == Some("later") => {
                    return;
                }
                Some(_) => {}
                None => panic!("the watch ended"),
            }
        }
    };
    tokio::time::timeout(SOON, later).await.unwrap();
    let status = Patch::Merge(json!({ "status": { "ready": true } }));
    let params = PatchParams::default();
    let agents_reports = reports(client.clone());
    let written = agents_reports.patch_status("shop", &params, &status).await;
    written.unwrap();
    assert_eq!(
        stored.get("shop").await.unwrap().data["status"]["ready"],
        true
    );

    // The agent has no other permission.
    let spec = Patch::Merge(json!({ "spec": { "x": 1 } }));
    let written = agents_reports.patch("shop", &params, &spec).await;
    assert_eq!(code(written), 403);
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    assert_eq!(code(secrets.list(&ListParams::default()).await), 403);
    let elsewhere: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    assert_eq!(code(elsewhere.list(&ListParams::default()).await), 403);
    let deleted = maps.delete("settings", &DeleteParams::default()).await;
    assert_eq!(code(deleted.map(|_| ())), 403);

    token_is_valid_for_the_hub_only(&server, &hub, &shop).await;

    let accounts: Api<ServiceAccount> = Api::namespaced(server.hub.client(), NAMESPACE);
    let params = DeleteParams::default();
    accounts.delete(ACCOUNT, &params).await.unwrap();
    let missing = request_token(&server, &shop).await;
    assert_eq!(refusal(&missing), (503, "HubNamespaceMissing"));
    assert!(missing.headers.contains_key("retry-after"));
    server.stop().await;
}

async fn token_is_valid_for_the_hub_only(
    server: &Server,
    hub: &TestHub,
    shop: &super::RegisteredCluster,
) {
    let issued = request_token(server, shop).await;
    assert_eq!(issued.headers["cache-control"], "no-store");
    let body = issued.expect(200);
    let token = body["token"].as_str().unwrap();
    for path in ["/v1/clusters", "/k8s/clusters/shop/api/v1/namespaces"] {
        let answer = server.get(path, token).await;
        assert!(
            matches!(answer.code.as_u16(), 401 | 403),
            "{path}: {}",
            answer.code
        );
    }
    let log = std::fs::read_to_string(hub.folder().join("drover-audit.log")).unwrap();
    let signature = token.rsplit('.').next().unwrap();
    assert!(!log.contains(signature), "the audit log contains a token");
}

async fn deletion_of_a_cluster_ends_the_access_of_its_agent_to_the_hub(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let shop = registered_cluster(&server, &admin, "shop").await;
    let rules = json!([
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"] },
    ]);
    create_account(&server, rules).await;
    let (client, _) = access(&server, &shop).client().await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let version = wait_for_role(&maps).await;
    let events = maps.watch(&WatchParams::default(), &version).await.unwrap();

    server.delete("/v1/clusters/shop", &admin).await.expect(204);
    // The Cluster exists until its agent has removed the server's objects, or its deletion is complete.
    eventually("the server issues no token", SOON, async || {
        let body = Some(json!({ "clusterUid": shop.uid }));
        let path = "/v1/agent/challenge";
        let challenge = server.call(reqwest::Method::POST, path, None, body).await;
        let Some(nonce) = challenge.body["nonce"].as_str() else {
            return Ok(());
        };
        let answer = super::request(&server, &shop.uid, &shop.key, nonce).await;
        match refusal(&answer) {
            (410, "ClusterDeleted") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
    .unwrap();

    // The controller of GitOps clusters deletes the service account of a deleted Cluster.
    let accounts: Api<ServiceAccount> = Api::namespaced(server.hub.client(), NAMESPACE);
    accounts
        .delete(ACCOUNT, &DeleteParams::default())
        .await
        .unwrap();
    let ended = events.try_for_each(async |_| Ok(()));
    // The end of the watch can be an error, because the server closes its stream.
    let _ = tokio::time::timeout(REVOKED, ended)
        .await
        .expect("the watch ends");
    // The agent requests a new token if the hub rejects the token, and the server refuses the request.
    eventually("the token is rejected", REVOKED, async || {
        match maps.list(&ListParams::default()).await {
            Ok(_) => Err("the token is valid".to_owned()),
            Err(_) => Ok(()),
        }
    })
    .await
    .unwrap();
    server.stop().await;
}
