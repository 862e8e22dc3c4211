//! A server with its proxy, users, clusters and a hub, all in memory.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::any;
use drover_access::token::{ForUsers, issue};
use drover_agent_gateway::tunnels::Tunnels;
use drover_api::ids::{ClusterUid, UserUid};
use drover_api::kinds::{
    Cluster, ClusterScope, ClusterSpec, Token, TokenPurpose, TokenSpec, User, UserSpec,
};
use drover_audit::{Audit, Destination};
use drover_history::{HistoryStore, ObjectHistories};
use drover_hub::{Hub, Keys, Stores};
use drover_identity::accounts::WatchableKinds;
use drover_identity::{Authenticator, LastUse};
use drover_proxy::{OpenStreams, Proxy, run_revocation};
use drover_reconcile::{LeaderGate, Runtime};
use drover_row_service::RowService;
use drover_telemetry::Metrics;
use http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::client::Body as KubeBody;
use secrecy::ExposeSecret as _;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Handler of the server's requests to the hub.
pub(super) type HubService = Arc<
    dyn Fn(Request<KubeBody>) -> futures::future::BoxFuture<'static, Response<KubeBody>>
        + Send
        + Sync,
>;

/// Timeout of each operation in these tests.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// The bearer token of a user, and its Token object.
pub(super) struct AuditCaller {
    pub(super) bearer: String,
    pub(super) token: Token,
}

/// The modules of the server that the tests call directly.
pub(super) struct Rig {
    pub(super) stores: Stores,
    pub(super) tunnels: Tunnels,
    pub(super) metrics: Metrics,
    pub(super) open: OpenStreams,
    pub(super) address: SocketAddr,
    pub(super) authenticator: Authenticator,
    /// The user ann, who is an administrator.
    pub(super) ann: AuditCaller,
    /// The user bob, who has no roles.
    pub(super) bob: AuditCaller,
    audit: Audit,
    folder: TempDir,
    stop: CancellationToken,
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(super) fn user(name: &str, administrator: bool) -> User {
    let mut user = User::new(
        name,
        UserSpec {
            display_name: Some(format!("{name} the user")),
            enabled: true,
            administrator,
            must_change_password: false,
        },
    );
    user.metadata.uid = Some(format!("uid-{name}"));
    user
}

pub(super) fn cluster(name: &str) -> Cluster {
    let mut cluster = Cluster::new(name, ClusterSpec::default());
    cluster.metadata.uid = Some(format!("uid-{name}"));
    cluster
}

pub(super) fn uid(name: &str) -> ClusterUid {
    ClusterUid::new(format!("uid-{name}"))
}

/// Creates a token of a user. Different seeds create different tokens.
pub(super) fn token(seed: u8, user: &str, scope: Option<&str>) -> AuditCaller {
    let issued = issue::<ForUsers>(&[seed; 32]);
    let token = Token::new(
        &issued.id,
        TokenSpec {
            user_name: user.to_owned(),
            user_uid: UserUid::new(format!("uid-{user}")),
            purpose: TokenPurpose::Api,
            hash: issued.hash.as_str().to_owned(),
            cluster: scope.map(|name| ClusterScope {
                name: name.to_owned(),
                uid: uid(name),
            }),
            provider: None,
            description: None,
            expires_at: Time(Timestamp::now() + jiff::SignedDuration::from_hours(1)),
            idle_seconds: None,
        },
    );
    AuditCaller {
        bearer: issued.token.expose_secret().to_owned(),
        token,
    }
}

impl Rig {
    /// Creates a rig with ann (administrator), bob, the clusters `a` and `b`, and a hub without
    /// objects.
    pub(super) async fn new() -> Self {
        Self::with_hub(Arc::new(|_| {
            Box::pin(async {
                let mut response = Response::new(KubeBody::empty());
                *response.status_mut() = http::StatusCode::NOT_FOUND;
                response
            })
        }))
        .await
    }

    pub(super) async fn with_hub(hub: HubService) -> Self {
        let stores = Stores::synced_empty();
        let (ann, bob) = (token(1, "ann", None), token(2, "bob", None));
        stores
            .users
            .replace(vec![user("ann", true), user("bob", false)]);
        stores
            .tokens
            .replace(vec![ann.token.clone(), bob.token.clone()]);
        stores.clusters.replace(vec![cluster("a"), cluster("b")]);
        let service = tower::service_fn(move |request| {
            let answer = hub(request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let client = kube::Client::new(service, "default");
        let hub = Hub::new(client, stores.clone(), Keys::generate().unwrap());
        let authenticator = Authenticator::new(hub.clone(), LastUse::default());
        let folder = TempDir::new().unwrap();
        let metrics = Metrics::new();
        let audit =
            Audit::open(&Destination::named(folder.path().join("audit")), &metrics).unwrap();
        let (tunnels, open) = (Tunnels::new(&metrics), OpenStreams::new());
        let handler = Proxy::new(
            hub,
            authenticator.clone(),
            tunnels.clone(),
            open.clone(),
            audit.clone(),
            metrics.clone(),
        );
        let stop = CancellationToken::new();
        let accounts = authenticator.accounts().clone();
        let watched = authenticator.clone();
        let runtime = Runtime {
            metrics: drover_reconcile::Metrics::default(),
            leader: LeaderGate::always_open(),
            stop: stop.clone(),
        };
        let revocation = run_revocation(open.clone(), stores.clone(), watched, runtime.clone());
        tokio::spawn(revocation);
        tokio::spawn(accounts.run(WatchableKinds::All, runtime));
        let versions = HistoryStore::new(1 << 20);
        let handler = Arc::new(handler.with_write_observer(Arc::new(versions.clone())));
        let rows = RowService::new(
            Arc::clone(&handler),
            authenticator.clone(),
            64 << 20,
            versions.clone(),
            stop.clone(),
        );
        let histories = ObjectHistories::new(versions, Arc::clone(&handler), authenticator.clone());
        let serve = any(async move |request: axum::extract::Request| handler.serve(request).await);
        let router = Router::new()
            .route("/k8s/clusters/{*rest}", serve)
            .merge(drover_row_service::router(rows))
            .merge(drover_history::router(histories));
        let address = listen(router, stop.clone()).await;
        Self {
            stores,
            tunnels,
            metrics,
            open,
            address,
            authenticator,
            ann,
            bob,
            audit,
            folder,
            stop,
        }
    }

    /// Returns the current records of the audit log.
    pub(super) async fn audit(&self) -> Vec<serde_json::Value> {
        self.audit_text()
            .await
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub(super) async fn audit_text(&self) -> String {
        self.audit.flush().await;
        std::fs::read_to_string(self.audit_path()).unwrap()
    }

    pub(super) fn audit_path(&self) -> PathBuf {
        self.folder.path().join("audit")
    }

    /// Waits for an audit record for which `expected` returns true, and returns the record.
    pub(super) async fn audited(
        &self,
        expected: impl Fn(&serde_json::Value) -> bool,
    ) -> serde_json::Value {
        eventually("the audit record", async || {
            self.audit().await.into_iter().find(|r| expected(r))
        })
        .await
    }
}

/// Polls until `ask` returns `Some`.
pub(super) async fn eventually<T>(name: &str, ask: impl AsyncFn() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, asking)
        .await
        .unwrap_or_else(|_| panic!("timed out while waiting for {name}"))
}

/// Serves a router like the server's listener, but without TLS.
pub(super) async fn listen(router: Router, stop: CancellationToken) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let service = TowerToHyperService::new(router.clone());
            tokio::spawn(async move {
                let mut builder = auto::Builder::new(TokioExecutor::new());
                builder.http2().enable_connect_protocol();
                let _ = builder
                    .serve_connection_with_upgrades(TokioIo::new(stream), service)
                    .await;
            });
        }
    };
    tokio::spawn(async move {
        stop.run_until_cancelled(accepting).await;
    });
    address
}
