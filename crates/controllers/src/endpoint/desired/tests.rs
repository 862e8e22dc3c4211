use drover_api::kinds::{Cluster, ClusterScope, User};
use drover_testkit::kinds::token;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

fn object<K: DeserializeOwned>(kind: &str, name: &str, spec: &Value, status: &Value) -> K {
    let whole = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
        "metadata": { "name": name, "uid": format!("uid-{name}") },
        "spec": spec, "status": status,
    });
    serde_json::from_value(whole).unwrap()
}

fn now() -> Timestamp {
    "2026-11-28T10:00:00Z".parse().unwrap()
}

/// Returns stores with the cluster `shop`, whose group `drover:corp:devs` has a role, and with users who
/// are members of the group.
fn stores(users: &[User]) -> Stores {
    let stores = Stores::synced_empty();
    stores
        .clusters
        .apply(object::<Cluster>("Cluster", "shop", &json!({}), &json!({})));
    let corp = json!({ "enabled": true });
    let corp = object("AuthProvider", "corp", &corp, &json!({}));
    stores.auth_providers.apply(corp);
    let role = json!({ "context": "Cluster", "rules": [{
        "apiGroups": [""], "resources": ["pods"], "verbs": ["get"],
    }]});
    let role = object("RoleTemplate", "reader", &role, &json!({}));
    stores.role_templates.apply(role);
    let binding = json!({
        "cluster": { "name": "shop", "uid": "uid-shop" },
        "role": { "name": "reader", "uid": "uid-reader" },
        "subject": { "group": { "name": "drover:corp:devs", "providerUid": "uid-corp" } },
    });
    let binding = object("ClusterRoleTemplateBinding", "b", &binding, &json!({}));
    stores.cluster_role_template_bindings.apply(binding);
    for user in users {
        stores.users.apply(user.clone());
    }
    stores
}

/// Returns a user with groups that the provider confirmed one hour ago.
fn user(name: &str, enabled: bool, groups: &[&str]) -> User {
    let groups = groups
        .iter()
        .map(|name| json!({ "name": name, "displayName": name }));
    let identity = json!({
        "provider": "corp", "providerUid": "uid-corp", "id": name, "login": name,
        "groups": groups.collect::<Vec<_>>(),
        "confirmedAt": "2026-11-28T09:00:00Z", "state": "Confirmed",
    });
    let status = json!({ "identities": [identity] });
    object("User", name, &json!({ "enabled": enabled }), &status)
}

/// Returns a token of a user that is limited to a cluster.
fn scoped(id: &str, user: &str, purpose: TokenPurpose, cluster: Option<&str>) -> Token {
    let mut token = token(id, &format!("uid-{user}"));
    token.spec.purpose = purpose;
    token.spec.expires_at.0 = "2030-01-01T00:00:00Z".parse().unwrap();
    token.spec.cluster = cluster.map(|name| ClusterScope {
        name: name.to_owned(),
        uid: ClusterUid::new(format!("uid-{name}")),
    });
    token
}

#[test]
fn only_tokens_that_the_proxy_accepts_for_this_cluster_are_written() {
    use TokenPurpose::{Api, Credential, Kubeconfig};
    let devs = ["drover:corp:devs", "drover:corp:others"];
    let stores = stores(&[
        user("member", true, &devs),
        user("disabled", false, &devs),
        user("stranger", true, &["drover:corp:others"]),
    ]);
    let mut expired = scoped("expired", "member", Api, Some("shop"));
    expired.spec.expires_at.0 = now();
    for token in [
        scoped("api", "member", Api, Some("shop")),
        scoped("kubeconfig", "member", Kubeconfig, Some("shop")),
        scoped("credential", "member", Credential, Some("shop")),
        scoped("unlimited", "member", Api, None),
        scoped("of-bank", "member", Api, Some("bank")),
        scoped("of-disabled", "disabled", Api, Some("shop")),
        scoped("of-stranger", "stranger", Api, Some("shop")),
        scoped("of-nobody", "nobody", Api, Some("shop")),
        expired,
    ] {
        stores.tokens.apply(token);
    }
    let written = desired(&ClusterUid::new("uid-shop"), &stores, now());
    let ids: Vec<&str> = written.iter().map(|token| token.id.as_str()).collect();
    assert_eq!(ids, ["api", "kubeconfig"]);
    assert_eq!(written[0].user, "drover:user:uid-member");
    // As in proxied requests, the identity has only the groups with a role in the cluster.
    assert_eq!(written[0].groups, ["drover:corp:devs"]);
    // The provider's confirmation ends before the token.
    let end = written[0].until;
    assert!(
        end > now() && end < "2029-01-01T00:00:00Z".parse().unwrap(),
        "{end}"
    );
}

#[test]
fn token_of_a_user_who_could_impersonate_system_users_is_not_written() {
    for (verb, resource, expected) in [
        ("get", "pods", 1),
        ("impersonate", "users", 0),
        ("impersonate", "groups", 0),
        ("*", "users", 0),
    ] {
        let stores = stores(&[user("member", true, &["drover:corp:devs"])]);
        let role = json!({ "context": "Cluster", "rules": [{
            "apiGroups": [""], "resources": [resource], "verbs": [verb],
        }]});
        let role = object("RoleTemplate", "reader", &role, &json!({}));
        stores.role_templates.apply(role);
        stores
            .tokens
            .apply(scoped("api", "member", TokenPurpose::Api, Some("shop")));
        let written = desired(&ClusterUid::new("uid-shop"), &stores, now());
        assert_eq!(written.len(), expected, "{verb} {resource}");
    }
}

#[test]
fn digest_changes_with_the_groups_of_a_user() {
    let digest_of = |groups: &[&str]| {
        let stores = stores(&[user("member", true, groups)]);
        stores
            .tokens
            .apply(scoped("api", "member", TokenPurpose::Api, Some("shop")));
        digest(&desired(&ClusterUid::new("uid-shop"), &stores, now()))
    };
    let devs = digest_of(&["drover:corp:devs"]);
    assert_eq!(devs, digest_of(&["drover:corp:devs", "drover:corp:others"]));
    assert_ne!(devs, digest_of(&[]));
}
