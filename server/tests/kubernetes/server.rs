//! A server for one test, on the hub of the test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_access::roles::{built_in_global_roles, built_in_role_templates};
use drover_charts::ChartSettings;
use drover_e2e::eventually;
use drover_git::FetcherSettings;
use drover_hub::lease::LeaseState;
use drover_server::memory::MemoryPlan;
use drover_server::wire::{self, EndError, ServerOptions};
use drover_telemetry::LogFilter;
use drover_tunnel::memory::MemoryLimit;
use reqwest::{Certificate, Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::place::{OpenMark, TestHub};

/// A password that satisfies the password rules.
pub(crate) const PASSWORD: &str = "a long enough password";
const SOON: Duration = Duration::from_secs(30);

/// A running server and its HTTP client.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) hub: drover_hub::Hub,
    pub(crate) trust: String,
    http: reqwest::Client,
    stop: CancellationToken,
    running: JoinHandle<Result<(), EndError>>,
    folder: TempDir,
    open: Option<OpenMark>,
}

/// The status code and body of the server's response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) body: Value,
    pub(crate) headers: reqwest::header::HeaderMap,
}

impl Answer {
    /// Asserts the status code. Returns the body.
    #[track_caller]
    pub(crate) fn expect(self, code: u16) -> Value {
        assert_eq!(self.code.as_u16(), code, "{}", self.body);
        self.body
    }
}

pub(crate) fn options(hub: &TestHub, first_password: Option<PathBuf>) -> ServerOptions {
    ServerOptions {
        hub: hub.options(),
        hub_webhook: None,
        git: FetcherSettings {
            program: env!("CARGO_BIN_EXE_drover").into(),
            arguments: vec!["git-worker".into()],
            cache_dir: hub.folder().join("git-cache"),
            limits: drover_git::Limits::default(),
            max_workers: 2,
        },
        charts: ChartSettings::new(
            Path::new(env!("CARGO_BIN_EXE_drover")).with_file_name("drover-render"),
            hub.folder().join("charts"),
        ),
        // The clusters of the tests listen on loopback addresses.
        import_loopback: drover_fleet::Loopback::Permitted,
        listen: "127.0.0.1:0".parse().unwrap(),
        proxies: drover_http_edge::listen::Proxies::default(),
        server_url: None,
        forward_domain: None,
        tls: None,
        first_password_file: first_password,
        demo: None,
        audit_log: hub.folder().join("drover-audit.log"),
        memory: MemoryPlan::of(MemoryLimit::new(None)),
        log_filter: LogFilter::detached(),
        log_filter_by_setting: true,
    }
}

impl Server {
    /// Starts a server, and waits until the server is ready.
    pub(crate) async fn start(on: &TestHub) -> Self {
        Self::start_with(on, |_| ()).await
    }

    /// Starts a server with changed options, and waits until the server is ready.
    pub(crate) async fn start_with(on: &TestHub, change: impl FnOnce(&mut ServerOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stop = CancellationToken::new();
        let mut options = options(on, Some(folder.path().join("first-password")));
        change(&mut options);
        let server = wire::start(options, stop.clone()).await.unwrap();
        let (address, hub, mut leadership) = (
            server.address(),
            server.hub().clone(),
            server.leadership().clone(),
        );
        let running = tokio::spawn(server.wait());
        let serving = leadership.wait_for(LeaseState::may_serve);
        tokio::time::timeout(SOON, serving).await.unwrap().unwrap();
        let open = on.opened(hub.client());
        let trust = authority(&hub).await;
        let http = client(&trust);
        let url = format!("https://{address}");
        Self {
            url,
            hub,
            trust,
            http,
            stop,
            running,
            folder,
            open,
        }
    }

    /// Returns the password of the first administrator if this server created the administrator.
    /// The rights of the administrator need the built-in roles, so they exist afterwards.
    pub(crate) async fn first_password(&self) -> String {
        self.wait_for_built_in_roles().await;
        let path = self.folder.path().join("first-password");
        for _ in 0..100 {
            if let Ok(text) = std::fs::read_to_string(&path)
                && text.ends_with('\n')
            {
                return text.trim_end().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the server wrote no first password");
    }

    /// Sends a request with a bearer token and a body.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<Value>,
    ) -> Answer {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers = bearer.as_deref().map(|bearer| ("authorization", bearer));
        self.call_with(method, path, headers.as_slice(), body).await
    }

    /// Sends a request with these headers and a body.
    pub(crate) async fn call_with(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Answer {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let (code, headers) = (response.status(), response.headers().clone());
        let bytes = response.bytes().await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer {
            code,
            body,
            headers,
        }
    }

    /// Sends a request. Returns the response body as text.
    pub(crate) async fn call_text(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
    ) -> (u16, String) {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Answer {
        self.call(Method::GET, path, Some(token), None).await
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: Value) -> Answer {
        self.call(Method::POST, path, Some(token), Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, token: &str, body: Value) -> Answer {
        self.call(Method::PUT, path, Some(token), Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str, token: &str) -> Answer {
        self.call(Method::DELETE, path, Some(token), None).await
    }

    /// Sends a login request and returns the response.
    pub(crate) async fn try_login(&self, name: &str, password: &str) -> Answer {
        let body = json!({ "username": name, "password": password });
        self.call(Method::POST, "/v1/login", None, Some(body)).await
    }

    /// Logs in and returns the token.
    pub(crate) async fn login(&self, name: &str, password: &str) -> String {
        token(&self.try_login(name, password).await.expect(201))
    }

    /// Changes the initial password, and logs in with the changed password.
    pub(crate) async fn first_login(&self, name: &str, password: &str) -> String {
        let change = self.login(name, password).await;
        let body = json!({ "current": password, "new": PASSWORD });
        self.post("/v1/me/password", &change, body)
            .await
            .expect(204);
        self.login(name, PASSWORD).await
    }

    /// Waits until the built-in roles exist. A controller creates the roles after the start.
    async fn wait_for_built_in_roles(&self) {
        let stores = self.hub.stores();
        eventually("the built-in roles", SOON, async || {
            let mut global = built_in_global_roles().into_iter();
            let mut templates = built_in_role_templates().into_iter();
            let exist = global.all(|role| stores.global_roles.by_name(role.name).is_some())
                && templates.all(|role| stores.role_templates.by_name(role.name).is_some());
            exist.then_some(()).ok_or("a role is missing")
        })
        .await
        .unwrap();
    }

    /// Logs in as the first administrator of a new hub. Returns the session token.
    pub(crate) async fn administrator(&self) -> String {
        let first = self.first_password().await;
        self.first_login("admin", &first).await
    }

    /// Creates a user, logs the user in and returns the session token.
    pub(crate) async fn user(&self, administrator: &str, name: &str) -> String {
        let first = "the very first password";
        let body = json!({ "name": name, "password": first });
        self.post("/v1/users", administrator, body)
            .await
            .expect(201);
        self.first_login(name, first).await
    }

    /// Stops the server gracefully.
    pub(crate) async fn stop(self) {
        drop(self.open);
        self.stop.cancel();
        tokio::time::timeout(SOON, self.running)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
    }
}

/// Returns the bearer token from a response body.
pub(crate) fn token(body: &Value) -> String {
    body["token"].as_str().unwrap().to_owned()
}

pub(crate) async fn authority(hub: &drover_hub::Hub) -> String {
    let secret = hub.secrets().get("server-ca").await.unwrap();
    String::from_utf8(secret.data.unwrap()["tls.crt"].0.clone()).unwrap()
}

pub(crate) fn client(trust: &str) -> reqwest::Client {
    reqwest::Client::builder()
        .tls_certs_only([Certificate::from_pem(trust.as_bytes()).unwrap()])
        .timeout(SOON)
        .build()
        .unwrap()
}
