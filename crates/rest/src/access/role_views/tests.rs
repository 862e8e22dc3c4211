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

/// Builds views of these roles for an administrator.
fn as_administrator(stores: &Stores) -> RoleViews {
    let root = object("User", "root", &json!({ "administrator": true }));
    stores.users.apply(root);
    let caller = Identity {
        user_uid: UserUid::new("root"),
        user_name: "root".to_owned(),
        display_name: None,
        administrator: true,
        groups: Vec::new(),
        token: TokenLimits {
            id: "t".to_owned(),
            purpose: TokenPurpose::Session,
            cluster: None,
            provider: None,
            expires_at: jiff::Timestamp::MAX,
        },
    };
    RoleViews::of(stores, Visibility::of(stores, &caller), None)
}

#[test]
fn role_that_inherits_a_locked_role_cannot_be_copied() {
    let stores = Stores::synced_empty();
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    for (name, locked, inherits) in [
        ("free", false, json!([])),
        ("locked-role", true, json!([])),
        ("child", false, json!(["free"])),
        ("child-of-locked", false, json!(["free", "locked-role"])),
    ] {
        let spec =
            json!({ "context": "Cluster", "rules": rules, "locked": locked, "inherits": inherits });
        stores
            .role_templates
            .apply(object("RoleTemplate", name, &spec));
    }
    for (name, granted) in [("open", "free"), ("shut", "locked-role")] {
        let spec = json!({ "inEveryCluster": [granted] });
        stores.global_roles.apply(object("GlobalRole", name, &spec));
    }
    let views = as_administrator(&stores);
    let may_copy = |name: &str| {
        let role = stores.role_templates.by_name(name).unwrap();
        views.template(&role).rights.may_copy
    };
    assert!(may_copy("free") && may_copy("child"));
    // A copy is a new role, which can be unlocked.
    assert!(may_copy("locked-role"));
    assert!(!may_copy("child-of-locked"));
    let global = |name: &str| {
        views
            .global(&stores.global_roles.by_name(name).unwrap())
            .rights
    };
    assert!(global("open").may_copy && !global("shut").may_copy);
    assert_eq!(global("shut").may_give, Some(false));
}
