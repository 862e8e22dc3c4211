//! Tests of the row service: the WebSocket of a page, with lists of scripted clusters.

mod history;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use drover_api::kinds::TokenPurpose;
use drover_rows::protocol::{
    ClientMessage, ListSpec, ServerMessage, SourceState, Update, ViewSpec,
};
use futures::{SinkExt as _, StreamExt as _};
use hyper::body::Frame;
use kube::ResourceExt as _;
use kube::client::Body as KubeBody;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::cluster::{Cluster, answer, fed};
use super::rig::{AuditCaller, LIMIT, Rig, token};

/// Maximum time from a revocation until the WebSocket ends. The documented limit is five seconds.
const PROMISE: Duration = Duration::from_secs(5);
const HERE: &str = "https://drover.example";

fn table(names: &[&str]) -> serde_json::Value {
    let rows = names.iter().map(|name| {
        json!({"cells": [name], "object": {"metadata": {"name": name, "namespace": "shop"}}})
    });
    json!({
        "kind": "Table", "metadata": {"resourceVersion": "1"},
        "columnDefinitions": [{"name": "Name", "type": "string"}],
        "rows": rows.collect::<Vec<_>>(),
    })
}

/// Creates a cluster with one pod, whose watch adds a second pod.
fn cluster(pod: &'static str, later: &'static str) -> Cluster {
    Cluster::new(async move |request| {
        if !request
            .uri()
            .query()
            .unwrap_or_default()
            .contains("watch=true")
        {
            return answer(200, table(&[pod]).to_string());
        }
        let (feed, body) = fed();
        let event = json!({"type": "ADDED", "object": table(&[later])});
        let line = Bytes::from(format!("{event}\n"));
        feed.send(Ok(Frame::data(line))).await.unwrap();
        tokio::spawn(async move { feed.closed().await });
        http::Response::new(body)
    })
}

struct Page(WebSocketStream<TcpStream>);

impl Page {
    /// Opens the WebSocket with a session cookie.
    async fn open(rig: &Rig, person: &AuditCaller, origin: &str) -> Result<Self, Error> {
        let mut request = "ws://drover.example/v1/rows".into_client_request()?;
        let headers = request.headers_mut();
        headers.insert("origin", origin.parse().unwrap());
        let cookie = format!("__Host-drover={}", person.bearer);
        headers.insert("cookie", cookie.parse().unwrap());
        let stream = TcpStream::connect(rig.address).await.unwrap();
        let (socket, _) = tokio_tungstenite::client_async(request, stream).await?;
        Ok(Self(socket))
    }

    async fn subscribe(&mut self, clusters: &[&str]) {
        self.subscribe_to("v1", "pods", clusters).await;
    }

    async fn subscribe_to(&mut self, api_version: &str, plural: &str, clusters: &[&str]) {
        let message = ClientMessage::Subscribe {
            id: 1,
            list: ListSpec {
                api_version: api_version.to_owned(),
                plural: plural.to_owned(),
                clusters: clusters.iter().map(|name| (*name).to_owned()).collect(),
                namespaces: Vec::new(),
            },
            view: ViewSpec {
                sort: "name".to_owned(),
                count: 10,
                ..ViewSpec::default()
            },
        };
        let text = serde_json::to_string(&message).unwrap();
        self.0.send(Message::text(text)).await.unwrap();
    }

    async fn receive(&mut self) -> ServerMessage {
        let next = tokio::time::timeout(LIMIT, self.0.next());
        match next.await.expect("a message arrives in time") {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text).unwrap(),
            other => panic!("unexpected message: {other:?}"),
        }
    }

    /// Receives updates until one has the expected number of rows.
    async fn rows(&mut self, count: usize) -> Update {
        let update = async {
            loop {
                if let ServerMessage::Update(update) = self.receive().await
                    && update.all == count
                {
                    return *update;
                }
            }
        };
        let update = tokio::time::timeout(LIMIT, update).await;
        update.expect("the rows arrive in time")
    }
}

/// Creates a browser session of a user.
fn signed_in(rig: &Rig, seed: u8, user: &str) -> AuditCaller {
    let mut session = token(seed, user, None);
    session.token.spec.purpose = TokenPurpose::Browser;
    rig.stores.tokens.apply(session.token.clone());
    session
}

#[tokio::test]
async fn rows_of_several_clusters_arrive_in_one_websocket_and_follow_watches() {
    let rig = Rig::new().await;
    let _attached = [
        cluster("web", "db").attach(&rig, "a", "r1").await,
        cluster("api", "cache").attach(&rig, "b", "r1").await,
    ];
    let ann = signed_in(&rig, 9, "ann");
    let mut page = Page::open(&rig, &ann, HERE).await.unwrap();
    page.subscribe(&["a", "b"]).await;
    let update = page.rows(4).await;
    let order = update.order.expect("new rows change the order");
    assert_eq!(order.len(), 4);
    let list = rig
        .audited(|it| it["verb"] == "list" && it["cluster"] == "a")
        .await;
    assert_eq!(list["user"], "ann");
}

#[tokio::test]
async fn websocket_of_another_origin_is_refused() {
    let rig = Rig::new().await;
    let ann = signed_in(&rig, 9, "ann");
    for origin in ["https://evil.example", "null"] {
        let refused = Page::open(&rig, &ann, origin).await.err();
        let Some(Error::Http(response)) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(response.status(), 403, "{origin}");
    }
}

#[tokio::test]
async fn user_without_a_role_receives_no_rows() {
    let rig = Rig::new().await;
    let cluster = cluster("web", "db");
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let bob = signed_in(&rig, 8, "bob");
    let mut page = Page::open(&rig, &bob, HERE).await.unwrap();
    page.subscribe(&["a"]).await;
    let update = page.rows(0).await;
    let sources = update.sources.expect("the first update has sources");
    assert!(
        matches!(&sources[0].state, SourceState::Failed(problem) if problem.code == 403),
        "{sources:?}"
    );
    assert!(cluster.seen.lock().is_empty(), "the server sent a request");
}

/// Creates a rig whose hub responds that an object does not exist.
async fn rig_without_objects() -> Rig {
    let status = json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "gone"});
    let body = status.to_string().into_bytes();
    Rig::with_hub(Arc::new(move |_| {
        let body = body.clone();
        Box::pin(async move {
            let mut response = http::Response::new(KubeBody::from(body));
            *response.status_mut() = http::StatusCode::NOT_FOUND;
            response
        })
    }))
    .await
}

#[tokio::test]
async fn revoked_token_ends_the_websocket_of_the_page() {
    let rig = rig_without_objects().await;
    let _attached = cluster("web", "db").attach(&rig, "a", "r1").await;
    let ann = signed_in(&rig, 9, "ann");
    let mut page = Page::open(&rig, &ann, HERE).await.unwrap();
    page.subscribe(&["a"]).await;
    page.rows(2).await;
    rig.stores.tokens.remove(&ann.token.name_any());
    let ended = async {
        loop {
            if let ServerMessage::Ended(problem) = page.receive().await {
                return problem;
            }
        }
    };
    let problem = tokio::time::timeout(PROMISE, ended).await;
    assert_eq!(problem.expect("the WebSocket ends in time").code, 401);
}

#[tokio::test]
async fn page_with_a_valid_token_keeps_its_rows_after_another_session_of_the_user_ends() {
    let rig = Rig::new().await;
    let _attached = cluster("web", "db").attach(&rig, "a", "r1").await;
    let (first, second) = (signed_in(&rig, 9, "ann"), signed_in(&rig, 10, "ann"));
    let mut one = Page::open(&rig, &first, HERE).await.unwrap();
    one.subscribe(&["a"]).await;
    one.rows(2).await;
    let mut two = Page::open(&rig, &second, HERE).await.unwrap();
    two.subscribe(&["a"]).await;
    two.rows(2).await;
    rig.stores.tokens.remove(&first.token.name_any());
    // The server watches again with the token of the second session.
    let uses_second = |it: &serde_json::Value| {
        it["verb"] == "watch" && it["token"] == second.token.name_any().as_str()
    };
    rig.audited(uses_second).await;
    let ended = tokio::time::timeout(Duration::from_secs(1), async {
        loop {
            if let ServerMessage::Ended(problem) = two.receive().await {
                return problem;
            }
        }
    });
    assert!(ended.await.is_err(), "the second page continues");
}
