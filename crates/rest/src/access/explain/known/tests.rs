use drover_access::identity::{Identity, TokenLimits};
use drover_api::ids::UserUid;
use drover_api::kinds::TokenPurpose;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

/// An object whose UID is its name.
fn object<K: DeserializeOwned>(kind: &str, name: &str, spec: &Value) -> K {
    let whole = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
        "metadata": { "name": name, "uid": name }, "spec": spec,
    });
    serde_json::from_value(whole).unwrap()
}

/// In the cluster `shop`, `ann` owns everything of Drover's, `max` sees members of projects, `pia` has a
/// role in the project `till`, and `eve` one in every cluster.
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

fn who(name: &str) -> Identity {
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

/// Those whose names somebody learns who has asked about some.
fn told(asker: &str, asked_about: &[&str]) -> Vec<String> {
    let stores = stores();
    let visibility = Visibility::of(&stores, &who(asker));
    assert!(visibility.grants().problems().is_empty());
    let asked_about: Vec<_> = asked_about
        .iter()
        .map(|name| format!("drover:user:{name}"))
        .collect();
    let known = Known::to(&visibility, &stores, &ClusterUid::new("shop"), &asked_about);
    let all = ["ann", "eve", "max", "pia", "root"].into_iter();
    all.filter_map(|name| known.name_of(&format!("drover:user:{name}")))
        .collect()
}

#[test]
fn an_asker_learns_the_names_of_those_alone_whom_they_may_see() {
    assert_eq!(told("root", &[]), ["ann", "eve", "max", "pia", "root"]);
    assert_eq!(told("ann", &[]), ["ann", "max", "pia"]);
    assert_eq!(told("max", &[]), ["max", "pia"]);
    assert_eq!(told("pia", &[]), ["pia"]);
    assert_eq!(
        told("pia", &["eve"]),
        ["eve", "pia"],
        "whose name they said"
    );
}

#[test]
fn user_whom_an_asker_may_not_see_is_as_unknown_as_nobody() {
    let stores = stores();
    let sees = |asker: &str, name: &str| {
        let visibility = Visibility::of(&stores, &who(asker));
        let known = Known::to(&visibility, &stores, &ClusterUid::new("shop"), &[]);
        known.sees(&[format!("drover:user:{name}")])
    };
    assert!(sees("root", "eve") && sees("ann", "pia") && sees("max", "pia"));
    for name in ["ann", "eve", "root", "nobody"] {
        assert!(!sees("max", name), "{name}");
    }
    assert!(!sees("max", "") && sees("max", "max"));
}
