//! Tests of writes by service accounts. The objects that a service account creates remain after the
//! account is deleted.

use http::Method;
use serde_json::{Value, json};

use super::secrets::{SECRETS, service_account_token, token_path, token_request};
use super::{OF_SYSTEM, OURS, ROBOT, Row, row};

/// Returns the tested writes. `of_kubernetes` is true if the hub has Kubernetes controllers, so
/// that accounts of `kube-system` are exempt from the rules.
pub(super) fn accounts(of_kubernetes: bool) -> Vec<Row> {
    let mut rows = writes(ROBOT, true);
    rows.extend(writes(OF_SYSTEM, !of_kubernetes));
    rows
}

fn writes(writer: &'static str, judged: bool) -> Vec<Row> {
    let try_it = |method, path: &str, body, refused| {
        let refused = if judged { refused } else { "" };
        row(writer, method, path.to_owned(), body, refused)
    };
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "password-1" },
    });
    let of_account = service_account_token();
    let (request, token) = (token_request(), token_path);
    let in_hub = token("drover-system");
    let in_system = token("kube-system");
    let administrator = format!("{OURS}/users/eve");
    let enabled = json!({ "spec": { "enabled": true } });
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:aggregate-to-edit";
    let mut all = vec![
        try_it(
            Method::POST,
            SECRETS,
            secret,
            "only Drover's server can write",
        ),
        try_it(Method::POST, SECRETS, of_account, "would stay valid"),
        try_it(Method::POST, &in_hub, request.clone(), "would stay valid"),
        try_it(
            Method::POST,
            &in_system,
            request.clone(),
            "would stay valid",
        ),
        try_it(Method::PATCH, &administrator, enabled, "drover user enable"),
        try_it(Method::DELETE, role, Value::Null, "default role"),
        try_it(Method::PATCH, role, json!({ "rules": [] }), "default role"),
    ];
    let elsewhere = token("default");
    all.push(try_it(Method::POST, &elsewhere, request, ""));
    all
}
