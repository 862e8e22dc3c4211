//! Tests of the complete server through its routes.

mod changes;
mod git;
mod global_roles;
mod hub_tokens;
mod listed;
mod named;
mod recorded;
mod revoked;
mod rights;
mod shared;
mod views;

use drover_reconcile::Runtime;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::extract::ConnectInfo;
use drover_access::token::{ForUsers, issue};
use drover_api::ids::{ClusterUid, UserUid};
use drover_api::kinds::{
    Cluster, ClusterScope, ClusterSpec, Token, TokenPurpose, TokenSpec, User, UserSpec,
};
use drover_git::FetcherSettings;
use drover_tunnel::memory::MemoryLimit;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use super::super::certificate::Certificate;
use super::super::{Base, HubMetrics, HubOptions, ServerOptions};
use super::build;
use crate::memory::MemoryPlan;
use crate::wire::gate::Gate;
use drover_http_edge::routes::{Right, Route};
use drover_http_edge::status::Status;
use drover_hub::lease::Leadership;
use drover_hub::settings::Settings;
use drover_hub::{Hub, Keys, Stores};
use drover_identity::{Passwords, SignInSources};
use drover_port_forwards::ForwardDomain;
use drover_rest::routes;
use drover_telemetry::LogFilter;

/// A server with all its modules and a fake hub.
struct TestServer {
    router: Gate,
    stores: Stores,
    /// Number of write requests that the fake hub received.
    writes: Arc<AtomicUsize>,
    folder: tempfile::TempDir,
    sources: SignInSources,
}

impl TestServer {
    /// Creates a server with a hub that contains no objects.
    fn new() -> Self {
        let writes = Arc::new(AtomicUsize::new(0));
        let client = kube::Client::new(empty_hub(Arc::clone(&writes)), "default");
        Self {
            writes,
            ..Self::with_client(client)
        }
    }

    /// Creates a server with this hub client. The stores contain one cluster.
    fn with_client(client: kube::Client) -> Self {
        let stores = Stores::synced_empty();
        stores.clusters.replace(vec![cluster()]);
        let hub = Hub::new(client, stores.clone(), Keys::generate().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let sources = SignInSources::default();
        let base = Base {
            hub,
            hub_metrics: HubMetrics::default(),
            // A hub that calls the webhook over HTTP needs an additional route, so this option
            // includes all routes.
            hub_is_embedded: false,
            settings: Settings::new(stores.clone(), "https://127.0.0.1:8443"),
            sign_in_sources: sources.clone(),
            leadership: Leadership::alone(),
            runtime: Runtime {
                metrics: drover_reconcile::Metrics::default(),
                leader: Leadership::alone().gate(),
                stop: cancelled(),
            },
            tasks: TaskTracker::new(),
            // Background tasks must not write to the hub here.
            stop: cancelled(),
        };
        let certificate = Certificate::self_signed();
        let router = build(
            &base,
            &options(folder.path()),
            Passwords::new().unwrap(),
            &certificate,
        );
        Self {
            router: router.unwrap(),
            stores,
            writes: Arc::default(),
            folder,
            sources,
        }
    }

    /// Creates a user with one token in the stores and returns the token.
    fn person(&self, administrator: bool, purpose: TokenPurpose, scope: Option<&str>) -> String {
        let number = u8::try_from(self.stores.tokens.len()).unwrap();
        let issued = issue::<ForUsers>(&[number + 1; 32]);
        let uid = format!("user-{number}");
        let mut user = User::new(
            &uid,
            UserSpec {
                display_name: None,
                enabled: true,
                administrator,
                must_change_password: false,
            },
        );
        user.metadata.uid = Some(uid.clone());
        let mut token = Token::new(
            &issued.id,
            TokenSpec {
                user_name: uid.clone(),
                user_uid: UserUid::new(uid),
                purpose,
                hash: issued.hash.as_str().to_owned(),
                cluster: scope.map(|uid| ClusterScope {
                    name: "shop".to_owned(),
                    uid: ClusterUid::new(uid),
                }),
                provider: None,
                description: None,
                expires_at: Time(Timestamp::MAX),
                idle_seconds: None,
            },
        );
        token.metadata.uid = Some(issued.id);
        self.stores.users.apply(user);
        self.stores.tokens.apply(token);
        issued.token.expose_secret().to_owned()
    }

    async fn call(&self, route: &Route, token: Option<&str>) -> (StatusCode, Value) {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers = bearer
            .as_deref()
            .map(|bearer| (AUTHORIZATION.as_str(), bearer));
        self.call_with(route, headers.as_slice()).await
    }

    async fn call_with(&self, route: &Route, headers: &[(&str, &str)]) -> (StatusCode, Value) {
        let path = path_of(route);
        let headers = headers.iter().copied();
        self.ask(route.method.clone(), &path, headers, "{}".into())
            .await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        token: &str,
        body: Value,
    ) -> (StatusCode, Value) {
        let bearer = format!("Bearer {token}");
        let headers = [(AUTHORIZATION.as_str(), &*bearer)].into_iter();
        self.ask(method, path, headers, body.to_string()).await
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: impl Iterator<Item = (&str, &str)>,
        body: String,
    ) -> (StatusCode, Value) {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, "application/json")
            .extension(ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 4711))));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(body)).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let code = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }
}

/// Returns the path of a route, with a valid value for each parameter.
fn path_of(route: &Route) -> String {
    let path = route.path.replace("{name}", "shop");
    let path = path.replace("{id}", "bcdfghjkmnpq");
    let path = path.replace("{code}", "BCDF-GHJK");
    let path = path.replace(
        "{repo}/info/refs",
        "{repo}/info/refs?service=git-upload-pack",
    );
    let path = path.replace("{repo}", "shop.git");
    path.replace("{*rest}", "shop/api/v1/pods")
}

fn cancelled() -> CancellationToken {
    let stop = CancellationToken::new();
    stop.cancel();
    stop
}

fn cluster() -> Cluster {
    let mut cluster = Cluster::new("shop", ClusterSpec::default());
    cluster.metadata.uid = Some("shop-uid".to_owned());
    cluster
}

fn options(folder: &Path) -> ServerOptions {
    ServerOptions {
        import_loopback: drover_fleet::Loopback::Forbidden,
        hub: HubOptions::Pod,
        hub_webhook: None,
        git: FetcherSettings {
            program: "drover".into(),
            arguments: vec!["git-worker".into()],
            cache_dir: folder.join("git-cache"),
            limits: drover_git::Limits::default(),
            max_workers: 1,
        },
        charts: drover_charts::ChartSettings::new("drover-render", folder.join("charts")),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        proxies: drover_http_edge::listen::Proxies::default(),
        server_url: None,
        forward_domain: Some(ForwardDomain::loopback()),
        tls: None,
        first_password_file: None,
        demo: None,
        audit_log: folder.join("audit.log"),
        memory: MemoryPlan::of(MemoryLimit::new(None)),
        log_filter: LogFilter::detached(),
        log_filter_by_setting: false,
    }
}

/// Returns a fake hub without objects.
fn empty_hub(
    writes: Arc<AtomicUsize>,
) -> impl tower::Service<
    Request<kube::client::Body>,
    Response = http::Response<kube::client::Body>,
    Error = tower::BoxError,
    Future: Send,
> + Send
+ 'static {
    tower::service_fn(move |request: Request<kube::client::Body>| {
        if request.method() != Method::GET {
            writes.fetch_add(1, Ordering::SeqCst);
        }
        let body = serde_json::to_vec(&Status::not_found("Thing", "x").to_meta()).unwrap();
        let mut response = http::Response::new(kube::client::Body::from(body));
        *response.status_mut() = StatusCode::NOT_FOUND;
        std::future::ready(Ok(response))
    })
}
