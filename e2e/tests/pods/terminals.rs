//! Tests of terminals (`/v1/terminals`) in containers of a real node.

use std::sync::Arc;
use std::time::{Duration, Instant};

use drover_api::rest::{
    TerminalControl, TerminalCreate, TerminalEndReason, TerminalEnding, TerminalKind,
    TerminalNotice, TerminalView,
};
use drover_e2e::World;
use futures::{SinkExt as _, StreamExt as _};
use http::StatusCode;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::client::{authority, parse};

const SOON: Duration = Duration::from_secs(30);
const CUT_WITHIN: Duration = Duration::from_secs(5);
/// The server sends at most about 128 KiB of output that the client has not acknowledged.
const MAX_UNACKNOWLEDGED: usize = 256 * 1024;

/// A client of terminals with an API token.
struct Client<'a> {
    world: &'a World,
    token: String,
    http: reqwest::Client,
    tls: TlsConnector,
}

impl<'a> Client<'a> {
    async fn new(world: &'a World) -> Self {
        let create = ["token", "create", "--ttl=10m", "-o", "json"];
        let created = world.admin.drover().run(create).await.unwrap();
        let created: Value = serde_json::from_str(&created.stdout).unwrap();
        let kubeconfig = std::fs::read_to_string(world.kubeconfig()).unwrap();
        let pem = authority(&parse(&kubeconfig));
        let certificate = reqwest::Certificate::from_pem(pem.as_bytes()).unwrap();
        let http = reqwest::Client::builder().tls_certs_only([certificate]);
        Self {
            world,
            token: created["token"].as_str().unwrap().to_owned(),
            http: http.timeout(SOON).build().unwrap(),
            tls: connector(&pem),
        }
    }

    fn token_id(&self) -> &str {
        self.token.split('_').nth(1).unwrap()
    }

    async fn create(&self, pod: &str, command: &[&str]) -> (StatusCode, Value) {
        let create = TerminalCreate {
            cluster: "east".to_owned(),
            namespace: "default".to_owned(),
            pod: pod.to_owned(),
            container: None,
            kind: TerminalKind::Exec,
            command: command.iter().map(ToString::to_string).collect(),
            tty: true,
        };
        let url = format!("{}/v1/terminals", self.world.server.url());
        let request = self.http.post(url).bearer_auth(&self.token).json(&create);
        let response = request.send().await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    async fn open(&self, pod: &str, command: &[&str]) -> String {
        let (code, body) = self.create(pod, command).await;
        assert_eq!(code, StatusCode::CREATED, "{body}");
        let view: TerminalView = serde_json::from_value(body).unwrap();
        view.id
    }

    /// Connects to a terminal after `received` bytes of output.
    async fn connect(&self, id: &str, received: usize) -> Connection {
        let address = self.world.server.address();
        let url = format!("wss://{address}/v1/terminals/{id}/stream?received={received}");
        let mut request = url.into_client_request().unwrap();
        let bearer = format!("Bearer {}", self.token).parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::from(address.ip());
        let stream = self.tls.connect(name, stream).await.unwrap();
        let opened = tokio_tungstenite::client_async(request, stream).await;
        Connection {
            socket: opened.unwrap().0,
            output: Vec::new(),
            ending: None,
        }
    }
}

fn connector(authority: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// A connection to a terminal, and the received output.
struct Connection {
    socket: WebSocketStream<TlsStream<TcpStream>>,
    output: Vec<u8>,
    ending: Option<TerminalEnding>,
}

impl Connection {
    async fn type_line(&mut self, line: &str) {
        let input = Message::Binary(format!("{line}\n").into());
        self.socket.send(input).await.unwrap();
    }

    async fn control(&mut self, control: TerminalControl) {
        let text = serde_json::to_string(&control).unwrap();
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// Receives one message. Returns false at the end of the connection.
    async fn receive(&mut self) -> bool {
        match self.socket.next().await {
            Some(Ok(Message::Binary(bytes))) => self.output.extend(bytes),
            Some(Ok(Message::Text(text))) => match serde_json::from_str(&text).unwrap() {
                TerminalNotice::Ended { ending } => self.ending = Some(ending),
                TerminalNotice::Alive => self.control(TerminalControl::Alive).await,
                _ => {}
            },
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return false,
        }
        true
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// Waits until the output contains this text.
    async fn wait_for(&mut self, text: &str) {
        let waiting = async {
            while !self.text().contains(text) {
                assert!(self.receive().await, "{}: {:?}", self.text(), self.ending);
            }
        };
        let waited = tokio::time::timeout(SOON, waiting).await;
        assert!(waited.is_ok(), "{text} is missing: {}", self.text());
    }

    async fn ending(mut self) -> TerminalEnding {
        let ended = async { while self.receive().await {} };
        tokio::time::timeout(SOON, ended).await.unwrap();
        self.ending.unwrap()
    }
}

pub(crate) async fn terminal_continues_during_a_lost_connection_and_reports_the_exit_code(
    world: &mut World,
) {
    world.run_pod("terminal", "sleep 3600").await.unwrap();
    let client = Client::new(world).await;
    let (code, body) = client.create("no-such-pod", &["sh"]).await;
    assert_eq!(code, StatusCode::NOT_FOUND, "{body}");
    let id = client.open("terminal", &["sh"]).await;
    let mut connection = client.connect(&id, 0).await;
    let size = TerminalControl::Resize { cols: 91, rows: 17 };
    connection.control(size).await;
    connection.type_line("stty size; echo first-$((1+1))").await;
    connection.wait_for("first-2").await;
    assert!(connection.text().contains("17 91"), "{}", connection.text());
    connection.type_line("sleep 2; echo second-$((2+2))").await;
    connection.wait_for("second-$((2+2))").await;
    let received = connection.output.len();
    let before = connection.output.clone();
    drop(connection);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mut resumed = client.connect(&id, received).await;
    resumed.wait_for("second-4").await;
    assert!(!resumed.text().contains("first-2"), "{}", resumed.text());
    // A page that was loaded again shows the same screen.
    let whole = [before, resumed.output.clone()].concat();
    let mut reloaded = client.connect(&id, 0).await;
    reloaded.wait_for("second-4").await;
    assert!(reloaded.output.starts_with(&whole) || whole.starts_with(&reloaded.output));
    reloaded.type_line("exit 7").await;
    let ending = reloaded.ending().await;
    assert_eq!(ending.reason, TerminalEndReason::Exited, "{ending:?}");
    assert_eq!(ending.exit_code, Some(7));
}

pub(crate) async fn deleted_token_closes_terminal_with_the_reason(world: &mut World) {
    world
        .run_pod("revoked-terminal", "sleep 3600")
        .await
        .unwrap();
    let client = Client::new(world).await;
    let id = client.open("revoked-terminal", &["sh"]).await;
    let mut connection = client.connect(&id, 0).await;
    connection.type_line("echo ready-$((1+1))").await;
    connection.wait_for("ready-2").await;
    let delete = ["token", "delete", client.token_id()];
    world.admin.drover().run(delete).await.unwrap();
    let since = Instant::now();
    let ending = connection.ending().await;
    let took = since.elapsed();
    assert!(took < CUT_WITHIN, "the terminal went on for {took:?}");
    assert_eq!(ending.reason, TerminalEndReason::Revoked, "{ending:?}");
    assert_eq!(ending.message, "the token was revoked");
    let (code, _) = client.create("revoked-terminal", &["sh"]).await;
    assert_eq!(code, StatusCode::UNAUTHORIZED);
}

pub(crate) async fn container_with_endless_output_delays_only_its_own_terminal(world: &mut World) {
    world.run_pod("endless", "sleep 3600").await.unwrap();
    let client = Client::new(world).await;
    let id = client.open("endless", &["yes", "endless output"]).await;
    let mut flooded = client.connect(&id, 0).await;
    let other = client.open("endless", &["sh"]).await;
    let mut other = client.connect(&other, 0).await;
    // The client reads, but does not acknowledge, so the server stops.
    let reading = async { while flooded.receive().await {} };
    let stopped = tokio::time::timeout(Duration::from_secs(5), reading).await;
    assert!(stopped.is_err(), "{:?}", flooded.ending);
    let received = flooded.output.len();
    assert!(received > 0 && received <= MAX_UNACKNOWLEDGED, "{received}");
    other.type_line("echo responsive-$((1+1))").await;
    other.wait_for("responsive-2").await;
    // The stopped output continues after the acknowledgement.
    let offset = u64::try_from(received).unwrap();
    flooded.control(TerminalControl::Ack { offset }).await;
    let more = async { while flooded.output.len() == received && flooded.receive().await {} };
    tokio::time::timeout(SOON, more).await.unwrap();
    assert!(flooded.output.len() > received);
}
