//! Tests of connection floods from many networks.

use http_body_util::Empty;
use hyper::client::conn::http2 as client_http2;

use super::*;

const CONNECT: &str = "/v1/connect";

/// Opens a connection from each address. Returns the connections that receive a response.
async fn flood(server: &Listening, from: impl Iterator<Item = [u8; 4]>) -> Vec<impl Sized> {
    let mut owned = Vec::new();
    for address in from {
        owned.extend(is_served_from(server, address, CONNECT).await);
    }
    owned
}

#[tokio::test]
async fn connections_from_one_ipv4_slash_16_prefix_leave_slots_for_other_networks() {
    let limits = Limits {
        connections: 12,
        per_network: 2,
        agents: 0,
        ..Limits::SERVER
    };
    let server = Listening::start(limits).await;
    let owned = flood(&server, (0..20).map(|n| [127, 1, n, 1])).await;
    assert_eq!(owned.len(), 6, "half of the slots are used");
    let owned = flood(&server, (0..5).map(|n| [127, 2, 0, n + 1])).await;
    assert_eq!(owned.len(), 4, "a third of the slots is used by a /24");
}

#[tokio::test]
async fn agents_can_connect_while_all_general_connection_slots_are_in_use() {
    let limits = Limits {
        connections: 4,
        per_network: 1,
        agents: 4,
        agents_per_network: 1,
        ..Limits::SERVER
    };
    let server = Listening::start(limits).await;
    let owned = flood(&server, (0..4).map(|n| [127, n + 1, 0, 1])).await;
    assert_eq!(owned.len(), 4);
    let (status, _user) = answered_from(&server, [127, 9, 0, 1], "/").await.unwrap();
    assert_eq!(status, "503", "the remaining slots are for agents");
    let (status, _agent) = answered_from(&server, [127, 10, 0, 1], CONNECT)
        .await
        .unwrap();
    assert_eq!(status, "200");
    assert!(
        answered_from(&server, [127, 11, 0, 1], CONNECT)
            .await
            .is_none(),
        "the connection is closed without waiting"
    );
}

#[tokio::test]
async fn known_agents_can_reconnect_while_all_other_connection_slots_are_in_use() {
    let limits = Limits {
        connections: 4,
        per_network: 1,
        agents: 4,
        agents_per_network: 1,
        ..Limits::SERVER
    };
    let server = Listening::start(limits).await;
    let agent = [127, 100, 0, 1];
    drop(is_served_from(&server, agent, "/proved").await);
    let owned = flood(&server, (0..20).map(|n| [127, n + 1, 0, 1])).await;
    assert_eq!(
        owned.len(),
        6,
        "the flood holds all general slots and half of the agent slots"
    );
    assert!(is_served_from(&server, agent, CONNECT).await.is_some());
}

#[tokio::test]
async fn connection_slot_for_agents_is_released_if_the_agent_does_not_prove_its_key() {
    let limits = Limits {
        agents: 2,
        agents_per_network: 1,
        connections: 0,
        prove: Duration::from_millis(300),
        ..Limits::SERVER
    };
    let server = Listening::start(limits).await;
    let (_, mut silent) = answered_from(&server, [127, 1, 0, 1], CONNECT)
        .await
        .unwrap();
    read_all(&mut silent).await;
    let again = async {
        while is_served_from(&server, [127, 2, 0, 1], CONNECT)
            .await
            .is_none()
        {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, again)
        .await
        .expect("the listener releases a slot");
}

#[tokio::test]
async fn idle_http2_connection_is_closed_unless_authenticated() {
    let limits = Limits {
        idle_timeouts: QUICK.idle_timeouts,
        ..Limits::SERVER
    };
    let server = Listening::start(limits).await;
    let open = async |path: &str| {
        let stream = TokioIo::new(server.connect(b"h2").await);
        let (mut sender, connection) = client_http2::handshake(TokioExecutor::new(), stream)
            .await
            .unwrap();
        let connection = tokio::spawn(connection);
        let request = http::Request::get(format!("https://localhost{path}"));
        let request = request.body(Empty::<bytes::Bytes>::new()).unwrap();
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        (sender, connection)
    };
    let (_sender, anonymous) = open("/").await;
    let (sender, _connection) = open("/signed-in").await;
    let closed = timeout(SOON, anonymous).await;
    assert!(closed.expect("the connection is closed").is_ok());
    sleep(QUICK.idle_timeouts.idle * 2).await;
    assert!(!sender.is_closed());
}
