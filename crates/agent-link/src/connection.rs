//! The connection of an agent to the server: registers the key, connects, proves the key, serves
//! the tunnel, and reconnects.

mod error;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_access::proof::{self, PublicKey};
use drover_api::agent::{Challenge, ChallengeRequest, ConnectProof, PROOF_HEADER};
use drover_tunnel::protocol::{self, Version, VersionError};
use drover_tunnel::reconnect::{Policy, Session, Sessions};
use drover_tunnel::ws::{self, DialOptions};
use drover_tunnel::{ReadAhead, ServeError, ServeOptions, serve};
use http::Request;
use http::header::HOST;
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::{debug, warn};

use crate::binding::ServerBinding;
use crate::enrollment::Enrollment;
use crate::error_chain::error_chain;
use crate::lanes::{Lanes, TunnelContext};
use crate::memory::TunnelMemory;
use crate::registration::Membership;
use crate::rotation::{KeyRotation, TunnelKeys};
use crate::server::{Proxy, Server};
use crate::status::StatusPublisher;
pub use error::ConnectError;
use error::handshake_error;

/// Interval at which the agent reads the binding while connected.
const BINDING_POLL_INTERVAL: Duration = Duration::from_secs(30);
/// Reason in the server's response if the Cluster exists but has no bound key.
pub(crate) const NOT_REGISTERED: &str = "NotRegistered";
/// Reason in the server's response if the key was replaced.
pub(crate) const KEY_REPLACED: &str = "KeyReplaced";
/// Reasons in the server's response if a different key is bound.
pub(crate) const OTHER_KEY_BOUND: [&str; 2] = [KEY_REPLACED, "ForeignKey"];

/// An open tunnel, and the registered key that authenticated its connection.
struct OpenTunnel {
    binding: Arc<ServerBinding>,
    member: Membership,
    stream: Stream,
    protocol: Version,
}

/// A tunnel whose requests a task serves.
struct ServedTunnel {
    binding: Arc<ServerBinding>,
    /// The key that authenticated the tunnel.
    key: PublicKey,
    /// Token whose cancellation ends the tunnel after its requests.
    ended: CancellationToken,
    task: AbortOnDropHandle<Result<(), ServeError>>,
}

impl ServedTunnel {
    /// Waits until the tunnel has closed.
    async fn closed(&mut self) -> Result<(), ConnectError> {
        match (&mut self.task).await.map_err(JoinError::try_into_panic) {
            Ok(served) => Ok(served?),
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // The runtime has ended the task, because the program ends.
            Err(Err(_)) => Ok(()),
        }
    }
}

/// Pause after a failed attempt to open a tunnel with a new key.
const NEW_KEY_PAUSE: Duration = Duration::from_secs(5);
/// Maximum number of tunnels with replaced keys. The server closes such a tunnel when its last request
/// has ended.
const MAX_REPLACED_TUNNELS: usize = 4;

/// The connection of one replica to the server.
#[derive(Debug)]
pub struct Connection<E> {
    /// Name of the pod. The server distinguishes replicas by this name.
    pub name: String,
    /// The source of the server's address and of the agent's key.
    keys: Arc<KeyRotation<E>>,
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

impl<E: Enrollment + std::fmt::Debug + 'static> Connection<E> {
    /// Creates a connection that offers every protocol version of this build. The connection uses
    /// no proxy and has no memory limit.
    pub fn new(name: String, enrollment: E, lanes: Lanes, shutdown: CancellationToken) -> Self {
        Self {
            name,
            keys: Arc::new(KeyRotation::new(enrollment)),
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
        let mut replaced = VecDeque::new();
        let mut sessions = Sessions::new(Policy::default(), self.shutdown.clone());
        while let Some(session) = sessions.next(random_fraction()).await {
            let result = self.session(trust_record, session, &mut replaced).await;
            if self.shutdown.is_cancelled() {
                break;
            }
            let (reason, message) = match &result {
                Ok(()) => ("TunnelClosed", "the server closed the tunnel".to_owned()),
                Err(error) => (error.reason(), error.to_string()),
            };
            // Register again only if the server has lost the registration, or if the agent has lost the
            // key that the server has bound.
            trust_record = reason != NOT_REGISTERED && reason != KEY_REPLACED;
            self.status.publish(false, reason, message);
        }
        for mut tunnel in replaced {
            // The agent stops, so the reason of the end is not relevant.
            let _ = tunnel.closed().await;
        }
    }

    /// Opens a tunnel and serves it until it ends. When the server has replaced the key, opens a new
    /// tunnel, and adds the previous tunnel to `replaced`, so that its open streams continue.
    async fn session(
        &self,
        trust_record: bool,
        mut session: Session<'_>,
        replaced: &mut VecDeque<ServedTunnel>,
    ) -> Result<(), ConnectError> {
        let tunnel = tokio::select! {
            // Boxed, because the open tunnel does not need the memory of this future.
            tunnel = Box::pin(self.connect(trust_record)) => tunnel?,
            () = self.shutdown.cancelled() => return Ok(()),
        };
        session.opened();
        let mut served = self.serve(tunnel);
        let mut pause = Duration::ZERO;
        loop {
            let (binding, key) = (Arc::clone(&served.binding), served.key.clone());
            let requested = async {
                tokio::time::sleep(pause).await;
                self.keys.requested_instead_of(&key).await
            };
            let requested = tokio::select! {
                closed = served.closed() => return closed,
                () = self.binding_change(&binding) => {
                    for tunnel in replaced.iter().chain([&served]) {
                        tunnel.ended.cancel();
                    }
                    return served.closed().await;
                }
                requested = requested => requested,
            };
            let connected = tokio::select! {
                connected = Box::pin(self.connect_with(&requested)) => connected,
                () = self.shutdown.cancelled() => return served.closed().await,
            };
            match connected {
                Ok(tunnel) => {
                    pause = Duration::ZERO;
                    self.keys.finish();
                    replaced.retain(|tunnel| !tunnel.task.is_finished());
                    if replaced.len() == MAX_REPLACED_TUNNELS {
                        replaced.pop_front();
                    }
                    replaced.push_back(std::mem::replace(&mut served, self.serve(tunnel)));
                }
                Err(error) => {
                    pause = NEW_KEY_PAUSE;
                    let error = error_chain(&error);
                    warn!(
                        error,
                        "failed to open a tunnel with the new key; will retry"
                    );
                }
            }
        }
    }

    /// Starts the task that serves a tunnel until the server closes it or the agent stops.
    fn serve(&self, tunnel: OpenTunnel) -> ServedTunnel {
        let message = format!(
            "connected to {} as cluster {:?}, protocol {}",
            tunnel.binding.authority(),
            tunnel.member.cluster_name,
            tunnel.protocol
        );
        self.status.publish(true, "Connected", message);
        let ended = self.shutdown.child_token();
        let closed = CancellationToken::new();
        let closed_on_return = closed.clone().drop_guard();
        let key = tunnel.member.key.public().clone();
        let keys = TunnelKeys {
            rotation: Arc::clone(&self.keys),
            member: Arc::new(tunnel.member),
        };
        let context = Arc::new(TunnelContext {
            protocol: tunnel.protocol,
            closed,
            keys: Arc::new(keys),
        });
        let lanes = Arc::clone(&self.lanes);
        let service = service_fn(move |request: Request<Incoming>| {
            let (lanes, context) = (Arc::clone(&lanes), Arc::clone(&context));
            async move { Ok::<_, std::convert::Infallible>(lanes.serve(&context, request).await) }
        });
        let options = self.memory.as_ref();
        let options = options.map_or_else(ServeOptions::default, TunnelMemory::options);
        // A separate task, because the session's future can be part of the main thread's future. Each
        // poll of that future needs two context switches, and runs before the requests' tasks, so that
        // their frames would not be sent together.
        let serving = serve(tunnel.stream, service, options, ended.clone());
        let task = tokio::spawn(async move {
            let served = serving.await;
            drop(closed_on_return);
            served
        });
        ServedTunnel {
            binding: tunnel.binding,
            key,
            ended,
            task: AbortOnDropHandle::new(task),
        }
    }

    /// Reads the binding, and creates a client of the server.
    async fn server(&self) -> Result<(Arc<ServerBinding>, Server), ConnectError> {
        let binding = Arc::new(self.keys.enrollment.binding().await?);
        let server = Server::new(&binding)?
            .dialled_from(self.source)
            .dialled_through(self.proxy.clone());
        Ok((binding, server))
    }

    /// Reads the binding, registers if needed, and opens a tunnel.
    async fn connect(&self, trust_record: bool) -> Result<OpenTunnel, ConnectError> {
        let (binding, server) = self.server().await?;
        let enrolled = self.keys.enrollment.enroll(&binding, &server, trust_record);
        let member = enrolled.await?;
        let (stream, protocol, member) = self.open_with_bound_key(&server, member).await?;
        Ok(OpenTunnel {
            binding,
            member,
            stream,
            protocol,
        })
    }

    /// Opens a tunnel with the stored key that the server has asked the agent to use.
    async fn connect_with(&self, key: &PublicKey) -> Result<OpenTunnel, ConnectError> {
        let (binding, server) = self.server().await?;
        let enrolled = self.keys.enrollment.enroll(&binding, &server, true);
        let mut member = enrolled.await?;
        let others = std::mem::take(&mut member.other_keys);
        let mut stored = std::iter::once(Arc::clone(&member.key)).chain(others);
        let found = stored.find(|stored| stored.public() == key);
        member.key = found.ok_or(ConnectError::UnknownKey)?;
        let (stream, protocol) = self.open(&server, &member).await?;
        self.use_accepted_key(key).await;
        Ok(OpenTunnel {
            binding,
            member,
            stream,
            protocol,
        })
    }

    /// Makes a key that the server has accepted the current key. An error does not close the tunnel,
    /// because the agent tries all stored keys.
    async fn use_accepted_key(&self, key: &PublicKey) {
        if let Err(error) = self.keys.enrollment.use_key(key).await {
            let error = error_chain(&error);
            warn!(error, "failed to store which key the server has bound");
        }
    }

    /// Waits until the ConfigMap contains a different valid binding.
    async fn binding_change(&self, binding: &ServerBinding) {
        loop {
            tokio::time::sleep(BINDING_POLL_INTERVAL).await;
            match self.keys.enrollment.binding().await {
                Ok(current) if current != *binding => return,
                // An administrator may have applied the manifest again, with a token that is not
                // needed.
                Ok(_) => {
                    if let Err(error) = self.keys.enrollment.clean_up().await {
                        debug!(%error, "cannot delete the registration token; will retry");
                    }
                }
                Err(error) => debug!(%error, "cannot read the server binding; keeping the \
                                              connection"),
            }
        }
    }

    /// Opens a tunnel with the stored key that the server has bound.
    ///
    /// This is usually the current key. A crash during a key rotation, or the restore of a backup of the
    /// hub, can leave a different key bound.
    async fn open_with_bound_key(
        &self,
        server: &Server,
        mut member: Membership,
    ) -> Result<(Stream, Version, Membership), ConnectError> {
        let mut others = std::mem::take(&mut member.other_keys).into_iter();
        let mut refused = match self.open(server, &member).await {
            Ok((stream, version)) => return Ok((stream, version, member)),
            Err(error) => error,
        };
        while OTHER_KEY_BOUND.contains(&refused.reason()) {
            let Some(other) = others.next() else { break };
            member.key = other;
            match self.open(server, &member).await {
                Ok((stream, version)) => {
                    self.use_accepted_key(member.key.public()).await;
                    return Ok((stream, version, member));
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
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
        let authority = server.authority();
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

/// Returns a uniform random number in `0.0..1.0`, or 0.5 if the system has no randomness.
pub(crate) fn random_fraction() -> f64 {
    let mut bytes = [0; 4];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_be_bytes(bytes)) / (f64::from(u32::MAX) + 1.0),
        Err(_) => 0.5,
    }
}
