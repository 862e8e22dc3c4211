//! Tests that the audit record of each change names the changed object.

use std::collections::BTreeSet;

use drover_api::kinds::{
    AuthProvider, ClusterRoleTemplateBinding, GlobalRole, Project, RoleTemplate,
};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::changes::{FakeHub, object};
use super::recorded::recorded;
use super::*;

/// Routes of changes that this test cannot call, with the reason.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    (
        "post",
        "/v1/agent/challenge",
        "needs an agent's key; the handler names the cluster",
    ),
    (
        "post",
        "/v1/agent/hub-token",
        "needs an agent's key; the handler names the cluster",
    ),
    (
        "post",
        "/v1/agent/node",
        "needs a node agent's key; the handler names the cluster",
    ),
    (
        "post",
        "/v1/agent/register",
        "needs an agent's key; the handler names the cluster",
    ),
    (
        "post",
        "/v1/providers/{name}/test",
        "needs a provider; the path names it",
    ),
    (
        "post",
        "/v1/device",
        "the object does not exist yet, and its code is a secret",
    ),
    (
        "post",
        "/v1/device/token",
        "needs a confirmed login; the handler names the token",
    ),
    (
        "post",
        "/v1/device/{code}/confirm",
        "needs a pending login; the object is the caller",
    ),
    (
        "post",
        "/v1/port-forwards",
        "needs a pod of a connected cluster; the handler names the port forward",
    ),
    (
        "delete",
        "/v1/port-forwards/{name}",
        "needs an open port forward; the path names it",
    ),
    (
        "post",
        "/v1/terminals",
        "needs a pod of a connected cluster; the handler names the terminal",
    ),
    (
        "delete",
        "/v1/terminals/{name}",
        "needs an open terminal; the path names it",
    ),
    (
        "post",
        "/v1/login",
        "needs a password; another test checks the name",
    ),
    (
        "post",
        "/v1/me/password",
        "needs a password; the object is the caller",
    ),
    (
        "post",
        "/v1/providers/{name}/sign-in",
        "needs a provider; the path names it",
    ),
    (
        "post",
        "/v1/session",
        "needs a password; another test checks the name",
    ),
    (
        "delete",
        "/v1/session",
        "needs a browser; the object is the caller",
    ),
    (
        "post",
        "/v1/users/{name}/identities",
        "needs a provider; the handler names both users",
    ),
    (
        "delete",
        "/v1/users/{name}/identities/{id}",
        "needs a provider; the handler names the user",
    ),
];

/// A change: method, route, path parameters, body, changed object and cluster.
type Change<'a> = (&'a str, &'a str, [&'a str; 2], Value, &'a str, &'a str);

fn path(route: &str, parameters: [&str; 2]) -> String {
    let path = route.replace("{name}", parameters[0]);
    path.replace("{id}", parameters[usize::from(route.contains("{name}"))])
}

#[expect(clippy::too_many_lines, reason = "a table with one row for each route")]
fn changes() -> Vec<Change<'static>> {
    let none = ["", ""];
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    let role = json!({ "context": "Cluster", "rules": rules });
    let global = json!({ "rules": rules });
    let member = |role: &str| json!({ "role": role, "user": "user-1" });
    let oidc = json!({ "oidc": { "issuer": "https://id.example", "clientId": "drover" } });
    let view = || json!({ "name": "Failed pods", "path": "/objects/pods?state=failed" });
    let users = |method, route, body| (method, route, ["user-1", ""], body, "user-1", "");
    vec![
        (
            "post",
            "/v1/auth-providers",
            none,
            json!({ "name": "corp", "spec": oidc }),
            "corp",
            "",
        ),
        (
            "put",
            "/v1/auth-providers/{name}",
            ["work", ""],
            json!({ "spec": oidc }),
            "work",
            "",
        ),
        (
            "delete",
            "/v1/auth-providers/{name}",
            ["work", ""],
            json!({}),
            "work",
            "",
        ),
        (
            "post",
            "/v1/clusters",
            none,
            json!({ "name": "till" }),
            "till",
            "till",
        ),
        (
            "post",
            "/v1/clusters/{name}/import",
            ["shop", ""],
            json!({}),
            "shop",
            "",
        ),
        (
            "post",
            "/v1/clusters/{name}/rotate-keys",
            ["shop", ""],
            json!({}),
            "shop",
            "",
        ),
        (
            "patch",
            "/v1/clusters/{name}/endpoint",
            ["shop", ""],
            json!({ "enabled": true }),
            "shop",
            "",
        ),
        (
            "post",
            "/v1/clusters/{name}/members",
            ["shop", ""],
            member("viewer"),
            "viewer of user-1",
            "shop",
        ),
        (
            "delete",
            "/v1/clusters/{name}/members/{id}",
            ["shop", "b"],
            json!({}),
            "viewer of user-1",
            "shop",
        ),
        (
            "post",
            "/v1/projects/{name}/members",
            ["desk", ""],
            member("desk"),
            "desk of user-1",
            "shop",
        ),
        (
            "delete",
            "/v1/projects/{name}/members/{id}",
            ["desk", "p"],
            json!({}),
            "desk of user-1",
            "shop",
        ),
        (
            "post",
            "/v1/global-members",
            none,
            member("all"),
            "all of user-1",
            "",
        ),
        (
            "delete",
            "/v1/global-members/{id}",
            ["g", ""],
            json!({}),
            "all of user-1",
            "",
        ),
        (
            "post",
            "/v1/global-roles",
            none,
            json!({ "name": "some", "spec": global }),
            "some",
            "",
        ),
        (
            "put",
            "/v1/global-roles/{name}",
            ["all", ""],
            json!({ "spec": global }),
            "all",
            "",
        ),
        (
            "delete",
            "/v1/global-roles/{name}",
            ["all", ""],
            json!({}),
            "all",
            "",
        ),
        (
            "post",
            "/v1/kubeconfig",
            none,
            json!({ "clusters": ["shop"], "credential": "Exec" }),
            "user-0",
            "",
        ),
        (
            "put",
            "/v1/log-filter",
            none,
            json!({ "filter": "info" }),
            "log-filter",
            "",
        ),
        (
            "put",
            "/v1/preferences",
            none,
            json!({ "rowHeight": "Compact" }),
            "user-0",
            "",
        ),
        (
            "post",
            "/v1/projects",
            none,
            json!({ "name": "till", "cluster": "shop" }),
            "till",
            "shop",
        ),
        (
            "patch",
            "/v1/projects/{name}",
            ["desk", ""],
            json!({ "displayName": "Desk" }),
            "desk",
            "",
        ),
        (
            "delete",
            "/v1/projects/{name}",
            ["desk", ""],
            json!({}),
            "desk",
            "",
        ),
        (
            "post",
            "/v1/roles",
            none,
            json!({ "name": "some", "spec": role }),
            "some",
            "",
        ),
        (
            "put",
            "/v1/roles/{name}",
            ["viewer", ""],
            json!({ "spec": role }),
            "viewer",
            "",
        ),
        (
            "delete",
            "/v1/roles/{name}",
            ["viewer", ""],
            json!({}),
            "viewer",
            "",
        ),
        (
            "put",
            "/v1/settings/{name}",
            ["session-ttl", ""],
            json!({ "value": "8h" }),
            "session-ttl",
            "",
        ),
        (
            "post",
            "/v1/tokens",
            none,
            json!({ "purpose": "Api", "cluster": "shop" }),
            "*",
            "shop",
        ),
        (
            "delete",
            "/v1/tokens/{id}",
            ["TOKEN", ""],
            json!({}),
            "TOKEN",
            "",
        ),
        (
            "post",
            "/v1/users",
            none,
            json!({ "name": "bob", "password": "long enough it is" }),
            "bob",
            "",
        ),
        ("post", "/v1/views", none, view(), "user-0-0", ""),
        (
            "put",
            "/v1/views/{id}",
            ["user-0-7", ""],
            view(),
            "user-0-7",
            "",
        ),
        (
            "delete",
            "/v1/views/{id}",
            ["user-0-7", ""],
            json!({}),
            "user-0-7",
            "",
        ),
        users("patch", "/v1/users/{name}", json!({ "displayName": "Eve" })),
        users(
            "post",
            "/v1/users/{name}/password",
            json!({ "new": "long enough it is" }),
        ),
        users("post", "/v1/users/{name}/refresh", json!({})),
        users("delete", "/v1/users/{name}/tokens", json!({})),
        users("delete", "/v1/users/{name}", json!({})),
        (
            "delete",
            "/v1/clusters/{name}",
            ["shop", ""],
            json!({}),
            "shop",
            "",
        ),
        ("delete", "/v1/sessions", none, json!({}), "user-0", ""),
        ("post", "/v1/logout", none, json!({}), "user-0", ""),
    ]
}

/// Adds an object to the hub and to the server's stores.
fn known<K: DeserializeOwned>(
    hub: &FakeHub,
    plural: &str,
    kind: &str,
    name: &str,
    spec: &Value,
) -> K {
    let object = object(kind, name, spec);
    hub.put(plural, &object);
    serde_json::from_value(object).unwrap()
}

/// Creates the objects that the changes need.
fn create_objects(hub: &FakeHub, server: &TestServer) {
    let stores = &server.stores;
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    for (name, context) in [("viewer", "Cluster"), ("desk", "Project")] {
        let spec = json!({ "context": context, "rules": rules });
        let role: RoleTemplate = known(hub, "roletemplates", "RoleTemplate", name, &spec);
        stores.role_templates.apply(role);
    }
    let role: GlobalRole = known(
        hub,
        "globalroles",
        "GlobalRole",
        "all",
        &json!({ "rules": rules }),
    );
    stores.global_roles.apply(role);
    let shop = json!({ "name": "shop", "uid": "shop-uid" });
    let spec = json!({ "cluster": shop, "namespaces": [] });
    let project: Project = known(hub, "projects", "Project", "desk", &spec);
    stores.projects.apply(project);
    let spec = json!({ "oidc": { "issuer": "https://id.example", "clientId": "drover" } });
    let provider: AuthProvider = known(hub, "authproviders", "AuthProvider", "work", &spec);
    stores.auth_providers.apply(provider);
    let subject = json!({ "user": { "name": "user-1", "uid": "user-1" } });
    let role = |name: &str| json!({ "name": name, "uid": name });
    let spec = json!({ "cluster": shop, "role": role("viewer"), "subject": subject });
    let plural = "clusterroletemplatebindings";
    let bound: ClusterRoleTemplateBinding =
        known(hub, plural, "ClusterRoleTemplateBinding", "b", &spec);
    stores.cluster_role_template_bindings.apply(bound);
    let desk = json!({ "name": "desk", "uid": "desk" });
    let spec = json!({ "project": desk, "role": role("desk"), "subject": subject });
    let plural = "projectroletemplatebindings";
    let bound = known(hub, plural, "ProjectRoleTemplateBinding", "p", &spec);
    stores.project_role_template_bindings.apply(bound);
    let spec = json!({ "role": role("all"), "subject": subject });
    let bound = known(hub, "globalrolebindings", "GlobalRoleBinding", "g", &spec);
    stores.global_role_bindings.apply(bound);
    let spec = json!({
        "userName": "user-0", "userUid": "user-0", "displayName": "Nodes", "path": "/objects/nodes",
    });
    let mut view = object("SavedView", "user-0-7", &spec);
    view["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "User",
        "name": "user-0", "uid": "user-0",
    }]);
    hub.put("savedviews", &view);
    let view = serde_json::from_value(view).unwrap();
    stores.saved_views.apply(view);
    let mut shop = object("Cluster", "shop", &json!({}));
    shop["metadata"]["uid"] = "shop-uid".into();
    hub.put("clusters", &shop);
    for name in ["user-0", "user-1"] {
        let spec = json!({ "enabled": true, "administrator": name == "user-0" });
        hub.put("users", &object("User", name, &spec));
    }
    let spec = json!({ "value": "16h" });
    hub.put("settings", &object("Setting", "session-ttl", &spec));
}

// The clock is paused, so each write waits its full timeout for the stores without delay.
#[tokio::test(start_paused = true)]
async fn audit_record_of_every_change_contains_the_object_name() {
    let hub = FakeHub::default();
    let server = TestServer::with_client(hub.client());
    let admin = server.person(true, TokenPurpose::Session, None);
    let other = server.person(false, TokenPurpose::Session, None);
    let other = drover_access::token::UserToken::parse(&other).unwrap();
    create_objects(&hub, &server);
    let changes = changes();
    let (mut expected, mut failed) = (Vec::new(), Vec::new());
    for (method, route, parameters, body, object, cluster) in &changes {
        let real = |text: &&str| {
            if *text == "TOKEN" {
                other.id().to_owned()
            } else {
                (*text).to_owned()
            }
        };
        let [first, second] = [real(&parameters[0]), real(&parameters[1])];
        let path = path(route, [&first, &second]);
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
        let (code, said) = server
            .send(method.clone(), &path, &admin, body.clone())
            .await;
        if !code.is_success() {
            failed.push(format!("{method} {path}: {code} {said}"));
        }
        expected.push((
            method.to_string(),
            (*route).to_owned(),
            real(object),
            (*cluster).to_owned(),
        ));
    }
    // The thread that writes the audit log needs real time.
    tokio::time::resume();
    let lines = recorded(&server, |lines| lines.len() >= expected.len()).await;
    for ((method, route, object, cluster), line) in expected.iter().zip(&lines) {
        assert_eq!(
            (line["method"].as_str(), line["path"].as_str()),
            (Some(&**method), Some(&**route))
        );
        let named = line["object"].as_str().unwrap_or_default();
        let right = named == object || object == "*" && !named.is_empty();
        if !right || line["cluster"].as_str().unwrap_or_default() != cluster {
            failed.push(format!("{object:?} in {cluster:?} is wanted: {line}"));
        }
    }
    let document = drover_rest::document();
    let mut listed = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in ["post", "put", "patch", "delete"] {
            if methods.get(method).is_some() {
                listed.insert((method.to_owned(), path.clone()));
            }
        }
    }
    let tried = changes.iter().map(|change| (change.0, change.1));
    let elsewhere = ELSEWHERE.iter().map(|remaining| (remaining.0, remaining.1));
    let known = tried.chain(elsewhere);
    let known: BTreeSet<_> = known.map(|(m, p)| (m.to_owned(), p.to_owned())).collect();
    let differ = listed.symmetric_difference(&known);
    failed.extend(differ.map(|route| format!("{route:?} is neither tried nor left out")));
    assert!(failed.is_empty(), "{failed:#?}");
}
