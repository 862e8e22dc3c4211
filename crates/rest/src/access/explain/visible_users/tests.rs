use drover_access::identity::{Identity, TokenLimits};
use drover_api::ids::UserUid;
use drover_api::kinds::TokenPurpose;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

/// Parses an object. The object's UID is its name.
fn object<K: DeserializeOwned>(kind: &str, name: &str, spec: &Value) -> K {
    let whole = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
        "metadata": { "name": name, "uid": name }, "spec": spec,
    });
    serde_json::from_value(whole).unwrap()
}

/// Stores with the cluster `shop` and four users. `ann` has all of Drover's permissions in `shop`.
/// `max` can list members of projects. `pia` has a role in the project `till`. `eve` has a role in
/// every cluster.
fn stores() -> Stores {
    let stores = Stores::synced_empty();
    for name in ["ann", "max", "pia", "eve"] {
        stores.users.apply(object("User", name, &json!({})));
    }
    let root = json!({ "administrator": true });
    stores.users.apply(object("User", "root", &root));
    stores.clusters.apply(object("Cluster", "shop", &json!({})));
    let till = json!({ "cluster": { "name": "shop", "uid": "shop" }, "namespaces": [] });
    stores.projects.apply(object("Project", "till", &till));
    let lists = |resource: &str| json!([{ "apiGroups": ["management.drover.dev"], "resources": [resource], "verbs": ["list"] }]);
    for (name, context, resource) in [
        ("owner", "Cluster", "*"),
        ("reader", "Cluster", "projectroletemplatebindings"),
        ("seller", "Project", "nothing"),
    ] {
        let spec = json!({ "context": context, "rules": lists(resource) });
        stores
            .role_templates
            .apply(object("RoleTemplate", name, &spec));
    }
    let reference = |name: &str| json!({ "name": name, "uid": name });
    let subject = |name: &str| json!({ "user": reference(name) });
    for (name, role) in [("ann", "owner"), ("max", "reader")] {
        let spec = json!({ "cluster": reference("shop"), "role": reference(role), "subject": subject(name) });
        let bindings = &stores.cluster_role_template_bindings;
        bindings.apply(object("ClusterRoleTemplateBinding", name, &spec));
    }
    let spec = json!({ "project": reference("till"), "role": reference("seller"), "subject": subject("pia") });
    let bindings = &stores.project_role_template_bindings;
    bindings.apply(object("ProjectRoleTemplateBinding", "pia", &spec));
    let spec = json!({ "inEveryCluster": ["reader"] });
    stores
        .global_roles
        .apply(object("GlobalRole", "readers", &spec));
    let spec = json!({ "role": reference("readers"), "subject": subject("eve") });
    stores
        .global_role_bindings
        .apply(object("GlobalRoleBinding", "eve", &spec));
    stores
}

fn identity(name: &str) -> Identity {
    Identity {
        user_uid: UserUid::new(name),
        user_name: name.to_owned(),
        display_name: None,
        administrator: name == "root",
        groups: Vec::new(),
        token: TokenLimits {
            id: "t".to_owned(),
            purpose: TokenPurpose::Session,
            cluster: None,
            provider: None,
            expires_at: jiff::Timestamp::MAX,
        },
    }
}

/// Returns the user names that `caller` can see in the response to a request for the names
/// `requested`.
fn visible_names(caller: &str, requested: &[&str]) -> Vec<String> {
    let stores = stores();
    let visibility = Visibility::of(&stores, &identity(caller));
    assert!(visibility.grants().problems().is_empty());
    let requested: Vec<_> = requested
        .iter()
        .map(|name| format!("drover:user:{name}"))
        .collect();
    let visible = VisibleUsers::new(&visibility, &stores, &ClusterUid::new("shop"), &requested);
    let all = ["ann", "eve", "max", "pia", "root"].into_iter();
    all.filter_map(|name| visible.name_of(&format!("drover:user:{name}")))
        .collect()
}

#[test]
fn caller_can_read_names_of_visible_users_only() {
    assert_eq!(
        visible_names("root", &[]),
        ["ann", "eve", "max", "pia", "root"]
    );
    assert_eq!(visible_names("ann", &[]), ["ann", "max", "pia"]);
    assert_eq!(visible_names("max", &[]), ["max", "pia"]);
    assert_eq!(visible_names("pia", &[]), ["pia"]);
    assert_eq!(
        visible_names("pia", &["eve"]),
        ["eve", "pia"],
        "the name in the question is visible"
    );
}

#[test]
fn invisible_user_and_missing_user_return_the_same_response() {
    let stores = stores();
    let is_visible = |caller: &str, name: &str| {
        let visibility = Visibility::of(&stores, &identity(caller));
        let visible = VisibleUsers::new(&visibility, &stores, &ClusterUid::new("shop"), &[]);
        visible.contains_any(&[format!("drover:user:{name}")])
    };
    assert!(is_visible("root", "eve") && is_visible("ann", "pia") && is_visible("max", "pia"));
    for name in ["ann", "eve", "root", "nobody"] {
        assert!(!is_visible("max", name), "{name}");
    }
    assert!(!is_visible("max", "") && is_visible("max", "max"));
}
