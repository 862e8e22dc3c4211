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

/// What somebody who administers Drover may do with these roles.
fn as_administrator(stores: &Stores) -> RoleSight {
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
    RoleSight::of(stores, Visibility::of(stores, &caller), None)
}

#[test]
fn a_role_that_rests_on_a_locked_one_is_not_to_be_copied() {
    let stores = Stores::synced_empty();
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    for (name, locked, inherits) in [
        ("free", false, json!([])),
        ("held", true, json!([])),
        ("heir", false, json!(["free"])),
        ("heir-of-held", false, json!(["free", "held"])),
    ] {
        let spec =
            json!({ "context": "Cluster", "rules": rules, "locked": locked, "inherits": inherits });
        stores
            .role_templates
            .apply(object("RoleTemplate", name, &spec));
    }
    for (name, given) in [("open", "free"), ("shut", "held")] {
        let spec = json!({ "inEveryCluster": [given] });
        stores.global_roles.apply(object("GlobalRole", name, &spec));
    }
    let visibility = as_administrator(&stores);
    let may_copy = |name: &str| {
        let role = stores.role_templates.by_name(name).unwrap();
        visibility.template(&role).rights.may_copy
    };
    assert!(may_copy("free") && may_copy("heir"));
    // A copy is another role, and may say that it is not locked.
    assert!(may_copy("held"));
    assert!(!may_copy("heir-of-held"));
    let global = |name: &str| {
        visibility
            .global(&stores.global_roles.by_name(name).unwrap())
            .rights
    };
    assert!(global("open").may_copy && !global("shut").may_copy);
    assert_eq!(global("shut").may_give, Some(false));
}
