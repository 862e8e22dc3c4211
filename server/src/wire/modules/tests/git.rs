//! Tests of the git routes without repositories: the order and the results of the checks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::group::GROUP;
use http::header::{ORIGIN, WWW_AUTHENTICATE};
use serde_json::json;

use super::global_roles::with_rules;
use super::*;

const READ: &str = "/git/example.git/info/refs?service=git-upload-pack";
const WRITE: &str = "/git/example.git/info/refs?service=git-receive-pack";

fn basic(token: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("git:{token}")))
}

/// Sends a request with basic authentication. Returns the status code and the message.
async fn git(
    server: &TestServer,
    (method, path): (Method, &str),
    token: &str,
    headers: &[(&str, &str)],
) -> (u16, String) {
    let basic = basic(token);
    let credential = [(AUTHORIZATION.as_str(), &*basic)];
    let headers = credential.iter().chain(headers).copied();
    let (code, body) = server.ask(method, path, headers, String::new()).await;
    let message = body["message"].as_str().unwrap_or_default();
    (code.as_u16(), message.to_owned())
}

#[tokio::test]
async fn unauthenticated_git_client_is_asked_for_a_password() {
    let server = TestServer::new();
    for header in [
        None,
        Some("Bearer nonsense".to_owned()),
        Some(basic("nonsense")),
    ] {
        let mut request = Request::get(READ);
        if let Some(header) = &header {
            request = request.header(AUTHORIZATION, header);
        }
        let request = request
            .extension(ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 4711))))
            .body(Body::empty());
        let response = server
            .router
            .clone()
            .oneshot(request.unwrap())
            .await
            .unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{header:?}");
        let challenge = &response.headers()[WWW_AUTHENTICATE];
        assert_eq!(challenge, "Basic realm=\"Drover\"", "{header:?}");
    }
}

#[tokio::test]
async fn global_role_allows_exactly_its_verbs_for_its_repositories() {
    let server = TestServer::new();
    let admin = server.person(true, TokenPurpose::Api, None);
    let rules = |name: &str, verbs: &[&str]| {
        json!([{ "apiGroups": [GROUP], "resources": ["gitrepositories"], "verbs": verbs,
                 "resourceNames": [name] }])
    };
    let reader = with_rules(&server, "reader", &rules("example", &["get"]));
    let writer = with_rules(&server, "writer", &rules("example", &["get", "update"]));
    let other = with_rules(&server, "other", &rules("other", &["*"]));
    let push = "/git/example.git/git-receive-pack";
    let fetch = "/git/example.git/git-upload-pack";
    for (user, token, reads, writes) in [
        ("administrator", &admin, true, true),
        ("reader", &reader, true, false),
        ("writer", &writer, true, true),
        ("user of another repository", &other, false, false),
    ] {
        for (request, allowed) in [
            ((Method::GET, READ), reads),
            ((Method::POST, fetch), reads),
            ((Method::GET, WRITE), writes),
            ((Method::POST, push), writes),
        ] {
            let case = format!("{user}: {request:?}");
            let (code, message) = git(&server, request, token, &[]).await;
            // An external hub has no repositories.
            assert_eq!(code, if allowed { 404 } else { 403 }, "{case}: {message}");
            assert_eq!(
                message.contains("hosts no git repositories"),
                allowed,
                "{case}: {message}"
            );
        }
    }
}

#[tokio::test]
async fn other_paths_names_and_services_are_rejected() {
    let server = TestServer::new();
    let admin = server.person(true, TokenPurpose::Api, None);
    for (path, expected) in [
        ("/git/example.git/HEAD", 404),
        ("/git/example.git/objects/info/packs", 404),
        ("/git/example.git/config", 404),
        ("/git/example.git", 404),
        ("/git/a/example.git/info/refs?service=git-upload-pack", 404),
        (
            "/git/..%2fexample.git/info/refs?service=git-upload-pack",
            400,
        ),
        ("/git/../example.git/info/refs?service=git-upload-pack", 404),
        ("/git/..git/info/refs?service=git-upload-pack", 400),
        ("/git/.empty/info/refs?service=git-upload-pack", 400),
        ("/git/example/info/refs?service=git-upload-pack", 400),
        ("/git/EXAMPLE.git/info/refs?service=git-upload-pack", 400),
        ("/git/example.git/info/refs", 400),
        ("/git/example.git/info/refs?service=git-upload-archive", 400),
        (
            "/git/example.git/info/refs?service=git-upload-pack&service=git-receive-pack",
            400,
        ),
        ("/git/example.git/git-upload-pack", 405),
    ] {
        let (code, message) = git(&server, (Method::GET, path), &admin, &[]).await;
        assert_eq!(code, expected, "{path}: {message}");
    }
}

#[tokio::test]
async fn password_that_a_browser_remembers_is_rejected_in_cross_site_requests() {
    let server = TestServer::new();
    let admin = server.person(true, TokenPurpose::Api, None);
    let host = ("host", "d.example");
    for (headers, expected) in [
        (vec![host], 404),
        (vec![host, ("sec-fetch-site", "none")], 404),
        (vec![host, ("sec-fetch-site", "cross-site")], 403),
        (vec![host, ("sec-fetch-site", "same-site")], 403),
        (vec![host, (ORIGIN.as_str(), "https://evil.example")], 403),
    ] {
        let (code, message) = git(&server, (Method::GET, READ), &admin, &headers).await;
        assert_eq!(code, expected, "{headers:?}: {message}");
    }
}

#[tokio::test]
async fn token_of_a_cluster_or_another_purpose_is_not_a_git_password() {
    let server = TestServer::new();
    for (purpose, scope, expected) in [
        (TokenPurpose::Api, None, 404),
        (TokenPurpose::Session, None, 404),
        (TokenPurpose::Api, Some("shop-uid"), 403),
        (TokenPurpose::Kubeconfig, None, 403),
        (TokenPurpose::Credential, None, 403),
        (TokenPurpose::PasswordChange, None, 403),
        (TokenPurpose::Browser, None, 401),
    ] {
        let token = server.person(true, purpose, scope);
        let (code, message) = git(&server, (Method::GET, READ), &token, &[]).await;
        assert_eq!(code, expected, "{purpose:?} {scope:?}: {message}");
    }
}
