//! Tests of the host names of port forwards, with a pod in memory.

use std::convert::Infallible;

use bytes::Bytes;
use drover_agent_gateway::tunnels::Tunnels;
use drover_audit::{Audit, Destination};
use drover_hub::{Hub, Keys, Stores};
use drover_identity::{Authenticator, LastUse};
use drover_proxy::in_process::Upstream;
use drover_proxy::{AbortObserver, OpenStreams, Proxy};
use drover_telemetry::Metrics;
use futures::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper::service::service_fn;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::*;
use crate::connection;
use crate::forward::tests::forward;
use crate::secret::Secret;

/// The state with one port forward.
struct Rig {
    forwards: PortForwards,
    forward: Arc<Forward>,
    ticket: Secret,
    _folder: tempfile::TempDir,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let unreachable = tower::service_fn(async |_: http::Request<kube::client::Body>| {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no hub"))
        });
        let client = kube::Client::new(unreachable, "default");
        let hub = Hub::new(client, Stores::synced_empty(), Keys::generate().unwrap());
        let metrics = Metrics::new();
        let audit = Audit::open(&Destination::named(folder.path().join("audit")), &metrics);
        let authenticator = Authenticator::new(hub.clone(), LastUse::default());
        let proxy = Proxy::new(
            hub,
            authenticator.clone(),
            Tunnels::new(&metrics),
            OpenStreams::new(),
            audit.unwrap(),
            metrics,
        );
        let domain = "forwards.example".parse().unwrap();
        let forwards = PortForwards::new(Arc::new(proxy), authenticator, Some(domain));
        let (forward, ticket) = forward("ann");
        forwards.registry.add(&forward).unwrap();
        Self {
            forwards,
            forward,
            ticket,
            _folder: folder,
        }
    }

    fn host(&self) -> String {
        format!("{}.forwards.example", self.forward.id)
    }

    fn request(&self, path: &str) -> request::Builder {
        http::Request::get(path).header(HOST, self.host())
    }

    fn cookie(&self) -> String {
        let cookie = self.forward.redeem(self.ticket.expose()).unwrap();
        format!("a=b; {}={cookie}", cookies::COOKIE_NAME)
    }

    async fn serve(&self, request: request::Builder) -> Response {
        let request = request.body(Body::empty()).unwrap();
        self.forwards.serve(Some(&self.forward.id), request).await
    }

    /// Adds a connection to the pod. Returns the cluster's end of the WebSocket.
    async fn connect(&self) -> WebSocketStream<DuplexStream> {
        let (near, far) = tokio::io::duplex(1024);
        let upstream = Upstream {
            socket: WebSocketStream::from_raw_socket(near, Role::Client, None).await,
            observer: AbortObserver::default(),
        };
        let traffic = Arc::clone(&self.forward.traffic);
        let connection = connection::start(upstream, 8080, traffic).await.unwrap();
        self.forward.pool.put(connection);
        let mut cluster = WebSocketStream::from_raw_socket(far, Role::Server, None).await;
        for channel in [0, 1] {
            send(&mut cluster, channel, &8080_u16.to_le_bytes()).await;
        }
        cluster
    }
}

async fn send(cluster: &mut WebSocketStream<DuplexStream>, channel: u8, bytes: &[u8]) {
    let message = Message::Binary([&[channel], bytes].concat().into());
    cluster.send(message).await.unwrap();
}

/// Runs a program in the pod that returns its request's headers, and repeats the body.
fn run_echo(cluster: WebSocketStream<DuplexStream>) {
    let (near, far) = tokio::io::duplex(1024);
    let service = service_fn(async |mut request: http::Request<Incoming>| {
        let mut response = http::Response::builder().header("set-cookie", "c=d; Domain=example");
        for (name, value) in request.headers() {
            response = response.header(format!("echo-{name}"), value);
        }
        if request.headers().contains_key("upgrade") {
            let upgrade = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                let mut stream = TokioIo::new(upgrade.await.unwrap());
                let mut line = [0; 4];
                stream.read_exact(&mut line).await.unwrap();
                stream.write_all(&line).await.unwrap();
            });
            let switching = response.status(101).header("upgrade", "websocket");
            let switching = switching.header("connection", "Upgrade");
            return Ok::<_, Infallible>(switching.body(Body::empty()).unwrap());
        }
        Ok(response.body(Body::new(request.into_body())).unwrap())
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(far), service)
        .with_upgrades();
    tokio::spawn(serving);
    tokio::spawn(bridge(cluster, near));
}

/// Copies bytes between the WebSocket and the program.
async fn bridge(mut cluster: WebSocketStream<DuplexStream>, mut program: DuplexStream) {
    let mut buffer = [0; 512];
    loop {
        tokio::select! {
            message = cluster.next() => match message {
                Some(Ok(Message::Binary(message))) => {
                    assert_eq!(message[0], 0, "only the data channel has input");
                    program.write_all(&message[1..]).await.unwrap();
                }
                Some(Ok(_)) => {}
                _ => return,
            },
            count = program.read(&mut buffer) => match count {
                Ok(0) | Err(_) => return,
                Ok(count) => send(&mut cluster, 0, &buffer[..count]).await,
            },
        }
    }
}

async fn text(response: Response) -> String {
    let bytes: Bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn request_without_the_cookie_of_its_port_forward_returns_401() {
    let rig = Rig::new();
    let (other, ticket) = forward("ann");
    let foreign = other.redeem(ticket.expose()).unwrap();
    for cookie in [
        "a=b".to_owned(),
        format!("{}={foreign}", cookies::COOKIE_NAME),
        format!("{}={}", cookies::COOKIE_NAME, rig.ticket.expose()),
        "__Host-drover=drover_bcdfghjkmnpq_23456789bcdfghjkmnpqrstvwxzBCDFG".to_owned(),
    ] {
        let response = rig.serve(rig.request("/").header("cookie", &cookie)).await;
        assert_eq!(response.status(), 401, "{cookie}");
        assert!(text(response).await.contains("Open the pod"), "{cookie}");
    }
    let bearer = rig.request("/").header("authorization", "Bearer x");
    assert_eq!(rig.serve(bearer).await.status(), 401);
    // A label without a port forward has the same response.
    let request = rig.request("/").body(Body::empty()).unwrap();
    let unknown = rig.forwards.serve(Some(&other.id), request).await;
    let known = rig.serve(rig.request("/")).await;
    assert_eq!(unknown.status(), known.status());
    assert_eq!(text(unknown).await, text(known).await);
}

#[tokio::test(start_paused = true)]
async fn ticket_opens_the_port_forward_in_one_browser() {
    let rig = Rig::new();
    let path = format!("{TICKET_PATH}?{TICKET_PARAMETER}{}", rig.ticket.expose());
    let wrong = format!("{TICKET_PATH}?{TICKET_PARAMETER}{}", "0".repeat(64));
    assert_eq!(rig.serve(rig.request(&wrong)).await.status(), 401);
    let head = rig.request(&path).method(Method::HEAD);
    assert_eq!(rig.serve(head).await.status(), 401);
    let opened = rig.serve(rig.request(&path)).await;
    assert_eq!(opened.status(), 303);
    assert_eq!(opened.headers()[LOCATION], "/");
    let cookie = opened.headers()[SET_COOKIE].to_str().unwrap();
    assert!(!cookie.contains(rig.ticket.expose()), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let again = rig.serve(rig.request(&path)).await;
    assert_eq!(again.status(), 401);
    assert!(!again.headers().contains_key(SET_COOKIE));
    // The same browser goes to the start page.
    let same = rig.serve(rig.request(&path).header("cookie", cookie)).await;
    assert_eq!(same.status(), 303);
    assert!(!same.headers().contains_key(SET_COOKIE));
}

#[tokio::test(start_paused = true)]
async fn request_and_response_pass_without_credentials_of_drover() {
    let rig = Rig::new();
    run_echo(rig.connect().await);
    let cookie = rig.cookie();
    for body in ["first", "second request on the same connection"] {
        let request = rig.request("/a?b=c").method(Method::POST);
        let request = request
            .header("cookie", &cookie)
            .header("x-drover-csrf", "x");
        let request = request.header("sec-fetch-site", "same-origin");
        let request = request.body(Body::from(body)).unwrap();
        let response = rig.forwards.serve(Some(&rig.forward.id), request).await;
        assert_eq!(response.status(), 200);
        let headers = response.headers();
        assert_eq!(headers["echo-cookie"], "a=b");
        assert_eq!(headers["echo-host"], rig.host());
        assert_eq!(headers["echo-x-forwarded-proto"], "https");
        assert!(!headers.contains_key("echo-x-drover-csrf"));
        assert_eq!(headers[SET_COOKIE], "c=d");
        assert_eq!(text(response).await, body);
    }
    let (to_pod, from_pod) = rig.forward.traffic.bytes();
    assert!(to_pod > 100 && from_pod > 100, "{to_pod} {from_pod}");
}

#[tokio::test(start_paused = true)]
async fn upgrade_connects_the_browser_with_the_program() {
    let rig = Rig::new();
    run_echo(rig.connect().await);
    let (near, far) = tokio::io::duplex(1024);
    let (forwards, label) = (rig.forwards.clone(), rig.forward.id.clone());
    let service = service_fn(move |request: http::Request<Incoming>| {
        let (forwards, label) = (forwards.clone(), label.clone());
        async move { Ok::<_, Infallible>(forwards.serve(Some(&label), request.map(Body::new)).await) }
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(far), service)
        .with_upgrades();
    tokio::spawn(serving);
    let (mut browser, connection) = hyper::client::conn::http1::handshake(TokioIo::new(near))
        .await
        .unwrap();
    tokio::spawn(connection.with_upgrades());
    let request = rig.request("/socket").header("cookie", rig.cookie());
    let request = request.header("origin", format!("https://{}", rig.host()));
    let request = request
        .header("connection", "Upgrade")
        .header("upgrade", "websocket");
    let request = request.body(Full::<Bytes>::default()).unwrap();
    let response = browser.send_request(request).await.unwrap();
    assert_eq!(response.status(), 101);
    let mut stream = TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    stream.write_all(b"ping").await.unwrap();
    let mut echoed = [0; 4];
    stream.read_exact(&mut echoed).await.unwrap();
    assert_eq!(&echoed, b"ping");
    rig.forward.close();
    assert_eq!(stream.read(&mut echoed).await.unwrap_or(0), 0);
}

#[tokio::test(start_paused = true)]
async fn page_of_another_origin_receives_403() {
    let rig = Rig::new();
    let request = rig.request("/").header("cookie", rig.cookie());
    let request = request.header("sec-fetch-site", "same-site");
    let response = rig.serve(request).await;
    assert_eq!(response.status(), 403);
}

#[tokio::test(start_paused = true)]
async fn error_of_the_cluster_is_shown_as_text() {
    let rig = Rig::new();
    let mut cluster = rig.connect().await;
    let cookie = rig.cookie();
    let responding = async {
        // The cluster reports the error after it has received the request.
        let request = cluster.next().await;
        assert!(matches!(request, Some(Ok(Message::Binary(_)))));
        send(&mut cluster, 1, b"connect: connection refused").await;
    };
    let request = rig.request("/").header("cookie", cookie);
    let (response, ()) = tokio::join!(rig.serve(request), responding);
    assert_eq!(response.status(), 502);
    let text = text(response).await;
    assert!(text.contains("port 8080 of the pod web"), "{text}");
    assert!(text.contains("connection refused"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn response_with_endless_headers_ends() {
    let rig = Rig::new();
    let mut cluster = rig.connect().await;
    let endless = async {
        cluster.next().await.unwrap().unwrap();
        send(&mut cluster, 0, b"HTTP/1.1 200 OK\r\n").await;
        let line = [b"x: ", "y".repeat(1000).as_bytes(), b"\r\n"].concat();
        let mut lines = 0;
        let message = || Message::Binary([&[0], &line[..]].concat().into());
        while cluster.send(message()).await.is_ok() {
            lines += 1;
            assert!(lines < 1000, "the connection continues");
        }
    };
    let request = rig.request("/").header("cookie", rig.cookie());
    let (response, ()) = tokio::join!(rig.serve(request), endless);
    assert_eq!(response.status(), 502);
}

#[tokio::test(start_paused = true)]
async fn port_forward_without_a_valid_token_ends() {
    let rig = Rig::new();
    let cookie = rig.cookie();
    // The stores contain no token of the port forward.
    tokio::time::advance(Duration::from_secs(3)).await;
    let response = rig.serve(rig.request("/").header("cookie", &cookie)).await;
    assert_eq!(response.status(), 401);
    assert!(rig.forward.traffic.is_closing());
    assert!(rig.forwards.registry.by_label(&rig.forward.id).is_none());
}

#[tokio::test(start_paused = true)]
async fn unused_port_forward_without_a_valid_token_is_removed() {
    let rig = Rig::new();
    let stop = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn(rig.forwards.clone().run(stop.clone()));
    tokio::time::sleep(Duration::from_millis(4900)).await;
    assert!(rig.forward.traffic.is_closing());
    assert!(rig.forwards.registry.all().is_empty());
    stop.cancel();
    running.await.unwrap();
}
