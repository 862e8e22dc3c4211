//! Attack groups 9, 10 and 24: manipulated URL paths, and names with markup or control characters.

use drover_e2e::World;
use serde_json::Value;

use super::{assert_not_received_by_cluster, assert_refusals_audited, unauthenticated_refusals};
use crate::wire::Request;

/// Attack groups 9 and 10: variants of the cluster's URL path, such as path traversal with `..` in
/// several encodings.
pub(crate) async fn manipulated_paths_cannot_reach_a_different_cluster(world: &mut World) {
    let before = unauthenticated_refusals(world);
    for (number, target) in [
        "/k8s/clusters/east/../local/api/v1/secrets",
        "/k8s/clusters/east/api/../../local/api/v1/secrets",
        "/k8s/clusters/east/%2e%2e/local/api/v1/secrets",
        "/k8s/clusters/east/%2E./local/api/v1/secrets",
        "/k8s/clusters/east/..%2flocal/api/v1/secrets",
        "/k8s/clusters/east/..;/local/api/v1/secrets",
        "/k8s/clusters/east/..\\local/api/v1/secrets",
        "/k8s/clusters/east/%5c..%5clocal/api/v1/secrets",
        "/k8s/clusters/east//local/api/v1/secrets",
        "/k8s/clusters//api/v1/secrets",
        "/k8s/clusters/./api/v1/secrets",
        "/k8s/clusters/%65ast/api/v1/secrets",
        "/k8s/clusters/east%2fapi/v1/secrets",
        "/k8s/clusters/EAST/api/v1/secrets",
        "/k8s/clusters/east%00/api/v1/secrets",
        "/k8s/clusters/local-evil/api/v1/secrets",
        "/k8s/clusters/localx/api/v1/secrets",
        "/k8s/clusters/LOCAL/api/v1/secrets",
        "/k8s/clusters/local./api/v1/secrets",
        "/k8s/clusters/local%20/api/v1/secrets",
        "/k8s//clusters/east/api/v1/secrets",
        "//k8s/clusters/east/api/v1/secrets",
        "/K8S/clusters/east/api/v1/secrets",
        "/k8s/proxy/east/api/v1/secrets",
        "https://169.254.169.254/k8s/clusters/east/api/v1/secrets",
        "http://169.254.169.254/latest/meta-data/",
    ]
    .iter()
    .enumerate()
    {
        let mark = format!("path-{number}-");
        let target = format!("{target}?fieldManager={mark}");
        let answer = Request::get(&target).authorized(world).send(world).await;
        assert!((400..500).contains(&answer.code), "{target}: {answer:?}");
        assert!(!answer.body.contains("SecretList"), "{target}: {answer:?}");
        assert_not_received_by_cluster(world, &mark);
    }
    // The server rejects these requests before authentication.
    assert_refusals_audited(world, before, 10).await;
    // The request must have one Host header, equal to the authority of its target.
    let target = "/k8s/clusters/east/api?fieldManager=two-hosts";
    let two = Request::get(target)
        .authorized(world)
        .line("Host: somewhere.else");
    let answer = two.send(world).await;
    assert_eq!(answer.code, 400, "{answer:?}");
    assert_not_received_by_cluster(world, "two-hosts");
}

/// Attack group 24: names with markup or control characters cause JSON error responses with
/// `nosniff`.
pub(crate) async fn names_and_errors_contain_no_markup(world: &mut World) {
    for name in [
        "<script>alert(1)</script>",
        "a\"b",
        "a: b",
        "x\ny",
        "../x",
        "local",
    ] {
        let body = serde_json::json!({"name": name}).to_string();
        let request = Request::new("POST", "/v1/clusters").json(&body);
        let session = session(world).await;
        let answer = request.bearer(&session).send(world).await;
        assert!((400..500).contains(&answer.code), "{name:?}: {answer:?}");
        let kind = answer.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/json"), "{answer:?}");
        let status: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(status["kind"], "Status", "{answer:?}");
    }
    let target = "/k8s/clusters/%3Cscript%3Ealert(1)%3C/script%3E/api";
    let answer = Request::get(target).authorized(world).send(world).await;
    assert!(answer.is_refusal(), "{answer:?}");
    let kind = answer.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("application/json"), "{answer:?}");
    assert_eq!(
        answer.header("x-content-type-options"),
        Some("nosniff"),
        "{answer:?}"
    );
}

/// Returns a token of the administrator for `/v1`.
async fn session(world: &World) -> String {
    let create = ["token", "create", "--ttl=10m", "-o", "json"];
    let created = world.admin.drover().run(create).await.unwrap().stdout;
    let created: Value = serde_json::from_str(&created).unwrap();
    created["token"].as_str().unwrap().to_owned()
}
