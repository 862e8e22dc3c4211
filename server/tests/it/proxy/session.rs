//! Tests of browser sessions at the proxy (attack groups 13 and 14).

use bytes::Bytes;
use drover_access::token::UserToken;
use drover_api::kinds::TokenPurpose;
use http::Request;
use http_body_util::Full;

use super::client::{empty, send};
use super::cluster::Cluster;
use super::rig::{AuditCaller, Rig, token};

const PODS: &str = "/k8s/clusters/a/api/v1/namespaces/n/pods";
const HERE: (&str, &str) = ("origin", "https://drover.example");
const ELSEWHERE: (&str, &str) = ("origin", "https://evil.example");

/// Creates a browser session of the user ann.
fn signed_in(rig: &Rig) -> AuditCaller {
    let mut ann = token(9, "ann", None);
    ann.token.spec.purpose = TokenPurpose::Browser;
    rig.stores.tokens.apply(ann.token.clone());
    ann
}

/// Builds a request with the headers that a browser adds to requests of a page.
fn sent(
    person: &AuditCaller,
    method: &str,
    path: &str,
    page: &[(&str, &str)],
) -> Request<Full<Bytes>> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "drover.example")
        .header("cookie", format!("__Host-drover={}", person.bearer));
    for (name, value) in page {
        request = request.header(*name, *value);
    }
    request.body(empty()).unwrap()
}

#[tokio::test]
async fn session_cookie_authenticates_cluster_requests_and_is_not_forwarded() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let ann = signed_in(&rig);
    let csrf = UserToken::parse(&ann.bearer).unwrap().csrf_token();
    let own = [HERE, ("x-drover-csrf", csrf.as_str())];
    let fetched = [
        ("sec-fetch-dest", "empty"),
        ("sec-fetch-site", "same-origin"),
    ];
    for (method, page) in [("GET", &fetched[..]), ("GET", &own[..1]), ("POST", &own)] {
        let got = send(&rig, sent(&ann, method, PODS, page)).await;
        assert_eq!(got.code(), 200, "{method} {page:?}");
    }
    let seen = cluster.seen.lock();
    assert_eq!(seen.len(), 3);
    for head in seen.iter() {
        for name in ["cookie", "x-drover-csrf", "authorization"] {
            assert!(!head.headers.contains_key(name), "{name}");
        }
    }
}

#[tokio::test]
async fn cross_origin_requests_with_a_session_cookie_are_rejected() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let ann = signed_in(&rig);
    let csrf = UserToken::parse(&ann.bearer).unwrap().csrf_token();
    let shown = ("x-drover-csrf", csrf.as_str());
    let websocket = [("connection", "upgrade"), ("upgrade", "websocket")];
    let exec = "/k8s/clusters/a/api/v1/namespaces/n/pods/p/exec?command=sh&stdin=true";
    for (method, path, page) in [
        ("GET", PODS, vec![ELSEWHERE]),
        ("GET", PODS, vec![("origin", "null")]),
        ("GET", PODS, vec![("sec-fetch-site", "cross-site")]),
        ("GET", PODS, vec![("sec-fetch-site", "same-site")]),
        ("POST", PODS, vec![HERE]),
        ("POST", PODS, vec![ELSEWHERE, shown]),
        ("DELETE", PODS, vec![shown]),
        ("GET", exec, vec![websocket[0], websocket[1]]),
        ("GET", exec, vec![websocket[0], websocket[1], ELSEWHERE]),
        (
            "GET",
            exec,
            vec![
                websocket[0],
                websocket[1],
                ("user-agent", "kubectl/v1.36.3"),
            ],
        ),
    ] {
        let got = send(&rig, sent(&ann, method, path, &page)).await;
        assert_eq!(got.code(), 403, "{method} {path} {page:?}");
    }
    assert!(cluster.seen.lock().is_empty());
}

#[tokio::test]
async fn session_token_is_rejected_as_bearer_token_and_with_a_second_credential() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let ann = signed_in(&rig);
    let bearer = format!("Bearer {}", ann.bearer);
    let other = format!("Bearer {}", rig.ann.bearer);
    let without_cookie = Request::get(PODS)
        .header("host", "drover.example")
        .header("authorization", bearer)
        .body(empty())
        .unwrap();
    assert_eq!(send(&rig, without_cookie).await.code(), 401);
    let both = sent(&ann, "GET", PODS, &[("authorization", &other)]);
    assert_eq!(send(&rig, both).await.code(), 400);
    // An API token in the session cookie is not a session.
    let program = sent(&rig.ann, "GET", PODS, &[]);
    assert_eq!(send(&rig, program).await.code(), 401);
    assert!(cluster.seen.lock().is_empty());
}

// Attack group 14: content of a cluster in the server's origin.
#[tokio::test]
async fn session_sends_only_metrics_queries_to_services() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let ann = signed_in(&rig);
    let service = "/k8s/clusters/a/api/v1/namespaces/n/services/prometheus:9090/proxy";
    let query = format!("{service}/api/v1/query_range?query=up");
    let script = [
        ("sec-fetch-dest", "empty"),
        ("sec-fetch-site", "same-origin"),
    ];
    let got = send(&rig, sent(&ann, "GET", &query, &script)).await;
    assert_eq!(got.code(), 200);
    let seen = cluster.seen.lock().len();
    let cross_site = [
        ("sec-fetch-dest", "empty"),
        ("sec-fetch-site", "cross-site"),
    ];
    let loaded = [
        ("sec-fetch-dest", "script"),
        ("sec-fetch-site", "same-origin"),
    ];
    let plain = query.as_str();
    for (code, method, path, headers) in [
        (403, "GET", plain, &[][..]),
        (403, "GET", plain, &cross_site),
        (403, "GET", plain, &loaded),
        (403, "GET", plain, &script[1..]),
        (403, "POST", plain, &script),
        (
            403,
            "GET",
            &format!("{service}/api/v1/admin/tsdb/snapshot"),
            &script,
        ),
        (
            403,
            "GET",
            &format!("{service}/proxy/api/v1/query_range"),
            &script,
        ),
        (
            403,
            "GET",
            &query.replace("prometheus:9090", "prometheus%3A9090"),
            &script,
        ),
        (
            400,
            "GET",
            &query.replace("prometheus:9090", "a%2Fproxy%2Fb"),
            &script,
        ),
        (
            403,
            "GET",
            &query.replace("services/prometheus:9090", "pods/p:9090"),
            &script,
        ),
    ] {
        let got = send(&rig, sent(&ann, method, path, headers)).await;
        assert_eq!(got.code(), code, "{method} {path} {headers:?}");
    }
    assert_eq!(cluster.seen.lock().len(), seen);
}

#[tokio::test]
async fn content_of_a_cluster_is_not_rendered_in_a_signed_in_browser() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let ann = signed_in(&rig);
    for path in [
        "/k8s/clusters/a/api/v1/namespaces/n/services/http:web:80/proxy/",
        "/k8s/clusters/a/api/v1/namespaces/n/pods/p:8080/proxy/x",
        "/k8s/clusters/a/api/v1/nodes/n/proxy/metrics",
        "/k8s/clusters/a/api/v1/nodes/n/%70roxy/metrics",
    ] {
        let got = send(&rig, sent(&ann, "GET", path, &[])).await;
        assert_eq!(got.code(), 403, "{path}");
        let message = got.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("port-forward"), "{message}");
    }
    // The content is not rendered as a page, a frame or a script.
    for dest in ["document", "iframe", "script", "image", "empty, document"] {
        let got = send(&rig, sent(&ann, "GET", PODS, &[("sec-fetch-dest", dest)])).await;
        assert_eq!(got.code(), 403, "{dest}");
    }
    assert!(cluster.seen.lock().is_empty());
}
