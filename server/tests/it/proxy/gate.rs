//! Tests of authentication and authorization at the proxy.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_api::kinds::TokenPurpose;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::client::{by, empty, get, open_http2, raw, read, send};
use super::cluster::Cluster;
use super::rig::{Rig, token};

const PODS: &str = "/k8s/clusters/a/api/v1/pods";

/// Sends a raw HTTP/1.1 request. Returns the status code of the response.
async fn raw_code(rig: &Rig, target: &str, headers: &str) -> u16 {
    let request = format!("GET {target} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
    let answer = raw(rig.address, request.as_bytes()).await;
    let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    code.unwrap_or_else(|| panic!("no answer to {target:?} {headers:?}: {answer:?}"))
}

fn bearer(rig: &Rig) -> String {
    format!("Host: d\r\nAuthorization: Bearer {}\r\n", rig.ann.bearer)
}

// Attack group 1: Connection headers that name headers of the proxy.
#[tokio::test]
async fn connection_header_cannot_remove_impersonation_headers_of_the_proxy() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let request = format!(
        "GET {PODS} HTTP/1.1\r\n{}Connection: Keep-Alive, TE, iMpersonate-User\r\n\
         Connection: Impersonate-Group,Authorization, Impersonate-Extra-management.drover.dev%2ftoken-id\r\n\
         Connection: drover-lane, X-Mine\r\nX-Mine: 1\r\nTE: trailers\r\n\r\n",
        bearer(&rig)
    );
    let answer = raw(rig.address, request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let headers = cluster.only_head().headers;
    assert_eq!(headers["impersonate-user"], "drover:user:uid-ann");
    assert_eq!(headers["drover-lane"], "user");
    assert!(headers.contains_key("impersonate-extra-management.drover.dev%2ftoken-id"));
    assert!(!headers.contains_key("x-mine"));
}

// Attack group 2: identity headers that the proxy removes instead of rejecting the request.
#[tokio::test]
async fn identity_headers_of_a_client_are_not_forwarded() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let mut request = by(&rig.ann, "GET", PODS)
        .header("x-remote-user", "system:admin")
        .header("x-remote-group", "system:masters")
        .header("x-remote-extra-a", "b")
        .header("x_remote_user", "root")
        .header("x-forwarded-for", "10.0.0.1")
        .header("forwarded", "for=10.0.0.1")
        .header("cookie", "session=1")
        .header("drover-lane", "controller")
        .header("drover_lane", "controller")
        .header("drover-upgrade-method", "POST")
        .body(empty())
        .unwrap();
    request
        .headers_mut()
        .append("drover-lane", HeaderValue::from_static("report"));
    assert_eq!(send(&rig, request).await.code(), 200);
    let headers = cluster.only_head().headers;
    let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "drover-lane",
            "impersonate-extra-management.drover.dev%2fdisplay-name",
            "impersonate-extra-management.drover.dev%2ftoken-id",
            "impersonate-user",
        ]
    );
    assert_eq!(headers["drover-lane"], "user");
}

// Attack groups 2 and 5: identity headers of clients, incomplete impersonation.
#[tokio::test]
async fn incomplete_or_forbidden_impersonation_headers_are_rejected() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    for pairs in [
        &[("impersonate-group", "drover:github:1")][..],
        &[("impersonate-extra-scopes", "all")],
        &[("impersonate-uid", "1")],
        &[("impersonate-user", "")],
        &[("impersonate_user", "ann")],
        &[("impersonate-user", "ann"), ("impersonate-uid", "1")],
        &[
            ("impersonate-user", "ann"),
            ("impersonate-extra-management.drover.dev%2ftoken-id", "x"),
        ],
        &[("impersonate-user", "ann"), ("impersonate-user", "bob")],
        &[("impersonate-user%20", "ann")],
    ] {
        let mut request = by(&rig.ann, "GET", PODS).body(empty()).unwrap();
        for (name, value) in pairs {
            request.headers_mut().append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        let got = send(&rig, request).await;
        assert_eq!(got.code(), 403, "{pairs:?}: {:?}", got.body);
        assert_eq!(got.json()["kind"], "Status");
    }
    assert!(
        cluster.seen.lock().is_empty(),
        "no request may reach the cluster"
    );
    let records = rig.audit().await;
    assert_eq!(records.len(), 9);
    assert!(
        records
            .iter()
            .all(|r| r["reason"] == "ImpersonationForbidden"),
        "{records:?}"
    );
}

// Attack group 6: missing, duplicate and malformed credentials.
#[tokio::test]
async fn request_without_exactly_one_valid_bearer_token_is_rejected() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let good = rig.ann.bearer.clone();
    let encoded = URL_SAFE_NO_PAD.encode(&good);
    let ws = format!("Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.{encoded}\r\n");
    for (headers, expected) in [
        (String::new(), 401),
        ("Authorization: Bearer\r\n".to_owned(), 401),
        ("Authorization: Bearer \r\n".to_owned(), 401),
        ("Authorization: Bearer    \r\n".to_owned(), 401),
        ("Authorization:\r\n".to_owned(), 401),
        (format!("Authorization: Basic {good}\r\n"), 401),
        (format!("Authorization: Bearer {good} {good}\r\n"), 401),
        (format!("Authorization: Bearer {good}x\r\n"), 401),
        (format!("Cookie: R_SESS={good}\r\n"), 401),
        (
            format!("Authorization: Bearer {good}\r\nAuthorization: Bearer {good}\r\n"),
            400,
        ),
        (format!("Authorization: Bearer {good}\r\n{ws}"), 400),
        (format!("{ws}{ws}"), 400),
        (format!("Authorization: Bearer {good}\0\r\n"), 400),
        (format!("Authorization: Bearer {good}\r\n"), 200),
        (format!("Authorization: bearer {good}\r\n"), 200),
        (ws.clone(), 200),
    ] {
        let code = raw_code(&rig, PODS, &format!("Host: d\r\n{headers}")).await;
        assert_eq!(code, expected, "{headers:?}");
    }
    assert_eq!(cluster.seen.lock().len(), 3);
}

// Attack group 7: guessed tokens.
#[tokio::test]
async fn token_with_a_valid_id_and_a_wrong_secret_returns_401() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let (_, bobs_secret) = rig.bob.bearer.rsplit_once('_').unwrap();
    let (anns_id, _) = rig.ann.bearer.rsplit_once('_').unwrap();
    let hash = &rig.ann.token.spec.hash;
    for forged in [
        format!("{anns_id}_{bobs_secret}"),
        format!("{anns_id}_{hash}"),
        rig.ann.bearer[..rig.ann.bearer.len() - 1].to_owned(),
        rig.ann.bearer.replacen("drover_", "droverimport_", 1),
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.".to_owned(),
    ] {
        let request = by(&rig.ann, "GET", PODS).body(empty()).unwrap();
        let (mut head, body) = request.into_parts();
        let value = HeaderValue::from_str(&format!("Bearer {forged}")).unwrap();
        head.headers.insert(AUTHORIZATION, value);
        let got = send(&rig, http::Request::from_parts(head, body)).await;
        assert_eq!(got.code(), 401, "{forged}");
        assert!(
            !rig.audit_text().await.contains(&forged),
            "the audit record must not contain a secret"
        );
    }
    assert!(cluster.seen.lock().is_empty());
}

// Attack group 8: tokens with a scope.
#[tokio::test]
async fn token_scoped_to_a_cluster_is_rejected_by_other_clusters() {
    let rig = Rig::new().await;
    let (a, b) = (Cluster::echo(), Cluster::echo());
    let _attached = (
        a.attach(&rig, "a", "r1").await,
        b.attach(&rig, "b", "r1").await,
    );
    let scoped = token(9, "ann", Some("a"));
    rig.stores.tokens.apply(scoped.token.clone());
    for (path, expected) in [
        ("/k8s/clusters/a/api", 200),
        ("/k8s/clusters/b/api", 403),
        ("/k8s/clusters/local/api", 403),
        ("/k8s/clusters/nowhere/api", 403),
    ] {
        assert_eq!(get(&rig, &scoped, path).await.code(), expected, "{path}");
    }
    // A recreated cluster with the same name is another cluster.
    let mut again = super::rig::cluster("a");
    again.metadata.uid = Some("another".to_owned());
    rig.stores.clusters.apply(again);
    assert_eq!(get(&rig, &scoped, "/k8s/clusters/a/api").await.code(), 403);
}

#[tokio::test]
async fn user_without_role_receives_the_same_403_for_existing_and_missing_clusters() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let there = get(&rig, &rig.bob, "/k8s/clusters/a/api").await;
    let not_there = get(&rig, &rig.bob, "/k8s/clusters/nowhere/api").await;
    assert_eq!((there.code(), not_there.code()), (403, 403));
    assert_eq!(there.body, not_there.body);
    assert_eq!(
        get(&rig, &rig.bob, "/k8s/clusters/local/api").await.code(),
        403
    );
    let not_there = get(&rig, &rig.ann, "/k8s/clusters/nowhere/api").await;
    assert_eq!(not_there.code(), 404);
    assert_eq!(not_there.json()["reason"], "NotFound");
    assert!(cluster.seen.lock().is_empty());
}

#[tokio::test]
async fn password_change_token_is_rejected_by_clusters() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let mut person = token(9, "ann", None);
    person.token.spec.purpose = TokenPurpose::PasswordChange;
    rig.stores.tokens.apply(person.token.clone());
    let got = get(&rig, &person, PODS).await;
    assert_eq!(got.code(), 403);
    assert!(cluster.seen.lock().is_empty());
}

// Attack groups 9 and 10: ambiguous paths and cluster names.
#[tokio::test]
async fn ambiguous_paths_are_rejected() {
    let rig = Rig::new().await;
    let (a, b) = (Cluster::echo(), Cluster::echo());
    let _attached = (
        a.attach(&rig, "a", "r1").await,
        b.attach(&rig, "b", "r1").await,
    );
    for target in [
        "/k8s/clusters/a/../b/api",
        "/k8s/clusters/a/..;/b/api",
        "/k8s/clusters/a/%2e%2e/b/api",
        "/k8s/clusters/a/.%2E/b/api",
        "/k8s/clusters/a/./api",
        "/k8s/clusters/a%2fb/api",
        "/k8s/clusters/a%2f..%2fb/api",
        "/k8s/clusters/a/api%2fv1",
        "/k8s/clusters/a/api%5cv1",
        "/k8s/clusters/a\\..\\b/api",
        "/k8s/clusters/a//api",
        "/k8s/clusters//a/api",
        "/k8s/clusters/a;x=b/api",
        "/k8s/clusters/%61/api",
        "/k8s/clusters/A/api",
        "/k8s/clusters/../clusters/b/api",
        "http://d/k8s/clusters/a/api",
        "http://other.example/k8s/clusters/a/api",
    ] {
        let code = raw_code(&rig, target, &bearer(&rig)).await;
        assert!(matches!(code, 400 | 404), "{target}: {code}");
    }
    let twice = format!("{}Host: e\r\n", bearer(&rig));
    assert_eq!(raw_code(&rig, PODS, &twice).await, 400);
    assert!(a.seen.lock().is_empty() && b.seen.lock().is_empty());
    // A name that resembles `local` is an ordinary name, here of a missing cluster.
    for name in ["local-evil", "locale", "xlocal"] {
        let code = raw_code(&rig, &format!("/k8s/clusters/{name}/api"), &bearer(&rig)).await;
        assert_eq!(code, 404, "{name}");
    }
}

#[tokio::test]
async fn request_with_different_http2_authority_and_host_is_rejected() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    for (host, expected) in [
        ("drover.example", 200),
        ("DROVER.example", 200),
        ("other", 400),
    ] {
        let mut request = by(&rig.ann, "GET", "http://drover.example/k8s/clusters/a/api")
            .body(empty())
            .unwrap();
        request.headers_mut().insert("host", host.parse().unwrap());
        let (_sender, got) = open_http2(rig.address, request).await;
        assert_eq!(read(got).await.code(), expected, "{host}");
    }
}

// Attack group 12: bearer tokens in a WebSocket protocol.
#[tokio::test]
async fn token_in_websocket_subprotocol_header_is_not_forwarded_or_returned() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let encoded = URL_SAFE_NO_PAD.encode(&rig.ann.bearer);
    let ws = format!("base64url.bearer.authorization.k8s.io.{encoded}, v5.channel.k8s.io");
    let request = format!("GET {PODS} HTTP/1.1\r\nHost: d\r\nSec-WebSocket-Protocol: {ws}\r\n\r\n");
    let answer = raw(rig.address, request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(!answer.contains(&encoded) && !answer.contains(&rig.ann.bearer));
    assert_eq!(
        cluster.only_head().headers["sec-websocket-protocol"],
        "v5.channel.k8s.io"
    );
    assert!(!rig.audit_text().await.contains(&encoded));
}

// Attack group 21: malformed requests.
#[tokio::test]
async fn smuggled_second_request_is_rejected() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let inner = "GET /k8s/clusters/a/smuggled HTTP/1.1\r\nHost: d\r\n\r\n";
    let both = format!(
        "POST /k8s/clusters/a/x HTTP/1.1\r\n{}Transfer-Encoding: chunked\r\nContent-Length: {}\r\n\r\n0\r\n\r\n{inner}",
        bearer(&rig),
        5 + inner.len(),
    );
    raw(rig.address, both.as_bytes()).await;
    for seen in &*cluster.seen.lock() {
        assert_eq!(
            seen.uri.path(),
            "/x",
            "the second request must be rejected without a credential"
        );
        assert!(
            !(seen.headers.contains_key("content-length")
                && seen.headers.contains_key("transfer-encoding"))
        );
    }
    // The value of a header cannot start another header.
    let mut request = by(&rig.ann, "GET", "http://drover.example/k8s/clusters/a/y")
        .body(empty())
        .unwrap();
    assert!(HeaderValue::from_str("x\r\nimpersonate-user: root").is_err());
    request
        .headers_mut()
        .insert("x-odd", HeaderValue::from_bytes(b"a\xffb\tc").unwrap());
    let (_sender, got) = open_http2(rig.address, request).await;
    assert_eq!(read(got).await.code(), 200);
    let seen = cluster.seen.lock().pop().unwrap();
    assert_eq!(seen.headers["x-odd"].as_bytes(), b"a\xffb\tc");
}

// Attack group 21: long tokens and group lists of others are legitimate.
#[tokio::test]
async fn large_headers_are_forwarded_to_the_cluster() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let big = "x".repeat(60 * 1024);
    let request = by(&rig.ann, "GET", PODS)
        .header("x-big", &big)
        .body(empty())
        .unwrap();
    assert_eq!(send(&rig, request).await.code(), 200);
    assert_eq!(cluster.only_head().headers["x-big"], big.as_str());
}
