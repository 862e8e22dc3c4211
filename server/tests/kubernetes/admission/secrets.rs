//! Tests of writes to the server's Secrets, and of requests for service account tokens.

use http::Method;
use serde_json::{Value, json};

use super::{JANE, PERSON, Row, row};

pub(super) const SECRETS: &str = "/api/v1/namespaces/drover-system/secrets";

/// Returns a Secret into which Kubernetes writes a service account token.
pub(super) fn service_account_token() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {
            "name": "lasting", "annotations": { "kubernetes.io/service-account.name": "default" },
        },
    })
}

pub(super) fn token_request() -> Value {
    json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "expirationSeconds": 600 },
    })
}

/// Returns the token request path of the service account `default` in a namespace.
pub(super) fn token_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/serviceaccounts/default/token")
}

pub(super) fn secrets() -> Vec<Row> {
    let secret =
        |name: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name } });
    let made_up = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "generateName": "password-" },
    });
    let of_account = service_account_token();
    let damage = json!({ "data": { "tls.crt": "bm9uc2Vuc2U=" } });
    let (request, token) = (token_request(), token_path);
    let system = "/api/v1/namespaces/kube-system/secrets".to_owned();
    vec![
        row(
            JANE,
            Method::POST,
            SECRETS.to_owned(),
            secret("password-1"),
            "only Drover's server can write",
        ),
        row(
            JANE,
            Method::POST,
            SECRETS.to_owned(),
            made_up,
            "only Drover's server can write",
        ),
        row(PERSON, Method::POST, SECRETS.to_owned(), secret("mine"), ""),
        row(
            PERSON,
            Method::PATCH,
            format!("{SECRETS}/server-ca"),
            damage,
            "only Drover's server can write",
        ),
        row(
            JANE,
            Method::DELETE,
            format!("{SECRETS}/plan-signing-keys"),
            json!({}),
            "only Drover's server can write",
        ),
        // A `deletecollection` request, which includes the server's Secrets.
        row(
            JANE,
            Method::DELETE,
            SECRETS.to_owned(),
            json!({}),
            "only Drover's server can write",
        ),
        row(
            PERSON,
            Method::POST,
            system.clone(),
            of_account.clone(),
            "would stay valid",
        ),
        row(JANE, Method::POST, system, of_account, ""),
        row(
            PERSON,
            Method::POST,
            token("drover-system"),
            request.clone(),
            "would stay valid",
        ),
        row(
            PERSON,
            Method::POST,
            token("kube-system"),
            request.clone(),
            "would stay valid",
        ),
        row(
            JANE,
            Method::POST,
            token("drover-system"),
            request.clone(),
            "",
        ),
        row(PERSON, Method::POST, token("default"), request, ""),
    ]
}

/// Returns bootstrap token Secrets, which are credentials of the hub.
pub(super) fn bootstrap_tokens() -> Vec<Row> {
    let log_in = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
        "metadata": { "name": "bootstrap-token-abcdef" },
        "stringData": {
            "token-id": "abcdef", "token-secret": "0123456789abcdef",
            "usage-bootstrap-authentication": "true",
        },
    });
    let path = "/api/v1/namespaces/kube-system/secrets";
    let make = |writer, refused| {
        let (path, body) = (path.to_owned(), log_in.clone());
        row(writer, Method::POST, path, body, refused)
    };
    vec![make(PERSON, "would stay valid"), make(JANE, "")]
}
