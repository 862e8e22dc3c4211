//! Tests that the route table contains all routes, and that each route responds as its table entry
//! requires.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::*;

// The clock is paused, so each write waits its full timeout for the stores without delay.
#[tokio::test(start_paused = true)]
async fn routes_in_the_route_table_exist_and_other_routes_return_404() {
    let server = TestServer::new();
    let admin = server.person(true, TokenPurpose::Session, None);
    for route in &routes::all() {
        let (code, body) = server.call(route, Some(&admin)).await;
        let message = body["message"].as_str().unwrap_or_default();
        assert!(
            !message.contains("no route has this path"),
            "{route:?}: {code} {body}"
        );
        assert_ne!(code, StatusCode::METHOD_NOT_ALLOWED, "{route:?}");
    }
    for (method, path, expected) in [
        (Method::GET, "/v1/nothing", 404),
        (Method::GET, "/clusters", 404),
        (Method::POST, "/", 405),
        (Method::DELETE, "/v1/version", 405),
        (Method::GET, "/v1/login", 405),
    ] {
        let route = Route {
            method,
            path: path.into(),
            right: Right::Anyone,
        };
        let (code, body) = server.call(&route, None).await;
        assert_eq!(
            (code.as_u16(), &body["kind"]),
            (expected, &Value::from("Status")),
            "{route:?}"
        );
    }
}

#[tokio::test]
async fn object_name_with_invalid_utf8_returns_a_status_error() {
    let server = TestServer::new();
    let admin = server.person(true, TokenPurpose::Session, None);
    for route in routes::all()
        .iter()
        .filter(|route| route.path.contains('{'))
    {
        // A route without authentication does not have to hide names.
        if route.path.starts_with("/k8s/") || route.right == Right::Anyone {
            continue;
        }
        let named = ["{name}", "{id}", "{code}", "{repo}"];
        let path = named.iter().fold(route.path.to_string(), |path, name| {
            path.replace(name, "%ff")
        });
        let junk = Route {
            method: route.method.clone(),
            path: path.into(),
            right: route.right,
        };
        let (code, body) = server.call(&junk, Some(&admin)).await;
        assert_eq!(body["kind"], "Status", "{junk:?}: {code} {body}");
        assert_eq!(code, StatusCode::BAD_REQUEST, "{junk:?}: {body}");
        // The response to an unauthenticated caller does not depend on the path.
        let (code, body) = server.call(&junk, None).await;
        assert_eq!(code, StatusCode::UNAUTHORIZED, "{junk:?}: {body}");
    }
}

#[test]
fn openapi_document_has_exactly_the_routes_under_v1() {
    let document = serde_json::to_value(drover_rest::document()).unwrap();
    let documented: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(|method| (path.clone(), method.to_uppercase()))
        })
        .collect();
    let listed: BTreeSet<(String, String)> = routes::all()
        .iter()
        .filter(|route| route.path.starts_with("/v1/") && route.path != "/v1/openapi.json")
        .map(|route| (route.path.to_string(), route.method.to_string()))
        .collect();
    assert_eq!(documented, listed);
}

/// The source folders of the server and of each crate that depends on axum.
fn folders_with_routers() -> Vec<PathBuf> {
    let server = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = std::fs::read_dir(server.join("../crates")).unwrap();
    crates
        .map(|entry| entry.unwrap().path())
        .chain([server.to_owned()])
        .filter(|folder| {
            std::fs::read_to_string(folder.join("Cargo.toml"))
                .is_ok_and(|manifest| manifest.lines().any(|line| line.starts_with("axum")))
        })
        .map(|folder| folder.join("src"))
        .collect()
}

/// Returns the path literals in the source, because a router cannot list its routes.
#[test]
fn every_route_in_the_source_is_listed_in_the_route_table() {
    let mut missing = Vec::new();
    let mut folders = folders_with_routers();
    let mut found = 0;
    let listed = routes::all();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.extend((!path.ends_with("tests")).then_some(path));
            } else if path.file_name().is_some_and(|name| name != "tests.rs") {
                let source = std::fs::read_to_string(&path).unwrap();
                // Ignore the code of tests.
                let source = source.split("#[cfg(test)]").next().unwrap_or_default();
                for call in [
                    ".route(",
                    ".route_service(",
                    ".nest(",
                    ".nest_service(",
                    ".routes(routes!(",
                ] {
                    for rest in source.split(call).skip(1) {
                        found += 1;
                        let literal = rest.trim_start().strip_prefix('"');
                        let routed = literal.and_then(|text| text.split('"').next());
                        if !listed.iter().any(|route| Some(&*route.path) == routed) {
                            missing.push((path.clone(), routed.map(str::to_owned)));
                        }
                    }
                }
            }
        }
    }
    assert!(
        missing.is_empty(),
        "add to OTHER_ROUTES of drover-rest: {missing:?}"
    );
    // The gate serves the proxy's paths without a route.
    let proxied = format!("{}{{*rest}}", drover_access::path::CLUSTER_PATH_PREFIX);
    assert!(listed.iter().any(|route| route.path == proxied));
    found += 1;
    assert!(found >= 4, "the search must find at least four routes");
}

#[tokio::test]
async fn rest_responses_have_headers_that_prevent_script_execution() {
    let server = TestServer::new();
    for (path, kind) in [
        ("/v1/version", "application/json"),
        ("/v1/me", "application/json"),
    ] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = server.router.clone().oneshot(request).await.unwrap();
        let header = |name: &str| response.headers().get(name).map(|v| v.to_str().unwrap());
        assert_eq!(header("content-type"), Some(kind));
        assert_eq!(header("x-content-type-options"), Some("nosniff"));
        assert_eq!(header("cache-control"), Some("no-store"));
        assert!(header("content-security-policy").is_some_and(|p| p.contains("'none'")));
    }
    // Every route, a method and a path without a route, and pages for browsers.
    let all = routes::all();
    let listed = all
        .iter()
        .map(|route| (route.method.clone(), path_of(route)));
    let others = [
        (Method::PUT, "/livez"),
        (Method::GET, "/nothing.json"),
        (Method::GET, "/v1/nothing"),
        (Method::GET, "/clusters"),
        (Method::GET, "/v1/providers/shop/callback?code=x&state=y"),
    ];
    let others = others.map(|(method, path)| (method, path.to_owned()));
    for (method, path) in listed.chain(others) {
        for accept in ["*/*", "text/html"] {
            let request = Request::builder()
                .method(method.clone())
                .uri(&path)
                .header("accept", accept)
                .extension(ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 4711))));
            let request = request.body(Body::empty()).unwrap();
            let response = server.router.clone().oneshot(request).await.unwrap();
            let headers = response.headers();
            let policies: Vec<_> = headers.get_all("content-security-policy").iter().collect();
            let [policy] = policies[..] else {
                panic!("{method} {path}: {policies:?}");
            };
            let policy = policy.to_str().unwrap();
            for part in [
                "default-src 'none'",
                "base-uri 'none'",
                "frame-ancestors 'none'",
            ] {
                assert!(policy.contains(part), "{method} {path}: {policy}");
            }
            assert_eq!(
                headers["x-content-type-options"], "nosniff",
                "{method} {path}"
            );
        }
    }
}

#[tokio::test]
async fn endless_body_is_rejected_at_its_limit() {
    let server = TestServer::new();
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
    let response = server.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(sent.load(Ordering::SeqCst) <= 128 * 1024);
}
