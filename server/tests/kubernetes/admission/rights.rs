//! Roles and bindings.

use http::Method;
use serde_json::{Value, json};

use super::{JANE, PERSON, Row, row};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

fn binding(role: &str, kind: &str, name: &str) -> Value {
    let group = if kind == "ServiceAccount" {
        ""
    } else {
        "rbac.authorization.k8s.io"
    };
    let mut subject = json!({ "kind": kind, "name": name, "apiGroup": group });
    if kind == "ServiceAccount" {
        subject["namespace"] = "default".into();
    }
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "tried" }, "subjects": [subject],
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role,
        },
    })
}

pub(super) fn bindings() -> Vec<Row> {
    let everywhere = |writer, role: &str, kind: &str, name: &str, refused| {
        let path = format!("{RBAC}/clusterrolebindings");
        row(
            writer,
            Method::POST,
            path,
            binding(role, kind, name),
            refused,
        )
    };
    let within = |namespace: &str, role: &str, refused| {
        let path = format!("{RBAC}/namespaces/{namespace}/rolebindings");
        let mut body = binding(role, "ServiceAccount", "robot");
        body["kind"] = "RoleBinding".into();
        row(PERSON, Method::POST, path, body, refused)
    };
    vec![
        everywhere(
            JANE,
            "view",
            "User",
            "drover:user:1",
            "name that Drover gives",
        ),
        everywhere(
            PERSON,
            "view",
            "Group",
            "drover:local:x",
            "name that Drover gives",
        ),
        everywhere(JANE, "cluster-admin", "User", "bob", ""),
        everywhere(
            JANE,
            "cluster-admin",
            "Group",
            "system:authenticated",
            "everybody",
        ),
        everywhere(JANE, "view", "Group", "system:authenticated", ""),
        everywhere(
            PERSON,
            "cluster-admin",
            "ServiceAccount",
            "robot",
            "administrator of Drover",
        ),
        everywhere(PERSON, "edit", "User", "bob", "administrator of Drover"),
        everywhere(PERSON, "view", "ServiceAccount", "robot", ""),
        within("default", "admin", ""),
        within("drover-system", "admin", "administrator of Drover"),
        within("kube-system", "edit", "administrator of Drover"),
        within("drover-system", "view", ""),
    ]
}

pub(super) fn roles() -> Vec<Row> {
    let role = |resource: &str, verb: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": "tried" },
            "rules": [{ "apiGroups": [""], "resources": [resource], "verbs": [verb] }],
        })
    };
    let mut limited = role("users", "impersonate");
    limited["rules"][0]["resourceNames"] = json!(["kubernetes-admin"]);
    let aggregated = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "tried" }, "rules": [],
        "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "x": "y" } }] },
    });
    let label = json!({ "metadata": { "labels": {
        "rbac.authorization.k8s.io/aggregate-to-view": "true",
    } } });
    let path = || format!("{RBAC}/clusterroles");
    let admin = || format!("{RBAC}/clusterroles/cluster-admin");
    let note = json!({ "metadata": { "annotations": { "example.com/mine": "x" } } });
    vec![
        row(
            PERSON,
            Method::POST,
            path(),
            role("secrets", "get"),
            "administrator of Drover",
        ),
        row(
            PERSON,
            Method::POST,
            path(),
            role("users", "impersonate"),
            "act as others",
        ),
        // The server's own name may be among any.
        row(
            PERSON,
            Method::POST,
            path(),
            limited.clone(),
            "act as others",
        ),
        row(JANE, Method::POST, path(), limited, ""),
        row(PERSON, Method::POST, path(), role("configmaps", "get"), ""),
        row(JANE, Method::POST, path(), role("secrets", "get"), ""),
        row(
            PERSON,
            Method::POST,
            path(),
            aggregated.clone(),
            "aggregated",
        ),
        row(JANE, Method::POST, path(), aggregated, ""),
        row(
            PERSON,
            Method::PATCH,
            admin(),
            label,
            "administrator of Drover",
        ),
        row(PERSON, Method::PATCH, admin(), note, ""),
    ]
}
