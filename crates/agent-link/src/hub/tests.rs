//! Tests of the access to the hub with a fake server on real TLS connections.

mod fake;

use std::time::Duration;

use futures::{AsyncBufReadExt as _, TryStreamExt as _};
use http::{Request, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use super::*;
use fake::{FakeServer, Keys, access};

async fn read(client: &kube::Client, place: &HubPlace) -> kube::Result<ConfigMap> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &place.namespace);
    maps.get("settings").await
}

fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// Moves the clock. Timers run as if this time had elapsed.
async fn elapse(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Waits until the server has issued this number of tokens, and the agent uses the last token.
async fn wait_for_tokens(
    server: &FakeServer,
    client: &kube::Client,
    place: &HubPlace,
    count: usize,
) {
    let issued = async {
        while server.issued() < count || server.last_used() != Some(count) {
            tokio::time::sleep(Duration::from_millis(5)).await;
            read(client, place).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), issued)
        .await
        .unwrap();
}

#[tokio::test]
async fn concurrent_requests_share_one_token_and_one_http2_connection() {
    let server = FakeServer::start(true).await;
    let keys = Keys::bound_to(&server);
    let access = access(&server, &keys);
    let clients = (0..8).map(|_| access.client());
    let clients = futures::future::try_join_all(clients).await.unwrap();
    assert_eq!(server.issued(), 1);
    let place = &clients[0].1;
    assert_eq!(place.namespace, "cluster-fleet-default-shop");
    assert_eq!(access.places().borrow().as_ref(), Some(place));
    read(&clients[0].0, place).await.unwrap();
    let before = server.connections();
    let reads = clients.iter().map(|(client, place)| read(client, place));
    futures::future::try_join_all(reads).await.unwrap();
    assert_eq!(server.connections(), before);
}

#[tokio::test]
async fn watch_stays_open_with_http1_and_http2() {
    for http2 in [true, false] {
        let server = FakeServer::start(http2).await;
        let access = access(&server, &Keys::bound_to(&server));
        let (client, place) = access.client().await.unwrap();
        let request = Request::get("/watch").body(Vec::new()).unwrap();
        let events = client.request_stream(request).await.unwrap();
        let mut lines = events.lines();
        assert_eq!(lines.try_next().await.unwrap().as_deref(), Some("first"));
        // A second request does not wait for the watch.
        read(&client, &place).await.unwrap();
        server.send_event();
        let next = tokio::time::timeout(Duration::from_secs(20), lines.try_next());
        assert_eq!(next.await.unwrap().unwrap().as_deref(), Some("next"));
    }
}

#[tokio::test]
async fn token_is_renewed_in_the_background_after_80_percent_of_its_lifetime() {
    let server = FakeServer::start(true).await;
    let access = access(&server, &Keys::bound_to(&server));
    let (client, place) = access.client().await.unwrap();
    elapse(Duration::from_mins(44)).await;
    read(&client, &place).await.unwrap();
    assert_eq!(server.issued(), 1);
    elapse(Duration::from_mins(8)).await;
    // This request uses the current token, and starts the renewal.
    read(&client, &place).await.unwrap();
    wait_for_tokens(&server, &client, &place, 2).await;
    // After the expiry, a request waits for a new token.
    elapse(Duration::from_hours(2)).await;
    read(&client, &place).await.unwrap();
    assert_eq!(server.last_used(), Some(3));
}

#[tokio::test]
async fn rejected_token_is_replaced_once() {
    let server = FakeServer::start(true).await;
    let access = access(&server, &Keys::bound_to(&server));
    let (client, place) = access.client().await.unwrap();
    read(&client, &place).await.unwrap();
    server.revoke_tokens();
    elapse(Duration::from_secs(11)).await;
    read(&client, &place).await.unwrap();
    assert_eq!(server.issued(), 2);
    // The hub rejects new tokens also, for example because the account was deleted.
    server.reject_all(true);
    for _ in 0..5 {
        let error = read(&client, &place).await.unwrap_err();
        assert_eq!(code(&error), Some(401), "{error}");
    }
    assert_eq!(server.issued(), 2);
}

#[tokio::test]
async fn failed_attempts_back_off_and_do_not_disclose_secrets() {
    let server = FakeServer::start(true).await;
    let access = access(&server, &Keys::bound_to(&server));
    server.refuse_tokens(Some(StatusCode::SERVICE_UNAVAILABLE));
    let error = access.client().await.err().unwrap();
    assert_eq!(error.reason(), "ServerUnavailable");
    assert!(error.to_string().contains("next attempt in"), "{error}");
    let attempts = server.attempts();
    for _ in 0..5 {
        access.sessions.session().await.unwrap_err();
    }
    assert_eq!(server.attempts(), attempts);
    server.refuse_tokens(None);
    // The call waits until the next attempt is due.
    let (client, place) = access.client().await.unwrap();
    read(&client, &place).await.unwrap();
    assert_eq!(server.attempts(), attempts + 1);
    let shown = format!("{access:?} {:?}", access.sessions.session().await);
    assert!(!shown.contains("hub-token-"), "{shown}");
}

#[tokio::test]
async fn renewal_that_fails_does_not_end_the_use_of_a_valid_token() {
    let server = FakeServer::start(true).await;
    let access = access(&server, &Keys::bound_to(&server));
    let (client, place) = access.client().await.unwrap();
    server.refuse_tokens(Some(StatusCode::SERVICE_UNAVAILABLE));
    let attempts = server.attempts();
    elapse(Duration::from_mins(52)).await;
    for _ in 0..20 {
        read(&client, &place).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(server.attempts(), attempts + 1);
}

#[tokio::test]
async fn agent_uses_the_key_that_the_server_has_bound() {
    let server = FakeServer::start(true).await;
    let keys = Keys::bound_to(&server);
    let access = access(&server, &keys);
    let (client, place) = access.client().await.unwrap();
    // The server binds the next key, and the agent has not noticed this yet.
    let next = keys.add_next();
    server.bind(&next);
    elapse(Duration::from_hours(2)).await;
    read(&client, &place).await.unwrap();
    assert_eq!(server.issued(), 2);
    assert_eq!(keys.current().public(), next.public());
}

#[tokio::test]
async fn token_is_sent_only_to_the_server_that_issued_it() {
    let (first, second) = (FakeServer::start(true).await, FakeServer::start(true).await);
    let keys = Keys::bound_to(&first);
    second.bind(&keys.current());
    let access = access(&first, &keys);
    let (client, place) = access.client().await.unwrap();
    read(&client, &place).await.unwrap();
    keys.set_binding(&second);
    elapse(Duration::from_secs(61)).await;
    read(&client, &place).await.unwrap();
    wait_for_tokens(&second, &client, &place, 1).await;
    assert_eq!(second.rejected(), 0);
    assert_eq!(first.issued(), 1);
}

#[tokio::test]
async fn access_recovers_after_the_server_has_moved() {
    let (first, second) = (FakeServer::start(true).await, FakeServer::start(true).await);
    let keys = Keys::bound_to(&first);
    second.bind(&keys.current());
    let access = access(&first, &keys);
    let (client, place) = access.client().await.unwrap();
    keys.set_binding(&second);
    first.stop().await;
    let moved = async {
        while read(&client, &place).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), moved)
        .await
        .unwrap();
    assert_eq!(second.rejected(), 0);
}
