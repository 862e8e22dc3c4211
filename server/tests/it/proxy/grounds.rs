//! Tests that open watches end when the permission ends: the user leaves a group, or the namespace
//! leaves a project.

use drover_api::kinds::{
    AuthProvider, ClusterRoleTemplateBinding, Project, ProjectRoleTemplateBinding, RoleTemplate,
    User,
};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client::get;
use super::members::{ends, watch_at, watched};
use super::rig::Rig;

const PODS: &str = "/k8s/clusters/a/api/v1/namespaces/front/pods";

/// Creates an object with a UID, a spec and a status, as the server writes them.
fn object<K: DeserializeOwned>(kind: &str, name: &str, spec: &Value, status: &Value) -> K {
    let object = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
        "metadata": { "name": name, "uid": format!("uid-{name}") },
        "spec": spec, "status": status,
    });
    serde_json::from_value(object).unwrap()
}

fn named(name: &str) -> Value {
    json!({ "name": name, "uid": format!("uid-{name}") })
}

fn reader(name: &str, context: &str) -> RoleTemplate {
    let rules =
        json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"] }]);
    let spec = json!({ "context": context, "rules": rules });
    object("RoleTemplate", name, &spec, &Value::Null)
}

/// Returns the user bob. The most recent response of the provider contains these groups.
fn bob(groups: &[&str]) -> User {
    let groups: Vec<_> = groups
        .iter()
        .map(|name| json!({ "name": name, "displayName": name }))
        .collect();
    let identity = json!({
        "provider": "corp", "providerUid": "uid-corp", "id": "1", "login": "bob", "groups": groups,
        "confirmedAt": Timestamp::now(), "state": "Confirmed",
    });
    let status = json!({ "identities": [identity] });
    object("User", "bob", &json!({ "enabled": true }), &status)
}

fn project(namespaces: &[&str]) -> Project {
    let own: Vec<_> = namespaces.iter().copied().map(named).collect();
    let spec = json!({ "cluster": named("a") });
    object("Project", "web", &spec, &json!({ "namespaces": own }))
}

#[tokio::test]
async fn watch_authorized_by_a_group_is_closed_when_the_user_leaves_the_group() {
    let rig = Rig::new().await;
    let stores = &rig.stores;
    let spec = json!({ "enabled": true, "oidc": { "issuer": "https://corp.example.com", "clientId": "d" } });
    let provider: AuthProvider = object("AuthProvider", "corp", &spec, &Value::Null);
    stores.auth_providers.apply(provider);
    stores.users.apply(bob(&["drover:corp:devs"]));
    stores.role_templates.apply(reader("reader", "Cluster"));
    let group = json!({ "name": "drover:corp:devs", "providerUid": "uid-corp" });
    let spec =
        json!({ "cluster": named("a"), "role": named("reader"), "subject": { "group": group } });
    let kind = "ClusterRoleTemplateBinding";
    let binding: ClusterRoleTemplateBinding = object(kind, "devs", &spec, &Value::Null);
    stores.cluster_role_template_bindings.apply(binding);
    let _attached = watched().attach(&rig, "a", "r1").await;
    let watch = watch_at(&rig, PODS).await;
    // The provider reports another group.
    stores.users.apply(bob(&["drover:corp:others"]));
    ends(watch).await;
    let record = rig.audited(|record| record["outcome"] == "revoked").await;
    assert_eq!(record["reason"], "RightRemoved");
    assert_eq!(get(&rig, &rig.bob, PODS).await.code(), 403);
}

#[tokio::test]
async fn removal_of_a_namespace_from_its_project_closes_watches_of_members() {
    let rig = Rig::new().await;
    let stores = &rig.stores;
    stores.role_templates.apply(reader("member", "Project"));
    stores.projects.apply(project(&["front", "back"]));
    let subject = json!({ "user": named("bob") });
    let spec = json!({ "project": named("web"), "role": named("member"), "subject": subject });
    let kind = "ProjectRoleTemplateBinding";
    let binding: ProjectRoleTemplateBinding = object(kind, "bobs", &spec, &Value::Null);
    stores.project_role_template_bindings.apply(binding);
    let _attached = watched().attach(&rig, "a", "r1").await;
    let watch = watch_at(&rig, PODS).await;
    stores.projects.apply(project(&["back"]));
    ends(watch).await;
    // The user is still a member, so a new watch in the other namespace succeeds.
    let other = "/k8s/clusters/a/api/v1/namespaces/back/pods";
    drop(watch_at(&rig, other).await);
}
