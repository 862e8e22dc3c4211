//! Tests that a browser does not run content from clusters in the server's origin (attack groups 11
//! and 14).

use http::Response;
use hyper::body::Incoming;

use super::client::{by, empty, get, send};
use super::cluster::{AnyBody, Cluster, text};
use super::rig::Rig;

const PAGE: &str = "/k8s/clusters/a/api/v1/namespaces/n/services/http:web:80/proxy/";

fn hostile(_: http::Request<Incoming>) -> Response<AnyBody> {
    Response::builder()
        .header("content-type", "text/html")
        .header("set-cookie", "drover_session=stolen; Path=/")
        .header("clear-site-data", "\"*\"")
        .header("access-control-allow-origin", "*")
        .header("access-control-allow-credentials", "true")
        .header("service-worker-allowed", "/")
        .header("x-mine", "stays")
        .body(text("<script>fetch('/v1/users')</script>"))
        .unwrap()
}

// Attack group 14: pages served by a cluster.
#[tokio::test]
async fn page_of_a_service_proxy_has_a_sandbox_content_security_policy() {
    let rig = Rig::new().await;
    let cluster = Cluster::new(async |request| hostile(request));
    let _attached = cluster.attach(&rig, "a", "r1").await;
    for path in [
        PAGE,
        "/k8s/clusters/a/api/v1/namespaces/n/pods/p:8080/proxy/x",
        "/k8s/clusters/a/api/v1/nodes/n/proxy/metrics",
        // An aggregated API can also serve arbitrary content.
        "/k8s/clusters/a/apis/evil.example/v1/pages",
    ] {
        let got = get(&rig, &rig.ann, path).await;
        assert_eq!(got.code(), 200);
        let headers = &got.head.headers;
        assert_eq!(headers["content-security-policy"], "sandbox", "{path}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["x-mine"], "stays", "{path}");
        for name in [
            "set-cookie",
            "clear-site-data",
            "access-control-allow-origin",
            "access-control-allow-credentials",
            "service-worker-allowed",
        ] {
            assert!(!headers.contains_key(name), "{path} {name}");
        }
    }
}

#[tokio::test]
async fn foreign_cookie_returns_401_and_service_worker_request_returns_403() {
    let rig = Rig::new().await;
    let cluster = Cluster::new(async |request| hostile(request));
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let request = http::Request::get(PAGE)
        .header("host", "d")
        .header("cookie", format!("R_SESS={}", rig.ann.bearer))
        .body(empty())
        .unwrap();
    assert_eq!(send(&rig, request).await.code(), 401);
    let request = by(&rig.ann, "GET", PAGE)
        .header("service-worker", "script")
        .body(empty())
        .unwrap();
    assert_eq!(send(&rig, request).await.code(), 403);
    assert!(cluster.seen.lock().is_empty());
}

// Attack group 11: redirects of a cluster.
#[tokio::test]
async fn redirect_of_a_cluster_is_not_followed_and_stays_within_its_path() {
    let rig = Rig::new().await;
    let cluster = Cluster::new(async |request: http::Request<Incoming>| {
        let location = request.headers()["x-to"].clone();
        Response::builder()
            .status(307)
            .header("location", location)
            .body(text(""))
            .unwrap()
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    for (to, expected) in [
        ("/api/v1/x/", Some("/k8s/clusters/a/api/v1/x/")),
        (
            "/k8s/clusters/b/api",
            Some("/k8s/clusters/a/k8s/clusters/b/api"),
        ),
        (
            "https://elsewhere.example/",
            Some("https://elsewhere.example/"),
        ),
        ("https://drover.example/k8s/clusters/b/api", None),
        ("//drover.example/k8s/clusters/b/api", None),
        ("../../b/api", None),
    ] {
        let request = by(&rig.ann, "GET", "/k8s/clusters/a/x")
            .header("x-to", to)
            .body(empty())
            .unwrap();
        let got = send(&rig, request).await;
        let location = got.head.headers.get("location");
        let location = location.map(|value| value.to_str().unwrap());
        let code = if expected.is_some() { 307 } else { 502 };
        assert_eq!((got.code(), location), (code, expected), "{to}");
    }
    assert_eq!(
        cluster.seen.lock().len(),
        6,
        "each path must be requested once, without following the redirect"
    );
}
