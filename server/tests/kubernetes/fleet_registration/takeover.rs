//! Tests of requests with the client ID of an existing cluster.

use std::time::Duration;

use drover_api::fleet::FleetCluster;
use drover_e2e::eventually;
use kube::Api;

use super::{Agent, NAMESPACE, SOON, api, approve, refusal, registration_token, request_of};
use crate::place::{TestHub, on_both_hubs};
use crate::registration::pending_cluster;
use crate::server::Server;

on_both_hubs!(
    second_agent_of_a_cluster_needs_an_approval_that_revokes_the_first_agent,
    cluster_of_drover_is_never_granted_to_fleets_agent,
);

async fn second_agent_of_a_cluster_needs_an_approval_that_revokes_the_first_agent(hub: TestHub) {
    let server = Server::start(&hub).await;
    let values = registration_token(&server, "edge", "1h").await;
    let first = Agent::new(&server, &values, "edge-id", "first");
    let first_request = first.request().await;
    let credential = first.credential().await;

    let second = Agent::new(&server, &values, "edge-id", "second");
    let request = second.request().await;
    let text = refusal(&server, &request, "ApprovalRequired").await;
    let advice = format!("management.drover.dev/approve-registration={request}");
    assert!(text.contains(&advice), "{text}");
    approve(&server, &credential.cluster, "request-other").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(second.read().await.code.as_u16(), 403);
    assert_eq!(credential.list(&server).await, 200);

    approve(&server, &credential.cluster, &request).await;
    let new = second.credential().await;
    assert_eq!(new.cluster, credential.cluster);
    assert_eq!(new.namespace, credential.namespace);
    credential.is_revoked(&server).await;
    eventually(
        "the first request is deleted",
        SOON,
        async || match request_of(&server, &first_request).await {
            None => Ok(()),
            Some(_) => Err("the request exists"),
        },
    )
    .await
    .unwrap();
    assert_eq!(new.list(&server).await, 200);

    // An approval is valid once.
    let third = Agent::new(&server, &values, "edge-id", "third");
    let request = third.request().await;
    refusal(&server, &request, "ApprovalRequired").await;
    server.stop().await;
}

async fn cluster_of_drover_is_never_granted_to_fleets_agent(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let shop = pending_cluster(&server, &admin, "shop").await;
    let clusters: Api<FleetCluster> = api(&server, NAMESPACE);
    let exists = eventually("the Fleet Cluster exists", SOON, async || {
        clusters.get("shop").await
    });
    exists.await.unwrap();
    let values = registration_token(&server, "edge", "1h").await;
    let agent = Agent::new(&server, &values, &shop.uid, "random");
    let request = agent.request().await;
    refusal(&server, &request, "ManagedCluster").await;
    approve(&server, "shop", &request).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(agent.read().await.code.as_u16(), 403);
    let status = request_of(&server, &request).await.unwrap().status;
    assert!(status.is_none_or(|status| !status.granted));
    server.stop().await;
}
