//! The connection of an agent to the server: registers the key, connects, proves the key, serves
//! the tunnel, and reconnects.

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
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::debug;

use crate::binding::{BindingError, ServerBinding};
use crate::error_chain::error_chain;
use crate::lanes::{Lanes, TunnelContext};
use crate::memory::TunnelMemory;
use crate::registration::{
    Membership, ReadBindingError, Registrar, RegistrationError, Store, StoreError,
};
use crate::server::{CallError, DialError, Proxy, Server};
use crate::status::StatusPublisher;

/// Interval at which the agent reads the binding while connected.
const BINDING_POLL_INTERVAL: Duration = Duration::from_secs(30);
/// Reason in the server's response if the Cluster exists but has no bound key.
const NOT_REGISTERED: &str = "NotRegistered";

/// The reason why the agent has no tunnel: the agent cannot open a tunnel, or the tunnel closed
/// with an error.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// A call to the agent's own cluster failed.
    #[error(transparent)]
    Store(StoreError),
    /// The binding in the manifest is not valid.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// The agent is not registered.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// A call to the server failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The agent cannot connect to the server.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The server and the agent have no common protocol version.
    #[error("{0}")]
    Protocol(String),
    /// The WebSocket handshake with the server failed.
    #[error("the tunnel did not open: {cause}", cause = .0)]
    Upgrade(String),
    /// The tunnel closed with an error.
    #[error("the tunnel closed: {cause}", cause = .0)]
    Lost(#[from] ServeError),
}

impl From<ReadBindingError> for ConnectError {
    fn from(error: ReadBindingError) -> Self {
        match error {
            ReadBindingError::Store(error) => Self::Store(error),
            ReadBindingError::Binding(error) => Self::Binding(error),
        }
    }
}

impl ConnectError {
    /// Returns the PascalCase reason, which is stable across releases.
    pub fn reason(&self) -> &str {
        match self {
            Self::Store(_) | Self::Registration(RegistrationError::Store(_)) => {
                "OwnClusterUnavailable"
            }
            Self::Binding(_) => "ManifestIncomplete",
            Self::Registration(RegistrationError::Call(error)) | Self::Call(error) => {
                error.reason()
            }
            Self::Registration(RegistrationError::Key(_) | RegistrationError::File { .. }) => {
                "KeyUnusable"
            }
            Self::Registration(RegistrationError::OtherNode { .. }) => "OtherNode",
            Self::Registration(RegistrationError::MalformedToken) => "TokenMalformed",
            Self::Registration(RegistrationError::OtherCluster { .. }) => "OtherCluster",
            Self::Dial(error) => error.reason(),
            Self::Protocol(_) => "ProtocolMismatch",
            Self::Upgrade(_) => "UpgradeFailed",
            Self::Lost(_) => "TunnelLost",
        }
    }
}

/// The source of the server's address and of the credential for a connection.
///
/// [`Store`] implements this trait for the cluster agent. The binding is in a ConfigMap, the key is
/// in a Secret, and a registration token registers the key.
pub trait Enrollment: Send + Sync {
    /// Returns the server to connect to.
    fn binding(&self) -> impl Future<Output = Result<ServerBinding, ReadBindingError>> + Send;

    /// Returns the registered key. Registers the key if necessary.
    ///
    /// `trust_record` is false after the server rejected the registration in the agent's record.
    fn enroll(
        &self,
        binding: &ServerBinding,
        server: &Server,
        trust_record: bool,
    ) -> impl Future<Output = Result<Membership, RegistrationError>> + Send;

    /// Deletes credentials that can be used once and that the agent has already used. A connected
    /// agent calls this method regularly.
    fn clean_up(&self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl Enrollment for Store {
    async fn binding(&self) -> Result<ServerBinding, ReadBindingError> {
        Self::binding(self).await
    }

    async fn enroll(
        &self,
        binding: &ServerBinding,
        server: &Server,
        trust_record: bool,
    ) -> Result<Membership, RegistrationError> {
        let registrar = Registrar {
            store: self,
            binding,
            server,
            trust_record,
        };
        registrar.run().await
    }

    async fn clean_up(&self) -> Result<(), StoreError> {
        self.delete_registration_token().await
    }
}

/// An open tunnel, and the registered key that authenticated its connection.
struct OpenTunnel {
    binding: Arc<ServerBinding>,
    member: Membership,
    stream: Stream,
    protocol: Version,
}

/// The connection of one replica to the server.
#[derive(Debug)]
pub struct Connection<E> {
    /// Name of the pod. The server distinguishes replicas by this name.
    pub name: String,
    /// The source of the server's address and of the agent's key.
    pub enrollment: E,
    /// The handler of tunnelled requests.
    pub lanes: Arc<Lanes>,
    /// The publisher of the connection's status.
    pub status: StatusPublisher,
    /// Versions of the tunnel protocol that the agent offers to the server.
    pub protocols: Vec<Version>,
    /// Local address for outgoing connections. If `None`, the operating system selects the address.
    pub source: Option<IpAddr>,
    /// HTTP proxy for the connection. If `None`, the agent connects directly.
    pub proxy: Option<Proxy>,
    /// Memory budget of the tunnels. `None` means no limit.
    pub memory: Option<TunnelMemory>,
    /// Token whose cancellation stops the connection.
    pub shutdown: CancellationToken,
}

impl<E: Enrollment> Connection<E> {
    /// Creates a connection that offers every protocol version of this build. The connection uses
    /// no proxy and has no memory limit.
    pub fn new(name: String, enrollment: E, lanes: Lanes, shutdown: CancellationToken) -> Self {
        Self {
            name,
            enrollment,
            lanes: Arc::new(lanes),
            status: StatusPublisher::default(),
            protocols: Version::KNOWN.to_vec(),
            source: None,
            proxy: None,
            memory: None,
            shutdown,
        }
    }

    /// Keeps the agent connected until the shutdown, and publishes the connection's status. Returns
    /// after all open requests have ended.
    pub async fn run(&self) {
        Box::pin(self.reconnect()).await;
        let message = "the agent is shutting down".to_owned();
        self.status.publish(false, "Stopped", message);
    }

    /// Opens tunnels in sequence, with a random pause after each tunnel.
    async fn reconnect(&self) {
        let mut trust_record = true;
        let mut sessions = Sessions::new(Policy::default(), self.shutdown.clone());
        while let Some(session) = sessions.next(random_fraction()).await {
            let result = self.session(trust_record, session).await;
            if self.shutdown.is_cancelled() {
                return;
            }
            let (reason, message) = match &result {
                Ok(()) => ("TunnelClosed", "the server closed the tunnel".to_owned()),
                Err(error) => (error.reason(), error.to_string()),
            };
            // Register again only if the server has lost the registration.
            trust_record = reason != NOT_REGISTERED;
            self.status.publish(false, reason, message);
        }
    }

    /// Opens a tunnel and serves it until it ends.
    async fn session(
        &self,
        trust_record: bool,
        mut session: Session<'_>,
    ) -> Result<(), ConnectError> {
        let tunnel = tokio::select! {
            // Boxed, because the open tunnel does not need the memory of this future.
            tunnel = Box::pin(self.connect(trust_record)) => tunnel?,
            () = self.shutdown.cancelled() => return Ok(()),
        };
        session.opened();
        let message = format!(
            "connected to {} as cluster {:?}, protocol {}",
            tunnel.binding.authority(),
            tunnel.member.cluster_name,
            tunnel.protocol
        );
        self.status.publish(true, "Connected", message);
        self.serve(tunnel).await
    }

    /// Serves the tunnel until the server closes it, the agent stops or the binding changes.
    async fn serve(&self, tunnel: OpenTunnel) -> Result<(), ConnectError> {
        let ended = self.shutdown.child_token();
        let closed = CancellationToken::new();
        let _closed_on_return = closed.clone().drop_guard();
        let context = Arc::new(TunnelContext {
            protocol: tunnel.protocol,
            closed,
        });
        let lanes = Arc::clone(&self.lanes);
        let service = service_fn(move |request: Request<Incoming>| {
            let (lanes, context) = (Arc::clone(&lanes), Arc::clone(&context));
            async move { Ok::<_, std::convert::Infallible>(lanes.serve(&context, request).await) }
        });
        let options = self.memory.as_ref();
        let options = options.map_or_else(ServeOptions::default, TunnelMemory::options);
        // A separate task, because this future can be part of the main thread's future. Each poll
        // of that future needs two context switches, and runs before the requests' tasks, so that
        // their frames would not be sent together.
        let served = tokio::spawn(serve(tunnel.stream, service, options, ended.clone()));
        let mut served = AbortOnDropHandle::new(served);
        let result = tokio::select! {
            result = &mut served => result,
            () = self.binding_change(&tunnel.binding) => {
                ended.cancel();
                served.await
            }
        };
        match result.map_err(JoinError::try_into_panic) {
            Ok(served) => Ok(served?),
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // The runtime has ended the task, because the program ends.
            Err(Err(_)) => Ok(()),
        }
    }

    /// Reads the binding, registers if needed, and opens a tunnel.
    async fn connect(&self, trust_record: bool) -> Result<OpenTunnel, ConnectError> {
        let binding = Arc::new(self.enrollment.binding().await?);
        let server = Server::new(Arc::clone(&binding))?
            .dialled_from(self.source)
            .dialled_through(self.proxy.clone());
        let enrolled = self.enrollment.enroll(&binding, &server, trust_record);
        let member = enrolled.await?;
        let (stream, protocol) = self.open(&server, &member).await?;
        Ok(OpenTunnel {
            binding,
            member,
            stream,
            protocol,
        })
    }

    /// Waits until the ConfigMap contains a different valid binding.
    async fn binding_change(&self, binding: &ServerBinding) {
        loop {
            tokio::time::sleep(BINDING_POLL_INTERVAL).await;
            match self.enrollment.binding().await {
                Ok(current) if current != *binding => return,
                // An administrator may have applied the manifest again, with a token that is not
                // needed.
                Ok(_) => {
                    if let Err(error) = self.enrollment.clean_up().await {
                        debug!(%error, "cannot delete the registration token; will retry");
                    }
                }
                Err(error) => debug!(%error, "cannot read the server binding; keeping the \
                                              connection"),
            }
        }
    }

    async fn open(
        &self,
        server: &Server,
        member: &Membership,
    ) -> Result<(Stream, Version), ConnectError> {
        let request = ChallengeRequest {
            cluster_uid: member.cluster_uid.clone(),
        };
        let Challenge { nonce } = server.call("/v1/agent/challenge", None, &request).await?;
        let (uid, name) = (&member.cluster_uid, &self.name);
        let message = match &member.node {
            None => proof::connect_message(uid, &nonce, name),
            Some(node) => proof::node_connect_message(uid, &nonce, name, node),
        };
        let proof = ConnectProof {
            cluster_uid: member.cluster_uid.clone(),
            nonce,
            replica: self.name.clone(),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            node: member.node.clone(),
            signature: member.key.sign(&message),
        };
        let authority = server.binding().authority();
        let request = self.connect_request(&authority, &proof)?;
        let stream = server.dial().await?;
        let dialed = ws::dial(stream, request, DialOptions::default())
            .await
            .map_err(|error| handshake_error(&authority, error))?;
        let version = protocol::confirm(&dialed.headers, &self.protocols)
            .map_err(|error: VersionError| ConnectError::Protocol(error.to_string()))?;
        Ok((dialed.stream, version))
    }

    fn connect_request(
        &self,
        authority: &str,
        proof: &ConnectProof,
    ) -> Result<Request<()>, ConnectError> {
        let json =
            serde_json::to_vec(proof).expect("a proof contains only valid header characters");
        Request::get("/v1/connect")
            .header(HOST, authority)
            .header(PROOF_HEADER, STANDARD.encode(json))
            .header(protocol::VERSION_HEADER, protocol::offer(&self.protocols))
            .body(())
            .map_err(|error| ConnectError::Upgrade(error.to_string()))
    }
}

type Stream = ws::ByteStream<
    ws::PrefixedStream<tokio_rustls::client::TlsStream<ReadAhead<tokio::net::TcpStream>>>,
>;

fn handshake_error(authority: &str, error: ws::DialError) -> ConnectError {
    match error {
        ws::DialError::Refused {
            status: StatusCode::UPGRADE_REQUIRED,
            headers,
            body,
        } => ConnectError::Protocol(protocol_mismatch(&headers, &body)),
        ws::DialError::Refused {
            status,
            headers,
            body,
        } => ConnectError::Call(CallError::from_response(
            authority,
            status,
            &headers,
            body.as_bytes(),
        )),
        other => ConnectError::Upgrade(error_chain(&other)),
    }
}

fn protocol_mismatch(headers: &HeaderMap, body: &str) -> String {
    let known = headers
        .get(protocol::KNOWN_HEADER)
        .and_then(|value| value.to_str().ok());
    match known {
        Some(known) => format!(
            "the server uses tunnel protocol {known}, and this agent uses {}: upgrade the older one",
            Version::KNOWN.map(|version| version.to_string()).join(", ")
        ),
        None => format!("the server asks for another protocol: {body}"),
    }
}

/// Returns a uniform random number in `0.0..1.0`, or 0.5 if the system has no randomness.
fn random_fraction() -> f64 {
    let mut bytes = [0; 4];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_be_bytes(bytes)) / (f64::from(u32::MAX) + 1.0),
        Err(_) => 0.5,
    }
}
