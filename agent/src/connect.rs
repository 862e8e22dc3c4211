//! The agent's life: become a member, connect, serve, and again.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_access::proof;
use drover_api::agent::{Challenge, ChallengeRequest, ConnectProof, PROOF_HEADER};
use drover_tunnel::protocol::{self, Version, VersionError};
use drover_tunnel::reconnect::{Policy, Session, Sessions};
use drover_tunnel::ws::{self, DialOptions};
use drover_tunnel::{ReadAhead, ServeError, ServeOptions, serve};
use http::header::HOST;
use http::{HeaderMap, Request, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::lanes::{self, Lanes};
use crate::memory::TunnelMemory;
use crate::registration::{
    BINDING_CONFIG_MAP, Membership, Registrar, RegistrationError, Store, StoreError,
};
use crate::server::{BindingError, CallError, DialError, Proxy, Server, ServerBinding};
use crate::status::StatusBoard;

/// Between looks at whether the manifest names another server by now.
const REBIND_EVERY: Duration = Duration::from_secs(30);
/// Reason of a server that knows the Cluster but holds no key of it.
const NOT_REGISTERED: &str = "NotRegistered";

/// Why there is no tunnel.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The agent's own cluster.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the manifest says.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// No membership.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// A call to the server.
    #[error(transparent)]
    Call(#[from] CallError),
    /// No connection for the tunnel.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// No protocol version in common.
    #[error("{0}")]
    Protocol(String),
    /// The WebSocket did not come about.
    #[error("the tunnel did not open: {0}")]
    Upgrade(String),
    /// The tunnel broke.
    #[error("the tunnel ended: {0}")]
    Lost(#[from] ServeError),
}

impl ConnectError {
    /// PascalCase cause, stable across releases.
    pub fn reason(&self) -> &str {
        match self {
            Self::Store(_) | Self::Registration(RegistrationError::Store(_)) => {
                "OwnClusterUnavailable"
            }
            Self::Binding(_) => "ManifestIncomplete",
            Self::Registration(RegistrationError::Call(error)) | Self::Call(error) => {
                error.reason()
            }
            Self::Registration(RegistrationError::Key(_)) => "KeyUnusable",
            Self::Registration(RegistrationError::MalformedToken) => "TokenMalformed",
            Self::Registration(RegistrationError::OtherCluster { .. }) => "OtherCluster",
            Self::Dial(error) => error.reason(),
            Self::Protocol(_) => "ProtocolMismatch",
            Self::Upgrade(_) => "UpgradeFailed",
            Self::Lost(_) => "TunnelLost",
        }
    }
}

/// An open tunnel and how it came about.
struct Joined {
    binding: Arc<ServerBinding>,
    member: Membership,
    stream: Stream,
    protocol: Version,
}

/// One replica of the agent.
#[derive(Debug)]
pub struct Replica {
    /// Name of the pod; tells replicas apart.
    pub name: String,
    /// The agent's objects.
    pub store: Store,
    /// What tunnelled requests may reach.
    pub lanes: Arc<Lanes>,
    /// Where the condition is told.
    pub board: StatusBoard,
    /// Protocol versions to offer.
    pub protocols: Vec<Version>,
    /// Address of this machine from which the server is dialled; the system's choice if there is
    /// none.
    pub source: Option<IpAddr>,
    /// HTTP proxy through which the server is dialled; none if unset.
    pub proxy: Option<Proxy>,
    /// Memory budget of its tunnels; no limit if absent.
    pub memory: Option<TunnelMemory>,
    /// Ends the agent.
    pub shutdown: CancellationToken,
}

impl Replica {
    /// Connects again and again until the shutdown, and tells how it goes.
    pub async fn run(&self) {
        let over = CancellationToken::new();
        let written = self.board.keep_written(over.clone());
        let life = async {
            Box::pin(self.keep_connected()).await;
            let why = "the agent was told to stop".to_owned();
            self.board.tell(false, "Stopped", why);
            over.cancel();
        };
        tokio::join!(written, life);
    }

    /// One session after the other, with a random pause after each.
    async fn keep_connected(&self) {
        let mut trust_memory = true;
        let mut sessions = Sessions::new(Policy::default(), self.shutdown.clone());
        while let Some(session) = sessions.next(chance()).await {
            let ended = self.session(trust_memory, session).await;
            if self.shutdown.is_cancelled() {
                return;
            }
            let (reason, message) = match &ended {
                Ok(()) => ("TunnelClosed", "the server closed the tunnel".to_owned()),
                Err(error) => (error.reason(), error.to_string()),
            };
            // Only a server that has lost the binding makes the agent register again.
            trust_memory = reason != NOT_REGISTERED;
            self.board.tell(false, reason, message);
        }
    }

    /// One tunnel from its beginning to its end.
    async fn session(
        &self,
        trust_memory: bool,
        mut session: Session<'_>,
    ) -> Result<(), ConnectError> {
        let joined = tokio::select! {
            // Boxed: what opens a tunnel takes room that the open one has no use for.
            joined = Box::pin(self.join(trust_memory)) => joined?,
            () = self.shutdown.cancelled() => return Ok(()),
        };
        session.opened();
        let said = format!(
            "connected to {} as cluster {:?}, protocol {}",
            joined.binding.authority(),
            joined.member.cluster_name,
            joined.protocol
        );
        self.board.tell(true, "Connected", said);
        self.serve(joined).await
    }

    /// Serves until the server closes the tunnel, the agent ends or the manifest changes.
    async fn serve(&self, joined: Joined) -> Result<(), ConnectError> {
        let ended = self.shutdown.child_token();
        let closed = CancellationToken::new();
        let _closed_with_this = closed.clone().drop_guard();
        let tunnel = Arc::new(lanes::Tunnel {
            protocol: joined.protocol,
            closed,
        });
        let lanes = Arc::clone(&self.lanes);
        let service = service_fn(move |request: Request<Incoming>| {
            let (lanes, tunnel) = (Arc::clone(&lanes), Arc::clone(&tunnel));
            async move { Ok::<_, std::convert::Infallible>(lanes.serve(&tunnel, request).await) }
        });
        let served = serve(
            joined.stream,
            service,
            self.memory
                .as_ref()
                .map_or_else(ServeOptions::default, TunnelMemory::options),
            ended.clone(),
        );
        tokio::pin!(served);
        tokio::select! {
            end = &mut served => return Ok(end?),
            () = self.until_rebound(&joined.binding) => ended.cancel(),
        }
        Ok(served.await?)
    }

    /// Everything up to an open tunnel.
    async fn join(&self, trust_memory: bool) -> Result<Joined, ConnectError> {
        let binding = Arc::new(self.binding().await?);
        let server = Server::new(Arc::clone(&binding))?
            .dialled_from(self.source)
            .dialled_through(self.proxy.clone());
        let registrar = Registrar {
            store: &self.store,
            binding: &binding,
            server: &server,
            trust_memory,
        };
        let member = registrar.walk().await?;
        let (stream, protocol) = self.open(&server, &member).await?;
        Ok(Joined {
            binding,
            member,
            stream,
            protocol,
        })
    }

    async fn binding(&self) -> Result<ServerBinding, ConnectError> {
        let reading = "read ConfigMap drover-agent-server";
        let map = self.store.config(reading, BINDING_CONFIG_MAP).await?;
        Ok(ServerBinding::read(&map)?)
    }

    /// Resolves when the manifest's binding has become another, usable one.
    async fn until_rebound(&self, binding: &ServerBinding) {
        loop {
            tokio::time::sleep(REBIND_EVERY).await;
            match self.binding().await {
                Ok(now) if now != *binding => return,
                // The manifest may have been applied again, with a token that nobody needs.
                Ok(_) => {
                    if let Err(error) = self.store.forget_registration_token().await {
                        debug!(%error, "the registration token stays until the next look");
                    }
                }
                Err(error) => debug!(%error, "keeping the present server"),
            }
        }
    }

    async fn open(
        &self,
        server: &Server,
        member: &Membership,
    ) -> Result<(Stream, Version), ConnectError> {
        let asked = ChallengeRequest {
            cluster_uid: member.cluster_uid.clone(),
        };
        let Challenge { nonce } = server.call("/v1/agent/challenge", None, &asked).await?;
        let message = proof::connect_message(&member.cluster_uid, &nonce, &self.name);
        let proof = ConnectProof {
            cluster_uid: member.cluster_uid.clone(),
            nonce,
            replica: self.name.clone(),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            signature: member.key.sign(&message),
        };
        let authority = server.binding().authority();
        let request = self.connect_request(&authority, &proof)?;
        let stream = server.dial().await?;
        let dialed = ws::dial(stream, request, DialOptions::default())
            .await
            .map_err(|error| refused(&authority, error))?;
        let version = protocol::confirm(&dialed.headers, &self.protocols)
            .map_err(|error: VersionError| ConnectError::Protocol(error.to_string()))?;
        Ok((dialed.stream, version))
    }

    fn connect_request(
        &self,
        authority: &str,
        proof: &ConnectProof,
    ) -> Result<Request<()>, ConnectError> {
        let json = serde_json::to_vec(proof).expect("a proof is text");
        Request::get("/v1/connect")
            .header(HOST, authority)
            .header(PROOF_HEADER, STANDARD.encode(json))
            .header(protocol::VERSION_HEADER, protocol::offer(&self.protocols))
            .body(())
            .map_err(|error| ConnectError::Upgrade(error.to_string()))
    }
}

type Stream =
    ws::ByteStream<ws::Prefixed<tokio_rustls::client::TlsStream<ReadAhead<tokio::net::TcpStream>>>>;

fn refused(authority: &str, error: ws::DialError) -> ConnectError {
    match error {
        ws::DialError::Refused {
            status: StatusCode::UPGRADE_REQUIRED,
            headers,
            body,
        } => ConnectError::Protocol(mismatch(&headers, &body)),
        ws::DialError::Refused {
            status,
            headers,
            body,
        } => ConnectError::Call(CallError::from_answer(
            authority,
            status,
            &headers,
            body.as_bytes(),
        )),
        other => ConnectError::Upgrade(crate::upstream::chain(&other)),
    }
}

fn mismatch(headers: &HeaderMap, body: &str) -> String {
    let known = headers
        .get(protocol::KNOWN_HEADER)
        .and_then(|value| value.to_str().ok());
    match known {
        Some(known) => format!(
            "the server speaks tunnel protocol {known}, this agent {}: upgrade the older of the two",
            Version::KNOWN.map(|version| version.to_string()).join(", ")
        ),
        None => format!("the server asks for another protocol: {body}"),
    }
}

/// Evenly distributed in `0.0..1.0`; the middle when the system has no randomness.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_be_bytes(bytes)) / (f64::from(u32::MAX) + 1.0),
        Err(_) => 0.5,
    }
}
