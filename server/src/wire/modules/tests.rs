//! Every route of the whole server, called without the right that it demands.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use drover_access::token::{ForUsers, UserToken, issue};
use drover_api::ids::{ClusterUid, UserUid};
use drover_api::kinds::{
    Cluster, ClusterScope, ClusterSpec, Token, TokenPurpose, TokenSpec, User, UserSpec,
};
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
use crate::hub::lease::Leadership;
use crate::hub::{Hub, Keys, Stores};
use crate::identity::Passwords;
use crate::routes::{ROUTES, Right, Route};
use crate::settings::Settings;
use crate::status::Status;
use crate::telemetry::LogFilter;

/// The whole server before a hub that has nothing and counts what would change it.
struct Whole {
    router: Router,
    stores: Stores,
    writes: Arc<AtomicUsize>,
    folder: tempfile::TempDir,
}

impl Whole {
    fn new() -> Self {
        let (writes, stores) = (Arc::new(AtomicUsize::new(0)), Stores::of_an_empty_hub());
        stores.clusters.replace(vec![cluster()]);
        let client = kube::Client::new(barren(Arc::clone(&writes)), "default");
        let hub = Hub::new(client, stores.clone(), Keys::generate().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let base = Base {
            hub,
            hub_metrics: HubMetrics::default(),
            // A hub that asks over HTTP has one route more, so this is the larger server.
            hub_asks_in_process: false,
            settings: Settings::new(stores.clone(), "https://127.0.0.1:8443"),
            leadership: Leadership::alone(),
            tasks: TaskTracker::new(),
            // Nothing in the background may write to the hub here.
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
            writes,
            folder,
        }
    }

    /// Puts a user with one token into the stores, and gives the token.
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
        let path = route
            .path
            .replace("{name}", "shop")
            .replace("{id}", "bcdfghjkmnpq")
            .replace("{code}", "BCDF-GHJK");
        let path = path.replace("{*rest}", "shop/api/v1/pods");
        let mut request = Request::builder()
            .method(route.method.clone())
            .uri(path)
            .header(CONTENT_TYPE, "application/json")
            .extension(ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 4711))));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self
            .router
            .clone()
            .oneshot(request.body(Body::from("{}")).unwrap())
            .await
            .unwrap();
        let code = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }
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
        hub: HubOptions::Pod,
        hub_webhook: None,
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        server_url: None,
        tls: None,
        first_password_file: None,
        demo: None,
        audit_log: folder.join("audit.log"),
        log_filter: LogFilter::apart(),
        log_filter_by_setting: false,
    }
}

/// A hub without objects.
fn barren(
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

#[tokio::test]
async fn no_route_does_anything_for_a_stranger() {
    let whole = Whole::new();
    let unknown = issue::<ForUsers>(&[99; 32]);
    for route in ROUTES {
        for token in [None, Some(unknown.token.expose_secret()), Some("nonsense")] {
            let (code, body) = whole.call(route, token).await;
            let what = format!("{route:?} with {token:?}: {code} {body}");
            match route.right {
                Right::Anyone => assert_ne!(code, StatusCode::UNAUTHORIZED, "{what}"),
                // Agents prove themselves by what they sign, so a body may be judged first.
                Right::Agent => {
                    assert!(code.is_client_error(), "{what}");
                    assert_ne!(code, StatusCode::NOT_FOUND, "{what}");
                }
                _ => assert_eq!(code, StatusCode::UNAUTHORIZED, "{what}"),
            }
            if code.is_client_error() {
                assert_eq!(body["kind"], "Status", "{what}");
                assert_eq!(body["code"], code.as_u16(), "{what}");
                assert!(
                    body["message"].as_str().is_some_and(|m| !m.is_empty()),
                    "{what}"
                );
            }
        }
    }
    assert_eq!(
        whole.writes.load(Ordering::SeqCst),
        0,
        "the hub is as it was"
    );
}

#[tokio::test]
async fn no_route_does_anything_for_a_session_that_another_page_uses_or_that_is_none() {
    let whole = Whole::new();
    let session = whole.person(true, TokenPurpose::Browser, None);
    let program = whole.person(true, TokenPurpose::Session, None);
    let unknown = issue::<ForUsers>(&[99; 32]);
    let cookie = |token: &str| format!("__Host-drover={token}");
    let csrf = |token: &str| UserToken::parse(token).unwrap().csrf_token();
    let unknown = unknown.token.expose_secret();
    let (cookie_of, csrf_of) = (cookie(&session), csrf(&session));
    let (program_cookie, program_csrf) = (cookie(&program), csrf(&program));
    let (unknown_cookie, unknown_csrf) = (cookie(unknown), csrf(unknown));
    let host = ("host", "d.example");
    let (own, evil) = (
        ("origin", "https://d.example"),
        ("origin", "https://evil.example"),
    );
    let shown = ("x-drover-csrf", &*csrf_of);
    for route in ROUTES {
        if matches!(route.right, Right::Anyone | Right::Agent) {
            continue;
        }
        let mut refused = vec![
            (vec![("cookie", &*cookie_of), host, evil, shown], 403),
            (
                vec![
                    ("cookie", &*program_cookie),
                    host,
                    own,
                    ("x-drover-csrf", &*program_csrf),
                ],
                401,
            ),
            (
                vec![
                    ("cookie", &*unknown_cookie),
                    host,
                    own,
                    ("x-drover-csrf", &*unknown_csrf),
                ],
                401,
            ),
        ];
        if route.method != Method::GET {
            refused.push((vec![("cookie", &*cookie_of), host, own], 403));
            refused.push((vec![("cookie", &*cookie_of), host, shown], 403));
        }
        for (headers, wanted) in refused {
            let (code, body) = whole.call_with(route, &headers).await;
            assert_eq!(code.as_u16(), wanted, "{route:?} {headers:?}: {body}");
        }
    }
    let sign_in = Route {
        method: Method::POST,
        path: "/v1/session",
        right: Right::Anyone,
    };
    let (code, body) = whole.call_with(&sign_in, &[host, evil]).await;
    assert_eq!(code, StatusCode::FORBIDDEN, "{body}");
    assert_eq!(
        whole.writes.load(Ordering::SeqCst),
        0,
        "the hub is as it was"
    );
}

#[tokio::test]
async fn a_token_opens_only_what_it_was_made_for() {
    let whole = Whole::new();
    let person = whole.person(false, TokenPurpose::Session, None);
    let change = whole.person(true, TokenPurpose::PasswordChange, None);
    let elsewhere = whole.person(true, TokenPurpose::Kubeconfig, Some("another-uid"));
    let here = whole.person(true, TokenPurpose::Kubeconfig, Some("shop-uid"));
    let credential = whole.person(true, TokenPurpose::Credential, None);
    for route in ROUTES {
        for (who, token, opens) in [
            (
                "a person without a role",
                &person,
                vec![Right::Person, Right::AnyToken],
            ),
            ("a password to be changed", &change, vec![Right::AnyToken]),
            (
                "a token of another cluster",
                &elsewhere,
                vec![Right::AnyToken],
            ),
            (
                "a token of this cluster",
                &here,
                vec![Right::AnyToken, Right::Permit],
            ),
            (
                "a token for kubectl",
                &credential,
                vec![Right::AnyToken, Right::Permit],
            ),
        ] {
            // These would end the token itself, or answer 403 for the want of something else.
            let special = [
                "/v1/logout",
                "/v1/me/password",
                "/v1/session",
                "/v1/sessions",
            ]
            .contains(&route.path);
            if special || matches!(route.right, Right::Anyone | Right::Agent) {
                continue;
            }
            let (code, body) = whole.call(route, Some(token)).await;
            let refused = code == StatusCode::FORBIDDEN;
            assert_eq!(
                refused,
                !opens.contains(&route.right),
                "{who}: {route:?}: {code} {body}"
            );
        }
    }
    assert_eq!(
        whole.writes.load(Ordering::SeqCst),
        0,
        "the hub is as it was"
    );
}

#[tokio::test]
async fn a_clusters_owner_imports_it_and_who_sees_it_only_does_not() {
    use serde_json::json;
    let whole = Whole::new();
    let import = Route {
        method: Method::POST,
        path: "/v1/clusters/{name}/import",
        right: Right::Person,
    };
    let everything = json!([
        { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
        { "nonResourceURLs": ["*"], "verbs": ["*"] },
    ]);
    let nodes = json!([{ "apiGroups": [""], "resources": ["nodes"], "verbs": ["get"] }]);
    for (role, rules) in [("owner", everything), ("viewer", nodes)] {
        let template = json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "RoleTemplate",
            "metadata": { "name": role, "uid": role },
            "spec": { "context": "Cluster", "rules": rules },
        });
        let template = serde_json::from_value(template).unwrap();
        whole.stores.role_templates.apply(template);
    }
    for (number, (role, wanted, writes)) in [
        (None, StatusCode::NOT_FOUND, false),
        (Some("viewer"), StatusCode::FORBIDDEN, false),
        // The hub of these tests takes nothing, but was asked to.
        (Some("owner"), StatusCode::NOT_FOUND, true),
    ]
    .into_iter()
    .enumerate()
    {
        let token = whole.person(false, TokenPurpose::Session, None);
        let user = format!("user-{number}");
        if let Some(role) = role {
            let binding = json!({
                "apiVersion": "management.drover.dev/v1alpha1",
                "kind": "ClusterRoleTemplateBinding",
                "metadata": { "name": role, "uid": role },
                "spec": {
                    "cluster": { "name": "shop", "uid": "shop-uid" },
                    "role": { "name": role, "uid": role },
                    "subject": { "user": { "name": user, "uid": user } },
                },
            });
            let binding = serde_json::from_value(binding).unwrap();
            let mirror = &whole.stores.cluster_role_template_bindings;
            mirror.apply(binding);
        }
        let (code, body) = whole.call(&import, Some(&token)).await;
        assert_eq!(code, wanted, "{role:?}: {body}");
        let wrote = whole.writes.load(Ordering::SeqCst) > 0;
        assert_eq!(wrote, writes, "{role:?}");
    }
}

#[tokio::test]
async fn what_is_listed_exists_and_what_is_not_does_not() {
    let whole = Whole::new();
    let admin = whole.person(true, TokenPurpose::Session, None);
    for route in ROUTES {
        let (code, body) = whole.call(route, Some(&admin)).await;
        let message = body["message"].as_str().unwrap_or_default();
        assert!(
            !message.contains("nothing at this path"),
            "{route:?}: {code} {body}"
        );
        assert_ne!(code, StatusCode::METHOD_NOT_ALLOWED, "{route:?}");
    }
    for (method, path, wanted) in [
        (Method::GET, "/v1/nothing", 404),
        (Method::GET, "/clusters", 404),
        (Method::POST, "/", 405),
        (Method::DELETE, "/v1/version", 405),
        (Method::GET, "/v1/login", 405),
    ] {
        let route = Route {
            method,
            path,
            right: Right::Anyone,
        };
        let (code, body) = whole.call(&route, None).await;
        assert_eq!(
            (code.as_u16(), &body["kind"]),
            (wanted, &Value::from("Status")),
            "{route:?}"
        );
    }
}

#[tokio::test]
async fn a_name_that_is_no_text_is_refused_as_everything_else_is() {
    let whole = Whole::new();
    let admin = whole.person(true, TokenPurpose::Session, None);
    for route in ROUTES.iter().filter(|route| route.path.contains('{')) {
        // What is before anyone's eyes has no name to hide.
        if route.path.starts_with("/k8s/") || route.right == Right::Anyone {
            continue;
        }
        let named = ["{name}", "{id}", "{code}"];
        let path = named.iter().fold(route.path.to_owned(), |path, name| {
            path.replace(name, "%ff")
        });
        let junk = Route {
            method: route.method.clone(),
            path: path.leak(),
            right: route.right,
        };
        let (code, body) = whole.call(&junk, Some(&admin)).await;
        assert_eq!(body["kind"], "Status", "{junk:?}: {code} {body}");
        assert_eq!(code, StatusCode::BAD_REQUEST, "{junk:?}: {body}");
        // Who may not ask learns nothing about the path.
        let (code, body) = whole.call(&junk, None).await;
        assert_eq!(code, StatusCode::UNAUTHORIZED, "{junk:?}: {body}");
    }
}

#[test]
fn the_document_holds_exactly_the_routes_under_v1() {
    let document = serde_json::to_value(crate::rest::document()).unwrap();
    let documented: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(|method| (path.clone(), method.to_uppercase()))
        })
        .collect();
    let listed: BTreeSet<(String, String)> = ROUTES
        .iter()
        .filter(|route| route.path.starts_with("/v1/") && route.path != "/v1/openapi.json")
        .map(|route| (route.path.to_owned(), route.method.to_string()))
        .collect();
    assert_eq!(documented, listed);
}

/// Routers cannot be enumerated, so the source is: every path literal that is routed by hand.
#[test]
fn no_route_in_the_source_is_missing_from_the_table() {
    let mut missing = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut found = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name != "tests.rs") {
                let source = std::fs::read_to_string(&path).unwrap();
                // What follows is tests' own.
                let source = source.split("#[cfg(test)]").next().unwrap_or_default();
                for call in [".route(", ".route_service(", ".nest(", ".nest_service("] {
                    for rest in source.split(call).skip(1) {
                        found += 1;
                        let literal = rest.trim_start().strip_prefix('"');
                        let routed = literal.and_then(|text| text.split('"').next());
                        if !ROUTES.iter().any(|route| Some(route.path) == routed) {
                            missing.push((path.clone(), routed.map(str::to_owned)));
                        }
                    }
                }
            }
        }
    }
    assert!(missing.is_empty(), "add to routes.rs: {missing:?}");
    assert!(found >= 5, "the search finds routes at all");
}

#[tokio::test]
async fn answers_of_the_api_cannot_act_in_a_browser() {
    let whole = Whole::new();
    for (path, kind) in [
        ("/v1/version", "application/json"),
        ("/v1/me", "application/json"),
    ] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = whole.router.clone().oneshot(request).await.unwrap();
        let header = |name: &str| response.headers().get(name).map(|v| v.to_str().unwrap());
        assert_eq!(header("content-type"), Some(kind));
        assert_eq!(header("x-content-type-options"), Some("nosniff"));
        assert_eq!(header("cache-control"), Some("no-store"));
        assert!(header("content-security-policy").is_some_and(|p| p.contains("'none'")));
    }
}

#[tokio::test]
async fn a_body_without_end_is_cut_at_its_limit() {
    let whole = Whole::new();
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let endless = futures::stream::repeat_with(move || {
        counted.fetch_add(16 * 1024, Ordering::SeqCst);
        Ok::<_, std::io::Error>(bytes::Bytes::from_static(&[b' '; 16 * 1024]))
    });
    let request = Request::post("/v1/login")
        .header(CONTENT_TYPE, "application/json")
        .extension(ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 4711))))
        .body(Body::from_stream(endless))
        .unwrap();
    let response = whole.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(sent.load(Ordering::SeqCst) <= 128 * 1024);
}

/// Records of the audit log that come up to `wanted`.
async fn recorded(whole: &Whole, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let reading = async {
        loop {
            let text = std::fs::read_to_string(whole.folder.path().join("audit.log")).unwrap();
            let lines: Vec<Value> = text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect();
            if wanted(&lines) {
                return lines;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let limit = std::time::Duration::from_secs(20);
    let read = tokio::time::timeout(limit, reading).await;
    read.expect("the records come")
}

#[tokio::test]
async fn every_change_under_v1_and_every_refusal_is_recorded_with_who_asked() {
    let whole = Whole::new();
    let admin = whole.person(true, TokenPurpose::Session, None);
    let person = whole.person(false, TokenPurpose::Session, None);
    let mut wanted = 0;
    for route in ROUTES {
        // These end the token, or count for the agents.
        let special = ["/v1/logout", "/v1/me/password"].contains(&route.path);
        let people = matches!(route.right, Right::Person | Right::Administrator);
        if special || !people || !route.path.starts_with("/v1/") {
            continue;
        }
        let (code, _) = whole.call(route, Some(&admin)).await;
        wanted += usize::from(route.method != Method::GET);
        let refused = [401, 403, 429].contains(&code.as_u16());
        assert!(!refused, "{route:?}: {code}");
        let (code, _) = whole.call(route, Some(&person)).await;
        wanted += usize::from(route.method != Method::GET || code == StatusCode::FORBIDDEN);
    }
    let lines = recorded(&whole, |lines| lines.len() >= wanted).await;
    assert_eq!(lines.len(), wanted, "nothing else is recorded: {lines:#?}");
    for line in &lines {
        let (path, method) = (line["path"].as_str(), line["method"].as_str());
        let listed =
            |route: &&Route| Some(route.path) == path && Some(route.method.as_str()) == method;
        assert!(ROUTES.iter().any(|route| listed(&route)), "{line}");
        assert_eq!(line["source"], "192.0.2.1", "{line}");
        assert!(line["code"].is_u64() && line["token"].is_string(), "{line}");
        let user = line["user"].as_str().unwrap();
        assert!(["user-0", "user-1"].contains(&user), "{line}");
    }
}

#[tokio::test]
async fn an_administrator_reads_back_who_was_refused_what() {
    let whole = Whole::new();
    let admin = whole.person(true, TokenPurpose::Session, None);
    let person = whole.person(false, TokenPurpose::Session, None);
    let route = |path| Route {
        method: Method::GET,
        path,
        right: Right::Administrator,
    };
    whole.call(&route("/v1/users"), Some(&person)).await;
    whole.call(&route("/v1/settings"), Some(&person)).await;
    recorded(&whole, |lines| lines.len() >= 2).await;
    let page = route("/v1/audit?user=user-1&code=403&limit=1");
    let (code, body) = whole.call(&page, Some(&admin)).await;
    assert_eq!(code, StatusCode::OK, "{body}");
    let (items, source) = (&body["items"], &body["source"]);
    assert_eq!(
        (&items[0]["path"], source),
        (&"/v1/settings".into(), &"file".into())
    );
    assert!(items[1].is_null(), "one was asked for: {body}");
    let next = body["continue"].as_str().unwrap();
    let next: &'static str = format!("/v1/audit?user=user-1&continue={next}").leak();
    let (_, body) = whole.call(&route(next), Some(&admin)).await;
    assert_eq!(body["items"][0]["path"], "/v1/users", "{body}");
    assert_eq!(body["continue"], Value::Null, "{body}");
    let (code, body) = whole.call(&page, Some(&person)).await;
    assert_eq!(code, StatusCode::FORBIDDEN, "{body}");
    let gone = route("/v1/audit?continue=f-1-1");
    let (code, body) = whole.call(&gone, Some(&admin)).await;
    assert_eq!(
        (code, &body["reason"]),
        (StatusCode::GONE, &"Expired".into())
    );
}

#[tokio::test]
async fn a_failed_login_is_recorded_without_what_was_typed() {
    let whole = Whole::new();
    whole.person(false, TokenPurpose::Session, None);
    for name in ["user-0", "hunter2-hunter2"] {
        let request = Request::post("/v1/login")
            .header(CONTENT_TYPE, "application/json")
            .extension(ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 4711))))
            .body(Body::from(format!(
                r#"{{"username":"{name}","password":"hunter2-hunter2"}}"#
            )))
            .unwrap();
        let response = whole.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    }
    let counted = |lines: &[Value]| lines.iter().any(|line| line["count"] == 1);
    let lines = recorded(&whole, counted).await;
    assert_eq!(lines[0]["path"], "/v1/login");
    assert_eq!(
        (&lines[0]["object"], &lines[0]["user"]),
        (&"user-0".into(), &Value::Null)
    );
    assert!(!format!("{lines:?}").contains("hunter2"), "{lines:?}");
}
