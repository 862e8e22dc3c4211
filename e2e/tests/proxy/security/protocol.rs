//! Attack groups 11 and 21: malformed requests, endless requests, and smuggled second requests.

use std::time::{Duration, Instant};

use drover_e2e::World;
use tokio::io::AsyncWriteExt as _;

use super::assert_not_received_by_cluster;
use crate::wire::{self, Answer, Request};

/// Attack group 11: after a rejected upgrade, the connection carries no request to the API server.
pub(crate) async fn bytes_after_a_rejected_upgrade_are_not_forwarded_as_a_second_request(
    world: &mut World,
) {
    let (host, token) = (world.server.address(), wire::token(world));
    for (number, upgrade) in ["SPDY/3.1", "websocket", "something"].iter().enumerate() {
        let mark = format!("second-{number}");
        let bytes = format!(
            "POST /k8s/clusters/east/api/v1/namespaces/default/pods/none/exec?command=id HTTP/1.1\r\n\
             Host: {host}\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\n\
             Upgrade: {upgrade}\r\nContent-Length: 0\r\n\r\n\
             GET /api/v1/secrets?fieldManager={mark} HTTP/1.1\r\nHost: {host}\r\n\r\n"
        );
        let text = wire::exchange(world, bytes.as_bytes(), Duration::from_secs(3)).await;
        let first = Answer::parse(&text);
        assert!((400..500).contains(&first.code), "{upgrade}: {text}");
        assert!(!text.contains("101 Switching"), "{upgrade}: {text}");
        assert!(!text.contains("SecretList"), "{upgrade}: {text}");
        assert_not_received_by_cluster(world, &mark);
    }
}

/// Attack group 21: malformed and endless requests.
pub(crate) async fn malformed_and_endless_requests_are_rejected(world: &mut World) {
    two_content_lengths_are_rejected(world).await;
    request_heads_are_limited(world).await;
    bodies_of_drover_routes_are_limited(world).await;
    slow_heads_do_not_delay_other_requests(world).await;
    let answer = Request::get("/k8s/clusters/east/api")
        .authorized(world)
        .send(world)
        .await;
    assert_eq!(answer.code, 200, "{answer:?}");
}

async fn two_content_lengths_are_rejected(world: &World) {
    let (host, token) = (world.server.address(), wire::token(world));
    for (number, lengths) in [
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 50",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: xchunked",
        "Content-Length: -1",
        "Content-Length: 0x5",
    ]
    .iter()
    .enumerate()
    {
        let mark = format!("smuggled-{number}");
        let bytes = format!(
            "POST /k8s/clusters/east/api/v1/namespaces/default/configmaps HTTP/1.1\r\n\
             Host: {host}\r\nAuthorization: Bearer {token}\r\n{lengths}\r\n\r\n\
             0\r\n\r\nGET /k8s/clusters/east/api/v1/secrets?fieldManager={mark} HTTP/1.1\r\n\
             Host: {host}\r\n\r\n"
        );
        let text = wire::exchange(world, bytes.as_bytes(), Duration::from_secs(2)).await;
        let second = text.matches("HTTP/1.1 200").count();
        assert_eq!(second, 0, "{lengths}: {text}");
        assert_not_received_by_cluster(world, &mark);
    }
}

async fn request_heads_are_limited(world: &World) {
    let long = "x".repeat(1024 * 1024);
    let request = Request::get("/k8s/clusters/east/api").line(&format!("X-Long: {long}"));
    let answer = request.authorized(world).send(world).await;
    assert!([0, 400, 431].contains(&answer.code), "{}", answer.code);
    let target = format!("/k8s/clusters/east/{}", "y".repeat(1024 * 1024));
    let answer = Request::get(&target).authorized(world).send(world).await;
    assert!([0, 400, 414, 431].contains(&answer.code), "{}", answer.code);
}

async fn bodies_of_drover_routes_are_limited(world: &World) {
    let host = world.server.address();
    let head = format!(
        "POST /v1/login HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Connection: close\r\n"
    );
    let begin = Instant::now();
    // The server rejects a body of 1 GiB by its Content-Length.
    let bytes = format!("{head}Content-Length: 1073741824\r\n\r\n{{");
    let text = wire::exchange(world, bytes.as_bytes(), Duration::from_secs(40)).await;
    assert_eq!(Answer::parse(&text).code, 413, "{text}");
    let deep = "[".repeat(100_000);
    let bytes = format!("{head}Content-Length: {}\r\n\r\n{deep}", deep.len());
    let text = wire::exchange(world, bytes.as_bytes(), Duration::from_secs(20)).await;
    assert!((400..500).contains(&Answer::parse(&text).code), "{text}");
    let bytes =
        format!("{head}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x08\x08\x00");
    let text = wire::exchange(world, bytes.as_bytes(), Duration::from_secs(20)).await;
    assert!((400..500).contains(&Answer::parse(&text).code), "{text}");
    assert!(
        begin.elapsed() < Duration::from_mins(1),
        "{:?}",
        begin.elapsed()
    );
}

/// Opens many connections that never complete their request heads (Slowloris).
async fn slow_heads_do_not_delay_other_requests(world: &World) {
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = wire::connect(world).await;
        stream
            .write_all(b"GET /v1/version HTTP/1.1\r\nX-Slow: ")
            .await
            .unwrap();
        slow.push(stream);
    }
    let begin = Instant::now();
    let answer = Request::get("/k8s/clusters/east/api")
        .authorized(world)
        .send(world)
        .await;
    assert_eq!(answer.code, 200, "{answer:?}");
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
}
