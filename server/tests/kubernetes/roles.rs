//! Tests of roles and bindings on the hub: the required permissions for writes, references to other
//! objects, and the default roles.

use std::time::Duration;

use drover_access::roles::{BUILT_IN_LABEL, built_in_global_roles, built_in_role_templates};
use drover_api::group::GROUP;
use drover_api::kinds::{
    ClusterRoleTemplateBinding, Project, ProjectRoleTemplateBinding, RoleTemplate,
};
use drover_e2e::eventually;
use http::{Method, Request};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::admission::wait_for_rules;
use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(
    direct_writes_to_the_hub_cannot_grant_or_revoke_more_than_the_writer_has,
    binding_refers_to_the_object_that_existed_at_its_creation,
    default_roles_are_created_and_restored,
);

const SOON: Duration = Duration::from_secs(30);
const OURS: &str = "/apis/management.drover.dev/v1alpha1";

const ROLES: &str = "roletemplates";
const BINDINGS: &str = "clusterroletemplatebindings";

/// The user name and the groups of a writer.
type Who<'a> = (&'a str, &'a [&'a str]);

/// A Kubernetes group with all permissions on the hub, and without permissions in Drover's
/// clusters.
const MASTERS: &[&str] = &["system:masters"];

/// Sends a write as a user with groups. Returns the status code and the message of the hub.
async fn write_as(
    server: &Server,
    (writer, groups): Who<'_>,
    method: Method,
    path: &str,
    body: &Value,
) -> (u16, String) {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{OURS}/{path}"))
        .header("content-type", "application/json")
        .header("impersonate-user", writer);
    for group in groups {
        request = request.header("impersonate-group", *group);
    }
    let request = request.body(serde_json::to_vec(body).unwrap()).unwrap();
    match server.hub.client().request::<Value>(request).await {
        Ok(_) => (200, String::new()),
        Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
        Err(other) => panic!("{path}: {other:?}"),
    }
}

fn object_of_kind(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind,
        "metadata": { "name": name }, "spec": spec,
    })
}

fn template(name: &str, verbs: &[&str]) -> Value {
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": verbs }]);
    let spec = json!({ "context": "Cluster", "rules": rules });
    object_of_kind("RoleTemplate", name, &spec)
}

fn in_shop(name: &str, role: &str, user: &str) -> Value {
    let spec = json!({
        "cluster": { "name": "shop" }, "role": { "name": role },
        "subject": { "user": { "name": user } },
    });
    object_of_kind("ClusterRoleTemplateBinding", name, &spec)
}

/// Returns the user name of a Drover user on the hub: `drover:user:<UID>`.
async fn name_of(server: &Server, user: &str) -> String {
    let user = server.hub.users().get(user).await.unwrap();
    format!("drover:user:{}", user.metadata.uid.unwrap())
}

/// Creates an object with the server's account. The admission rules exempt the account.
async fn make(server: &Server, path: &str, object: &Value) {
    let request = Request::post(format!("{OURS}/{path}"))
        .header("content-type", "application/json")
        .body(serde_json::to_vec(object).unwrap())
        .unwrap();
    let created = server.hub.client().request::<Value>(request).await;
    created.unwrap();
}

/// Waits until the condition of the object has this status and reason, and returns the object.
async fn wait_for_condition(server: &Server, path: &str, expected: [&str; 2]) -> Value {
    let found = eventually(path, SOON, async || {
        let request = Request::get(format!("{OURS}/{path}"))
            .body(Vec::new())
            .unwrap();
        let got = server.hub.client().request::<Value>(request).await;
        let got = got.map_err(|error| error.to_string())?;
        let ready = &got["status"]["conditions"][0];
        if [&ready["status"], &ready["reason"]] == expected {
            Ok(got)
        } else {
            Err(got.to_string())
        }
    });
    found.await.unwrap()
}

/// Starts a server with the users `ann` and `bob`, the cluster `shop` and roles. `ann` can read
/// pods in `shop`.
async fn prepared(hub: &TestHub) -> Server {
    let server = Server::start(hub).await;
    let admin = server.administrator().await;
    for name in ["ann", "bob"] {
        let user = json!({ "name": name, "password": "the very first password" });
        server.post("/v1/users", &admin, user).await.expect(201);
    }
    let shop = json!({ "name": "shop" });
    server.post("/v1/clusters", &admin, shop).await.expect(201);
    wait_for_rules(&server).await;
    for role in [
        template("reader", &["get"]),
        template("writer", &["get", "update"]),
    ] {
        make(&server, ROLES, &role).await;
    }
    make(&server, BINDINGS, &in_shop("ann-reads", "reader", "ann")).await;
    make(&server, BINDINGS, &in_shop("bob-writes", "writer", "bob")).await;
    for name in ["ann-reads", "bob-writes"] {
        let path = format!("{BINDINGS}/{name}");
        wait_for_condition(&server, &path, ["True", "Given"]).await;
    }
    server
}

/// Grants `jane` write access to all of Drover's kinds with a ClusterRole of the hub. Grants no
/// other permissions.
async fn let_jane_write(server: &Server) {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let role = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole",
        "metadata": { "name": "writes-roles" },
        "rules": [{ "apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"] }],
    });
    let binding = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding",
        "metadata": { "name": "writes-roles" },
        "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": "writes-roles" },
        "subjects": [{ "apiGroup": RBAC, "kind": "User", "name": "jane" }],
    });
    for (path, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let request = Request::post(format!("/apis/{RBAC}/v1/{path}"))
            .header("content-type", "application/json")
            .body(serde_json::to_vec(&object).unwrap())
            .unwrap();
        let created = server.hub.client().request::<Value>(request).await;
        created.unwrap();
    }
}

async fn direct_writes_to_the_hub_cannot_grant_or_revoke_more_than_the_writer_has(hub: TestHub) {
    let server = prepared(&hub).await;
    let_jane_write(&server).await;
    let (ann, admin) = (
        name_of(&server, "ann").await,
        name_of(&server, "admin").await,
    );
    let (ann, admin): (Who<'_>, Who<'_>) = ((&ann, MASTERS), (&admin, MASTERS));
    let nobody = ("drover:user:5b3c4fd4-0000-4000-8000-000000000000", MASTERS);
    let (root, jane): (Who<'_>, Who<'_>) = (("jane", MASTERS), ("jane", &[]));
    let create = |path: &str, object: Value| (Method::POST, path.to_owned(), object);
    let delete = |path: String| (Method::DELETE, path, json!({}));
    let bind = |name: &str, role: &str, user: &str| create(BINDINGS, in_shop(name, role, user));
    let unbind = |name: &str| delete(format!("{BINDINGS}/{name}"));
    let lacks = "your roles in the cluster lack";
    let everywhere = "in every cluster lack";
    for (caller, (method, path, body), refused) in [
        (ann, bind("a", "writer", "ann"), lacks),
        (ann, bind("b", "reader", "bob"), ""),
        (ann, unbind("bob-writes"), lacks),
        // A `deletecollection` request, which names no object.
        (ann, delete(BINDINGS.to_owned()), lacks),
        (ann, create(ROLES, template("r", &["get"])), everywhere),
        (ann, delete(format!("{ROLES}/writer")), everywhere),
        (jane, bind("c", "reader", "bob"), "only Drover users"),
        (jane, unbind("bob-writes"), "only Drover users"),
        (
            nobody,
            bind("d", "reader", "bob"),
            "was deleted or disabled",
        ),
        (nobody, unbind("bob-writes"), "was deleted or disabled"),
        (root, bind("e", "writer", "ann"), ""),
        (root, unbind("e"), ""),
        (admin, unbind("bob-writes"), ""),
    ] {
        let (code, said) = write_as(&server, caller, method.clone(), &path, &body).await;
        let as_wanted = if refused.is_empty() {
            code == 200
        } else {
            code == 403 && said.contains(refused)
        };
        assert!(
            as_wanted,
            "{caller:?} {method} {path} {body}: {refused:?}: {code} {said}"
        );
    }
    objects_applied_together_are_accepted(&server, admin).await;
    server.stop().await;
}

/// Creates objects in sequence, as `kubectl apply -f` does. Each object can refer to a previous
/// object that the server's stores do not contain yet.
async fn objects_applied_together_are_accepted(server: &Server, user: Who<'_>) {
    for number in 0..5 {
        let name = format!("new-{number}");
        let shop = json!({ "cluster": { "name": "shop" } });
        let in_project = json!({
            "project": { "name": name }, "role": { "name": "read-only" },
            "subject": { "user": { "name": "ann" } },
        });
        for (path, object) in [
            (ROLES, template(&name, &["get", "list"])),
            (BINDINGS, in_shop(&name, &name, "ann")),
            ("projects", object_of_kind("Project", &name, &shop)),
            (
                "projectroletemplatebindings",
                object_of_kind("ProjectRoleTemplateBinding", &name, &in_project),
            ),
        ] {
            let (code, body) = write_as(server, user, Method::POST, path, &object).await;
            assert_eq!(code, 200, "{path} {name}: {body}");
        }
        wait_for_condition(server, &format!("{BINDINGS}/{name}"), ["True", "Given"]).await;
    }
}

async fn binding_refers_to_the_object_that_existed_at_its_creation(hub: TestHub) {
    let server = prepared(&hub).await;
    let client = server.hub.client();
    let bindings: Api<ClusterRoleTemplateBinding> = Api::all(client.clone());
    let roles: Api<RoleTemplate> = Api::all(client.clone());
    let ann = server.hub.users().get("ann").await.unwrap();
    let shop = server.hub.clusters().get("shop").await.unwrap();
    let reader = roles.get("reader").await.unwrap();
    let bound = bindings.get("ann-reads").await.unwrap().spec;
    let text = |uid: Option<String>| uid.unwrap();
    let pinned = [
        bound.subject.user.unwrap().uid.unwrap().to_string(),
        bound.cluster.uid.unwrap().to_string(),
        bound.role.uid.unwrap().to_string(),
    ];
    let meant = [ann.metadata.uid, shop.metadata.uid, reader.metadata.uid].map(text);
    assert_eq!(pinned, meant);

    roles
        .delete("reader", &DeleteParams::default())
        .await
        .unwrap();
    let path = "clusterroletemplatebindings/ann-reads";
    wait_for_condition(&server, path, ["False", "Gone"]).await;
    make(&server, ROLES, &template("reader", &["*"])).await;
    wait_for_condition(&server, "roletemplates/reader", ["True", "Resolved"]).await;
    wait_for_condition(&server, path, ["False", "Gone"]).await;
    let grants = server.hub.stores().grants.fresh(server.hub.stores());
    let mut value = grants.all().iter();
    assert!(value.all(|grant| grant.binding.name != "ann-reads"));

    let shop = json!({ "cluster": { "name": "shop" } });
    make(
        &server,
        "projects",
        &object_of_kind("Project", "web", &shop),
    )
    .await;
    let in_web = json!({
        "project": { "name": "web" }, "role": { "name": "read-only" },
        "subject": { "user": { "name": "ann" } },
    });
    let binding = object_of_kind("ProjectRoleTemplateBinding", "ann-views", &in_web);
    make(&server, "projectroletemplatebindings", &binding).await;
    let path = "projectroletemplatebindings/ann-views";
    wait_for_condition(&server, path, ["True", "Given"]).await;
    let web = Api::<Project>::all(client.clone())
        .get("web")
        .await
        .unwrap();
    assert_eq!(web.spec.cluster.uid.unwrap().as_str(), meant[1]);
    let in_projects: Api<ProjectRoleTemplateBinding> = Api::all(client);
    let bound = in_projects.get("ann-views").await.unwrap().spec;
    let project = bound.project.uid.unwrap();
    assert_eq!(project.as_str(), web.metadata.uid.unwrap());
    server.stop().await;
}

async fn default_roles_are_created_and_restored(hub: TestHub) {
    let server = Server::start(&hub).await;
    let roles: Api<RoleTemplate> = Api::all(server.hub.client());
    let templates = built_in_role_templates();
    for role in &templates {
        let path = format!("roletemplates/{}", role.name);
        let stored = wait_for_condition(&server, &path, ["True", "Resolved"]).await;
        assert_eq!(stored["metadata"]["labels"][BUILT_IN_LABEL], "true");
    }
    for role in built_in_global_roles() {
        let path = format!("globalroles/{}", role.name);
        wait_for_condition(&server, &path, ["True", "Resolved"]).await;
    }
    let first = &templates[0];
    let changed = json!({ "spec": {
        "locked": true, "external": ["made-here"], "displayName": "Mine",
    } });
    let params = PatchParams::default();
    let before = roles
        .patch(first.name, &params, &Patch::Merge(changed))
        .await
        .unwrap();
    assert_ne!(before.spec, first.spec);
    let restored = eventually("the role to be restored", SOON, async || {
        let now = roles.get(first.name).await.unwrap();
        if now.spec == first.spec {
            Ok(())
        } else {
            Err(format!("{:?}", now.spec))
        }
    });
    restored.await.unwrap();
    roles
        .delete(first.name, &DeleteParams::default())
        .await
        .unwrap();
    let created = eventually("the role to be created again", SOON, async || {
        roles.get(first.name).await
    });
    assert_ne!(created.await.unwrap().metadata.uid, before.metadata.uid);

    // The server writes default roles once. A change triggers one reconciliation of all default
    // roles.
    let versions = async || {
        let listed = roles.list(&kube::api::ListParams::default()).await.unwrap();
        let own = listed.items.into_iter().filter(|role| {
            let labels = role.metadata.labels.as_ref();
            labels.is_some_and(|labels| labels.contains_key(BUILT_IN_LABEL))
        });
        own.map(|role| (role.metadata.name, role.metadata.generation))
            .collect::<Vec<_>>()
    };
    let settled = versions().await;
    let mine: RoleTemplate = serde_json::from_value(template("mine", &["get"])).unwrap();
    roles.create(&PostParams::default(), &mine).await.unwrap();
    wait_for_condition(&server, "roletemplates/mine", ["True", "Resolved"]).await;
    assert_eq!(versions().await, settled);
    server.stop().await;
}
