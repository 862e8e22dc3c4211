//! Tests of exec, attach and port-forward.
//!
//! The HTTP/1.1 upgrade of a user passes both ends of a tunnel to a handwritten API server. The
//! tests therefore compare all bytes at both ends.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use drover_testkit::tunnel::TunnelPair;
use drover_tunnel::tunnel::{Traffic, Tunnel};
use drover_tunnel::upgrade::{self, Forwarded, SpliceEnd};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::{AnyBody, agent, full};

/// An upgrade request in the format of kubectl. A POST request without a body has a Content-Length
/// header.
const EXEC: &str = "POST /api/v1/namespaces/n/pods/p/exec?command=sh HTTP/1.1\r\n\
    Host: cluster\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\
    Content-Length: 0\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
    Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";

/// A user's connection to a server, a tunnel to an agent, and the agent's connections to an API
/// server.
struct Route {
    /// The user's end of the user's connection to the server.
    user: DuplexStream,
    /// The API server's ends of the agent's connections, in the order in which the agent opened
    /// them.
    upstreams: mpsc::UnboundedReceiver<DuplexStream>,
    /// Result of each splice on the server.
    ends: mpsc::UnboundedReceiver<(SpliceEnd, Arc<Traffic>)>,
    /// Token whose cancellation ends the tasks on the server.
    revoke: CancellationToken,
    pair: TunnelPair,
}

impl Route {
    async fn open() -> Self {
        let (dialed, upstreams) = mpsc::unbounded_channel();
        let (ended, ends) = mpsc::unbounded_channel();
        let pair = TunnelPair::open(agent(move |request| relay(request, dialed.clone()))).await;
        let (user, server) = duplex(64 * 1024);
        let revoke = CancellationToken::new();
        let (tunnel, token) = (pair.tunnel.clone(), revoke.clone());
        let service = service_fn(move |request| {
            let answer = forward(tunnel.clone(), request, token.clone(), ended.clone());
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .half_close(true)
            .serve_connection(TokioIo::new(server), service)
            .with_upgrades();
        tokio::spawn(connection);
        Self {
            user,
            upstreams,
            ends,
            revoke,
            pair,
        }
    }

    /// Upgrades the user's connection. Returns the API server's end of the agent's connection.
    async fn switch(&mut self) -> DuplexStream {
        self.user.write_all(EXEC.as_bytes()).await.unwrap();
        let mut upstream = self.upstreams.recv().await.unwrap();
        read_head(&mut upstream).await;
        upstream.write_all(SWITCH.as_bytes()).await.unwrap();
        assert!(read_head(&mut self.user).await.starts_with("HTTP/1.1 101 "));
        upstream
    }
}

async fn relay(
    request: Request<Incoming>,
    dialed: mpsc::UnboundedSender<DuplexStream>,
) -> Response<AnyBody> {
    assert!(upgrade::is_upgrade(&request));
    let (mut request, tunneled) = upgrade::upstream_request(request).unwrap();
    request
        .headers_mut()
        .insert("host", "kubernetes.default.svc".parse().unwrap());
    let (near, far) = duplex(64 * 1024);
    dialed.send(far).unwrap();
    let answer = upgrade::relay(request, near, tunneled, CancellationToken::new())
        .await
        .unwrap();
    answer.map(|body| {
        body.map_err(|_| unreachable!("the upstream's body is whole"))
            .boxed_unsync()
    })
}

type UserBody = UnsyncBoxBody<Bytes, std::io::Error>;

async fn forward(
    tunnel: Tunnel,
    mut request: Request<Incoming>,
    revoke: CancellationToken,
    ended: mpsc::UnboundedSender<(SpliceEnd, Arc<Traffic>)>,
) -> Response<UserBody> {
    let user = hyper::upgrade::on(&mut request);
    match upgrade::forward(&tunnel, request.map(|_| ()), user)
        .await
        .unwrap()
    {
        Forwarded::Refused(response) => {
            response.map(|body| body.map_err(std::io::Error::from).boxed_unsync())
        }
        Forwarded::Switched(response, splice) => {
            let traffic = splice.traffic();
            tokio::spawn(async move { ended.send((splice.run(revoke).await, traffic)) });
            response.map(|()| Empty::new().map_err(|never| match never {}).boxed_unsync())
        }
    }
}

/// Reads the head of an HTTP message, including the empty line.
async fn read_head(stream: &mut DuplexStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head)
        .unwrap()
        .to_lowercase()
        .replacen("http/1.1", "HTTP/1.1", 1)
}

#[tokio::test]
async fn upgrade_reaches_the_upstream_unchanged_and_returns_101() {
    let mut route = Route::open().await;
    route.user.write_all(EXEC.as_bytes()).await.unwrap();
    let mut upstream = route.upstreams.recv().await.unwrap();
    let head = read_head(&mut upstream).await;
    assert!(
        head.starts_with("post /api/v1/namespaces/n/pods/p/exec?command=sh "),
        "{head}"
    );
    assert!(head.contains("upgrade: spdy/3.1\r\n"), "{head}");
    assert!(head.contains("connection: upgrade\r\n"), "{head}");
    assert!(
        head.contains("x-stream-protocol-version: v4.channel.k8s.io\r\n"),
        "{head}"
    );
    assert!(!head.contains("drover-"), "{head}");
    // The first bytes arrive in the same packet as the 101 and must not be lost.
    upstream
        .write_all(format!("{SWITCH}early").as_bytes())
        .await
        .unwrap();
    let head = read_head(&mut route.user).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.contains("upgrade: spdy/3.1\r\n"), "{head}");
    assert!(
        head.contains("x-stream-protocol-version: v4.channel.k8s.io\r\n"),
        "{head}"
    );
    assert!(!head.contains("drover-"), "{head}");
    let mut early = [0; 5];
    route.user.read_exact(&mut early).await.unwrap();
    assert_eq!(&early, b"early");
    route
        .user
        .write_all(b"\x00\xff\r\nnot parsed")
        .await
        .unwrap();
    let mut got = [0; 14];
    upstream.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"\x00\xff\r\nnot parsed");
}

#[tokio::test]
async fn each_direction_of_an_upgrade_ends_independently() {
    let mut route = Route::open().await;
    let mut upstream = route.switch().await;
    route.user.write_all(b"question").await.unwrap();
    route.user.shutdown().await.unwrap();
    let mut question = String::new();
    upstream.read_to_string(&mut question).await.unwrap();
    assert_eq!(question, "question");
    upstream.write_all(b"answer").await.unwrap();
    upstream.shutdown().await.unwrap();
    let mut answer = String::new();
    route.user.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "answer");
    let (end, traffic) = route.ends.recv().await.unwrap();
    assert!(matches!(end, SpliceEnd::Done), "{end:?}");
    assert_eq!((traffic.bytes_in(), traffic.bytes_out()), (8, 6));
    assert_eq!(route.pair.tunnel.stats().open_streams, 0);
}

#[tokio::test]
async fn upstream_that_closes_its_write_half_still_receives_user_data() {
    let mut route = Route::open().await;
    let mut upstream = route.switch().await;
    upstream.shutdown().await.unwrap();
    assert_eq!(route.user.read(&mut [0; 1]).await.unwrap(), 0);
    route.user.write_all(b"last words").await.unwrap();
    route.user.shutdown().await.unwrap();
    let mut words = String::new();
    upstream.read_to_string(&mut words).await.unwrap();
    assert_eq!(words, "last words");
}

/// Returns the bytes that the user receives if the API server responds with `answer`.
async fn refused_with(answer: &str) -> String {
    let mut route = Route::open().await;
    route.user.write_all(EXEC.as_bytes()).await.unwrap();
    let mut upstream = route.upstreams.recv().await.unwrap();
    read_head(&mut upstream).await;
    upstream.write_all(answer.as_bytes()).await.unwrap();
    let mut head = read_head(&mut route.user).await;
    let mut body = [0; 12];
    route.user.read_exact(&mut body).await.unwrap();
    head.push_str(&String::from_utf8_lossy(&body));
    head
}

#[tokio::test]
async fn rejected_upgrade_is_relayed_unchanged() {
    let answer = "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n\
        Content-Length: 12\r\n\r\n{\"code\":403}";
    let seen = refused_with(answer).await;
    assert!(seen.starts_with("HTTP/1.1 403 forbidden\r\n"), "{seen}");
    assert!(
        seen.contains("content-type: application/json\r\n"),
        "{seen}"
    );
    assert!(seen.ends_with("\r\n\r\n{\"code\":403}"), "{seen}");
}

#[tokio::test]
async fn response_200_to_an_upgrade_does_not_open_a_stream() {
    let answer = "HTTP/1.1 200 OK\r\nDrover-Upgrade-Switched: 1\r\nDrover-Upgrade-Status: 101\r\n\
        Content-Length: 12\r\n\r\n{\"code\":200}GET /next HTTP/1.1\r\n\r\n";
    let seen = refused_with(answer).await;
    assert!(seen.starts_with("HTTP/1.1 200 ok\r\n"), "{seen}");
    assert!(seen.ends_with("\r\n\r\n{\"code\":200}"), "{seen}");
    assert!(!seen.contains("drover-"), "{seen}");
}

#[tokio::test]
async fn cancelled_splice_closes_both_streams() {
    let mut route = Route::open().await;
    let mut upstream = route.switch().await;
    route.revoke.cancel();
    assert_eq!(route.user.read(&mut [0; 1]).await.unwrap(), 0);
    let (end, _) = route.ends.recv().await.unwrap();
    assert!(matches!(end, SpliceEnd::Cancelled), "{end:?}");
    // The agent drops the connection instead of half-closing it, so writing eventually fails.
    assert_eq!(upstream.read(&mut [0; 1]).await.unwrap(), 0);
    let broken = async { while upstream.write_all(b"more").await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(10), broken)
        .await
        .unwrap();
}

#[tokio::test]
async fn request_without_upgrade_header_is_not_forwarded_as_upgrade() {
    let pair = TunnelPair::open(agent(|_| async { Response::new(full("")) })).await;
    let mut request = Request::get("/exec")
        .header("upgrade", "websocket")
        .body(())
        .unwrap();
    let user = hyper::upgrade::on(&mut request);
    let refused = upgrade::forward(&pair.tunnel, request, user)
        .await
        .unwrap_err();
    assert!(!refused.retry_is_safe());
}
