//! Tests of SPDY and WebSocket upgrades, and of rejected upgrades (attack group 11).

use hyper::ext::Protocol;
use hyper::upgrade::on;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::net::TcpStream;

use super::client::{by, empty, open_http2, raw};
use super::cluster::Cluster;
use super::rig::{LIMIT, Rig};

const EXEC: &str = "/k8s/clusters/a/api/v1/namespaces/n/pods/p/exec?command=sh&stdin=true";

/// Reads the head of an HTTP/1.1 message.
pub(super) async fn head_of(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let byte = tokio::time::timeout(LIMIT, stream.read_u8())
            .await
            .expect("the head arrives before the timeout");
        head.push(byte.expect("the head is complete"));
    }
    String::from_utf8(head).unwrap()
}

/// Upgrades a connection, echoes all bytes, and closes the connection after the client closes it.
pub(super) async fn echo_after_switch(mut stream: DuplexStream) {
    head_of(&mut stream).await;
    let agreed = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\
                  X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";
    stream.write_all(agreed.as_bytes()).await.unwrap();
    let (mut read, mut write) = tokio::io::split(stream);
    let _ = tokio::io::copy(&mut read, &mut write).await;
    let _ = write.write_all(b"bye").await;
    let _ = write.shutdown().await;
}

/// Requests an upgrade and returns the head of the response.
pub(super) async fn ask(stream: &mut TcpStream, rig: &Rig, path: &str) -> String {
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\n\
         Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n",
        rig.ann.bearer
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    head_of(stream).await
}

#[tokio::test]
async fn spdy_upgrade_forwards_bytes_and_half_close_in_both_directions() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo().on_switch(echo_after_switch);
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    let head = ask(&mut stream, &rig, EXEC).await.to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 101"), "{head}");
    assert!(head.contains("upgrade: spdy/3.1\r\n"), "{head}");
    assert!(
        head.contains("x-stream-protocol-version: v4.channel.k8s.io\r\n"),
        "{head}"
    );
    assert!(head.contains("drover-request-id: "), "{head}");
    stream.write_all(&[0, 255, 13, 10]).await.unwrap();
    let mut echo = [1; 4];
    tokio::time::timeout(LIMIT, stream.read_exact(&mut echo))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(echo, [0, 255, 13, 10]);
    // The client has sent all bytes and closed its half. The other half still sends bytes.
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    tokio::time::timeout(LIMIT, stream.read_to_end(&mut rest))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(rest, b"bye");
    let records = [
        rig.audited(|r| r["stage"] == "begin").await,
        rig.audited(|r| r["stage"] == "end").await,
    ];
    assert_eq!(records[0]["id"], records[1]["id"]);
    assert_eq!(records[1]["outcome"], "complete");
    assert_eq!(
        (&records[1]["code"], &records[1]["verb"]),
        (&101.into(), &"exec".into())
    );
    assert_eq!(
        (&records[1]["bytesIn"], &records[1]["bytesOut"]),
        (&4.into(), &7.into())
    );
    assert_eq!(records[1]["method"], "POST");
}

#[tokio::test]
async fn audit_record_of_exec_on_lost_tunnel_has_outcome_upstream_gone() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo().on_switch(echo_after_switch);
    let attached = cluster.attach(&rig, "a", "r1").await;
    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    ask(&mut stream, &rig, EXEC).await;
    stream.write_all(b"x").await.unwrap();
    stream.read_u8().await.unwrap();
    attached.pair.driver.abort();
    let mut rest = Vec::new();
    // The client gets an error or the end of the stream.
    let _ = tokio::time::timeout(LIMIT, stream.read_to_end(&mut rest))
        .await
        .expect("the client's stream ends before the timeout");
    let end = rig.audited(|r| r["stage"] == "end").await;
    assert_eq!(end["outcome"], "upstreamGone", "{end}");
}

#[tokio::test]
async fn upgrade_request_is_forwarded_with_its_user_and_method() {
    let rig = Rig::new().await;
    let (reported, mut heads) = tokio::sync::mpsc::channel(1);
    let cluster = Cluster::echo().on_switch(move |mut stream| {
        let reported = reported.clone();
        async move { reported.send(head_of(&mut stream).await).await.unwrap() }
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    let request = format!(
        "POST {EXEC} HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer {}\r\nConnection: Upgrade, Impersonate-User\r\n\
         Upgrade: SPDY/3.1\r\nX-Remote-User: root\r\n\r\n",
        rig.ann.bearer
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = heads.recv().await.unwrap().to_ascii_lowercase();
    assert!(
        head.starts_with("post /api/v1/namespaces/n/pods/p/exec?command=sh&stdin=true "),
        "{head}"
    );
    assert!(
        head.contains("impersonate-user: drover:user:uid-ann\r\n"),
        "{head}"
    );
    assert!(head.contains("upgrade: spdy/3.1\r\n"), "{head}");
    assert!(
        !head.contains("x-remote-user") && !head.contains("authorization"),
        "{head}"
    );
}

#[tokio::test]
async fn websocket_over_http2_is_forwarded() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo().on_switch(echo_after_switch);
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let mut request = by(&rig.ann, "CONNECT", &format!("http://drover.example{EXEC}"))
        .body(empty())
        .unwrap();
    request
        .extensions_mut()
        .insert(Protocol::from_static("websocket"));
    let (_sender, got) = open_http2(rig.address, request).await;
    assert_eq!(got.status(), 200);
    let mut stream = TokioIo::new(on(got).await.unwrap());
    stream.write_all(b"hello").await.unwrap();
    let mut echo = [0; 5];
    tokio::time::timeout(LIMIT, stream.read_exact(&mut echo))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&echo, b"hello");
}

// Attack group 11: rejected upgrades.
#[tokio::test]
async fn rejected_upgrade_is_relayed_with_its_body_and_without_a_second_request() {
    let rig = Rig::new().await;
    for (status, body) in [
        ("200 OK", "{\"kind\":\"Status\"}"),
        ("302 Found\r\nLocation: /api/v1/elsewhere", "go"),
        (
            "400 Bad Request",
            "unable to upgrade: missing upgrade headers",
        ),
        ("403 Forbidden", "{\"kind\":\"Status\",\"code\":403}"),
        ("404 Not Found", "pods \"p\" not found"),
    ] {
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let cluster = Cluster::echo().on_switch(move |mut stream| {
            let answer = answer.clone();
            async move {
                head_of(&mut stream).await;
                stream.write_all(answer.as_bytes()).await.unwrap();
                let mut more = Vec::new();
                let _ = stream.read_to_end(&mut more).await;
                assert!(
                    more.is_empty(),
                    "a second request reached the same connection"
                );
            }
        });
        let attached = cluster.attach(&rig, "a", "r1").await;
        // A second request without a credential follows immediately on the same socket.
        let request = format!(
            "GET {EXEC} HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\n\r\nGET /k8s/clusters/a/secrets HTTP/1.1\r\nHost: d\r\n\r\n",
            rig.ann.bearer
        );
        let answer = raw(rig.address, request.as_bytes()).await;
        let code = status.split(' ').next().unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {code}")),
            "{status}: {answer}"
        );
        assert!(answer.contains(body), "{status}: {answer}");
        let seen: Vec<_> = cluster
            .seen
            .lock()
            .drain(..)
            .map(|h| h.uri.path().to_owned())
            .collect();
        assert_eq!(seen, ["/api/v1/namespaces/n/pods/p/exec"], "{status}");
        drop(attached);
    }
}

#[tokio::test]
async fn unauthorized_upgrade_is_rejected_before_the_protocol_switch() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo().on_switch(echo_after_switch);
    let _attached = cluster.attach(&rig, "a", "r1").await;
    for bearer in ["drover_x_y", &rig.bob.bearer] {
        let request = format!(
            "GET {EXEC} HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer {bearer}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\n\r\n"
        );
        let answer = raw(rig.address, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 40"), "{answer}");
    }
    assert!(cluster.seen.lock().is_empty());
}
