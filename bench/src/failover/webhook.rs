//! The state of the authorized endpoint, and a client that sends token reviews like kube-apiserver.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use drover_access::token::{ENTROPY_BYTES, ForUsers, Issued, issue};
use drover_api::endpoint::{
    DEFAULT_OFFLINE_SECONDS, EndpointState, EndpointToken, STATE, STATE_ENTRY, TLS, TOKENS_ENTRY,
    WEBHOOK_HOST, WEBHOOK_PATH,
};
use drover_api::group::NODE_AGENT_NAMESPACE;
use futures::TryFutureExt as _;
use h2::client::SendRequest;
use http::{Request, StatusCode};
use jiff::Timestamp;
use rustls::pki_types::ServerName;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::certificate::{self, CertificateError, Files};
use crate::load::{Exchange, ExchangeError};

/// Number of tokens in the cluster.
const TOKENS: u32 = 1000;
/// Text in the response to the review of a valid token.
const ACCEPTED: &[u8] = b"\"authenticated\":true";

/// The reason why the client cannot connect to the webhook.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebhookError {
    /// The certificate of the webhook cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A file of the certificate cannot be read.
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    /// The connection cannot be opened.
    #[error("cannot connect to the webhook at {address}")]
    Connect {
        address: SocketAddr,
        source: io::Error,
    },
}

/// The tokens of the cluster.
pub(super) struct Tokens(Vec<Issued>);

impl Tokens {
    pub(super) fn new() -> Self {
        let tokens = (0..TOKENS).map(|number| {
            let mut entropy = [0; ENTROPY_BYTES];
            // The first bytes determine the ID, and the last bytes the secret.
            entropy[..4].copy_from_slice(&number.reverse_bits().to_be_bytes());
            entropy[ENTROPY_BYTES - 4..].copy_from_slice(&number.to_be_bytes());
            issue::<ForUsers>(&entropy)
        });
        Self(tokens.collect())
    }

    /// Returns the Secrets with the tokens, their state and the certificate of the webhook.
    pub(super) fn secrets(&self, certificate: &Files) -> Result<Vec<Value>, WebhookError> {
        let now = Timestamp::now();
        let state = EndpointState {
            confirmed_at: now,
            offline_seconds: DEFAULT_OFFLINE_SECONDS,
        };
        let mut tokens: BTreeMap<String, Vec<EndpointToken>> = BTreeMap::new();
        for (number, issued) in self.0.iter().enumerate() {
            let token = EndpointToken {
                id: issued.id.clone(),
                hash: issued.hash.as_str().to_owned(),
                until: now + jiff::SignedDuration::from_hours(24),
                user: format!("drover:user:bench-{number}"),
                groups: vec!["drover:bench:developers".to_owned()],
                display_name: Some(format!("User {number}")),
            };
            tokens.entry(token.secret()).or_default().push(token);
        }
        let read = |path: &PathBuf| {
            fs::read(path).map_err(|source| WebhookError::Read {
                path: path.clone(),
                source,
            })
        };
        let mut secrets = vec![
            secret(
                STATE,
                &[(STATE_ENTRY, json!(state).to_string().into_bytes())],
            ),
            secret(
                TLS,
                &[
                    ("tls.crt", read(&certificate.certificate)?),
                    ("tls.key", read(&certificate.key)?),
                ],
            ),
        ];
        secrets.extend(tokens.iter().map(|(name, tokens)| {
            secret(
                name,
                &[(TOKENS_ENTRY, json!(tokens).to_string().into_bytes())],
            )
        }));
        Ok(secrets)
    }

    /// Returns one token review per token.
    fn reviews(&self) -> Arc<[Bytes]> {
        let reviews = self.0.iter().map(|issued| {
            let review = json!({
                "kind": "TokenReview",
                "apiVersion": "authentication.k8s.io/v1",
                "metadata": {},
                "spec": {"token": issued.token.expose_secret()},
                "status": {"user": {}},
            });
            Bytes::from(review.to_string())
        });
        reviews.collect()
    }
}

fn secret(name: &str, entries: &[(&str, Vec<u8>)]) -> Value {
    let data: BTreeMap<&str, String> = entries
        .iter()
        .map(|(entry, content)| (*entry, STANDARD.encode(content)))
        .collect();
    json!({"kind": "Secret", "apiVersion": "v1", "type": "Opaque", "data": data,
        "metadata": {"name": name, "namespace": NODE_AGENT_NAMESPACE}})
}

/// Sends token reviews on an HTTP/2 connection.
pub(super) struct Reviewer {
    connection: SendRequest<Bytes>,
    uri: String,
    reviews: Arc<[Bytes]>,
    next: usize,
}

impl Reviewer {
    /// Opens a connection, and returns `count` clients that share it. kube-apiserver keeps one
    /// connection open.
    pub(super) async fn connect(
        address: SocketAddr,
        certificate: &Files,
        tokens: &Tokens,
        count: usize,
    ) -> Result<Vec<Self>, WebhookError> {
        let connect = |source| WebhookError::Connect { address, source };
        let mut tls = (*certificate::client(&certificate.authority)?).clone();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let tcp = TcpStream::connect(address).await.map_err(connect)?;
        tcp.set_nodelay(true).map_err(connect)?;
        let host = ServerName::try_from(WEBHOOK_HOST).expect("the host is an IP address");
        let stream = TlsConnector::from(Arc::new(tls)).connect(host, tcp);
        let stream = stream.await.map_err(connect)?;
        let handshake = h2::client::handshake(stream).map_err(io::Error::other);
        let (sender, connection) = handshake.await.map_err(connect)?;
        // The requests report a failed connection.
        tokio::spawn(connection);
        let reviews = tokens.reviews();
        let client = |number: usize| Self {
            connection: sender.clone(),
            uri: format!("https://{address}{WEBHOOK_PATH}"),
            reviews: Arc::clone(&reviews),
            next: number * reviews.len() / count,
        };
        Ok((0..count).map(client).collect())
    }

    /// Sends the next review. Returns the status code and the body of the response.
    async fn review(&mut self) -> Result<(StatusCode, Vec<u8>), h2::Error> {
        let body = self.reviews[self.next % self.reviews.len()].clone();
        self.next += 1;
        let mut request = Request::post(self.uri.as_str())
            .header("content-type", "application/json")
            .header("accept", "application/json, */*")
            .body(())
            .expect("the URI and the headers are valid");
        *request.version_mut() = http::Version::HTTP_2;
        let mut ready = self.connection.clone().ready().await?;
        let (response, mut sending) = ready.send_request(request, false)?;
        sending.send_data(body, true)?;
        let (head, mut body) = response.await?.into_parts();
        let mut received = Vec::new();
        while let Some(chunk) = body.data().await {
            let chunk = chunk?;
            body.flow_control().release_capacity(chunk.len())?;
            received.extend_from_slice(&chunk);
        }
        Ok((head.status, received))
    }
}

impl Exchange for Reviewer {
    async fn exchange(&mut self) -> Result<(), ExchangeError> {
        let broken = |error| ExchangeError::Broken(io::Error::other(error));
        let (status, body) = self.review().await.map_err(broken)?;
        let accepted = body.windows(ACCEPTED.len()).any(|part| part == ACCEPTED);
        if status == StatusCode::OK && accepted {
            return Ok(());
        }
        Err(ExchangeError::Status {
            status: status.as_u16(),
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }
}
