//! Tests of writes to roles and bindings.

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
            "the Drover user or group",
        ),
        everywhere(
            PERSON,
            "view",
            "Group",
            "drover:local:x",
            "the Drover user or group",
        ),
        everywhere(JANE, "cluster-admin", "User", "bob", ""),
        everywhere(
            JANE,
            "cluster-admin",
            "Group",
            "system:authenticated",
            "would make all accounts of",
        ),
        everywhere(JANE, "view", "Group", "system:authenticated", ""),
        everywhere(
            PERSON,
            "cluster-admin",
            "ServiceAccount",
            "robot",
            "administrators of Drover",
        ),
        everywhere(PERSON, "edit", "User", "bob", "administrators of Drover"),
        everywhere(PERSON, "view", "ServiceAccount", "robot", ""),
        within("default", "admin", ""),
        within("drover-system", "admin", "administrators of Drover"),
        within("kube-system", "edit", "administrators of Drover"),
        within("drover-system", "view", ""),
        // A role that is created later is not checked against the subjects that are already bound
        // to it.
        everywhere(
            PERSON,
            "later",
            "ServiceAccount",
            "robot",
            "create the role before",
        ),
        within("drover-system", "later", "create the role before"),
        everywhere(JANE, "later", "ServiceAccount", "robot", ""),
    ]
}

/// Returns writes to the server's role bindings on the hub. The server creates the binding of the
/// administrators at its start.
pub(super) fn server_bindings() -> Vec<Row> {
    let refused = "reserved for Drover's server";
    let all = || format!("{RBAC}/clusterrolebindings");
    let one = || format!("{RBAC}/clusterrolebindings/drover-hub-administrators-0");
    let labels = |value: &Value| json!({ "metadata": { "labels": { "management.drover.dev/hub-access": value } } });
    let mut marked = binding("view", "ServiceAccount", "robot");
    marked["metadata"]["labels"] = labels(&json!("role"))["metadata"]["labels"].clone();
    let kept = json!({ "metadata": { "finalizers": ["example.com/mine"] } });
    vec![
        row(JANE, Method::POST, all(), marked, refused),
        row(JANE, Method::PATCH, one(), labels(&Value::Null), refused),
        row(PERSON, Method::PATCH, one(), kept, refused),
        row(JANE, Method::DELETE, one(), json!({}), refused),
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
            "administrators of Drover",
        ),
        row(
            PERSON,
            Method::POST,
            path(),
            role("users", "impersonate"),
            "impersonate other users",
        ),
        // The list of names can contain the server's own name.
        row(
            PERSON,
            Method::POST,
            path(),
            limited.clone(),
            "impersonate other users",
        ),
        row(JANE, Method::POST, path(), limited, ""),
        row(PERSON, Method::POST, path(), role("configmaps", "get"), ""),
        row(JANE, Method::POST, path(), role("secrets", "get"), ""),
        row(
            PERSON,
            Method::POST,
            path(),
            aggregated.clone(),
            "with aggregationRule",
        ),
        row(JANE, Method::POST, path(), aggregated, ""),
        row(
            PERSON,
            Method::PATCH,
            admin(),
            label,
            "administrators of Drover",
        ),
        row(PERSON, Method::PATCH, admin(), note, ""),
    ]
    .into_iter()
    .chain(roles_limited_to_names())
    .collect()
}

/// Returns roles for single Secrets in the server's namespace.
fn roles_limited_to_names() -> Vec<Row> {
    let make = |verbs: &[&str], names: &[&str], refused| {
        let path = format!("{RBAC}/namespaces/drover-system/roles");
        let body = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": { "name": "tried" },
            "rules": [{
                "apiGroups": [""], "resources": ["secrets"], "verbs": verbs,
                "resourceNames": names,
            }],
        });
        row(PERSON, Method::POST, path, body, refused)
    };
    let refused = "use the server's Secrets";
    vec![
        make(&["list", "watch"], &[""], refused),
        make(&["list", "watch"], &["mine", ""], refused),
        make(&["deletecollection"], &["mine"], refused),
        make(&["get"], &["server-ca"], refused),
    ]
}

/// Returns writes to default roles. The hub restores default roles at its start.
pub(super) fn default_roles() -> Vec<Row> {
    let named = |name: &str| format!("{RBAC}/clusterroles/{name}");
    let stripped = json!({ "rules": [] });
    let label = json!({ "metadata": { "labels": {
        "rbac.authorization.k8s.io/aggregate-to-view": null,
    } } });
    let refused = "default role";
    let change = |writer, name: &str, body: &Value, refused| {
        row(writer, Method::PATCH, named(name), body.clone(), refused)
    };
    let delete =
        |writer, name: &str, refused| row(writer, Method::DELETE, named(name), json!({}), refused);
    vec![
        delete(PERSON, "cluster-admin", refused),
        delete(PERSON, "system:node", refused),
        delete(JANE, "system:node", ""),
        change(PERSON, "cluster-admin", &stripped, refused),
        change(PERSON, "system:aggregate-to-edit", &stripped, refused),
        change(PERSON, "system:aggregate-to-view", &label, refused),
        change(JANE, "system:aggregate-to-edit", &stripped, ""),
        // A `deletecollection` request, which includes default roles.
        row(
            PERSON,
            Method::DELETE,
            format!("{RBAC}/clusterroles"),
            json!({}),
            refused,
        ),
    ]
}
