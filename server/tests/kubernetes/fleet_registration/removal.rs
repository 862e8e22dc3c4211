//! Tests of expired registration tokens and of deleted clusters.

use std::time::Duration;

use drover_api::fleet::{FleetCluster, FleetClusterRegistrationToken};
use drover_e2e::eventually;
use drover_gitops::ids::credential_secret_name;
use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::{Agent, CREDENTIALS, NAMESPACE, SOON, api, registration_token, request_of, secrets};
use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

/// The time in which kube-controller-manager deletes objects. It looks for the kinds of new
/// CustomResourceDefinitions every 30 seconds, and repeats a failed deletion later.
const GARBAGE_COLLECTION: Duration = Duration::from_mins(3);

on_both_hubs!(
    expired_registration_token_is_deleted_with_its_service_account,
    deleted_fleet_cluster_leaves_no_objects_and_revokes_its_agent,
);

/// Returns the names of the objects of a kind that contain a text.
async fn named<K>(api: Api<K>, text: &str) -> Vec<String>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let listed = api.list(&ListParams::default()).await.unwrap();
    let names = listed.items.iter().map(|object| object.meta().name.clone());
    let names = names.flatten().filter(|name| name.contains(text));
    names.collect()
}

/// Returns the names of the objects of registrations in a namespace.
async fn objects(server: &Server, namespace: &str, text: &str) -> Vec<String> {
    [
        named(api::<ServiceAccount>(server, namespace), text).await,
        named(api::<Secret>(server, namespace), text).await,
        named(api::<Role>(server, namespace), text).await,
        named(api::<RoleBinding>(server, namespace), text).await,
    ]
    .concat()
}

async fn expired_registration_token_is_deleted_with_its_service_account(hub: TestHub) {
    let server = Server::start(&hub).await;
    let values = registration_token(&server, "edge", "8s").await;
    let tokens: Api<FleetClusterRegistrationToken> = api(&server, NAMESPACE);
    let created = objects(&server, NAMESPACE, "edge").await;
    // The service account, two Secrets, the role and its binding.
    assert_eq!(created.len(), 5, "{created:?}");
    eventually("the expiry is in the status", SOON, async || {
        let token = tokens.get_opt("edge").await.unwrap();
        let status = token.and_then(|token| token.status);
        let status = status.filter(|it| it.expires.is_some() && it.secret_name == "edge");
        status.ok_or("no status")
    })
    .await
    .unwrap();
    let path = secrets(NAMESPACE, "edge");
    eventually("the token is rejected", SOON, async || {
        match server.get(&path, &values["token"]).await.code.as_u16() {
            401 => Ok(()),
            code => Err(format!("{code}")),
        }
    })
    .await
    .unwrap();
    eventually("all objects are deleted", GARBAGE_COLLECTION, async || {
        let left = objects(&server, NAMESPACE, "edge").await;
        let token = tokens.get_opt("edge").await.unwrap();
        if token.is_none() && left.is_empty() {
            return Ok(());
        }
        Err(format!("{left:?}"))
    })
    .await
    .unwrap();
    server.stop().await;
}

async fn deleted_fleet_cluster_leaves_no_objects_and_revokes_its_agent(hub: TestHub) {
    let server = Server::start(&hub).await;
    let values = registration_token(&server, "edge", "1h").await;
    let agent = Agent::new(&server, &values, "edge-id", "random");
    let request = agent.request().await;
    let credential = agent.credential().await;
    let secret = credential_secret_name("edge-id", "random");
    assert_eq!(objects(&server, CREDENTIALS, &secret).await.len(), 3);

    let clusters: Api<FleetCluster> = api(&server, NAMESPACE);
    let params = DeleteParams::default();
    clusters.delete(&credential.cluster, &params).await.unwrap();
    credential.is_revoked(&server).await;
    let client = || server.hub.client();
    eventually("all objects are deleted", SOON, async || {
        let name = &*credential.namespace;
        let mut left = [
            objects(&server, CREDENTIALS, &secret).await,
            objects(&server, NAMESPACE, name).await,
            named(Api::<ClusterRole>::all(client()), name).await,
            named(Api::<ClusterRoleBinding>::all(client()), name).await,
            named(Api::<Namespace>::all(client()), name).await,
        ]
        .concat();
        left.extend(request_of(&server, &request).await.map(|_| request.clone()));
        let cluster = clusters.get_opt(&credential.cluster).await.unwrap();
        left.extend(cluster.map(|_| credential.cluster.clone()));
        if left.is_empty() {
            return Ok(());
        }
        Err(format!("{left:?}"))
    })
    .await
    .unwrap();

    // The agent can register again, because the new cluster has no agent.
    let again = Agent::new(&server, &values, "edge-id", "again");
    let credential = again.register().await;
    assert_eq!(credential.list(&server).await, 200);
    server.stop().await;
}
