use drover_api::ids::ClusterUid;
use drover_api::kinds::{ClusterRoleTemplateBinding, User};
use serde_json::json;

use drover_access::admission::RBAC;

use super::*;
use drover_hub::Stores;

fn subject(kind: &str, name: &str) -> Subject {
    Subject {
        api_group: Some(RBAC.to_owned()),
        kind: kind.to_owned(),
        name: name.to_owned(),
        namespace: None,
    }
}

#[test]
fn unmanaged_binding_check_reports_only_drover_users_and_groups() {
    for (kind, name, is_one) in [
        ("User", "drover:user:u-1", true),
        ("Group", "drover:github:42", true),
        ("User", "drover:github:42", false),
        ("Group", "drover:user:u-1", false),
        ("User", "jane", false),
        ("Group", "system:authenticated", false),
        ("ServiceAccount", "drover-user", false),
    ] {
        assert_eq!(
            person(&subject(kind, name)).is_some(),
            is_one,
            "{kind} {name}"
        );
    }
    let mut other = subject("User", "drover:user:u-1");
    other.api_group = Some("example.org".to_owned());
    assert_eq!(person(&other), None);
    other.api_group = None;
    assert!(person(&other).is_some());
}

#[test]
fn subject_without_role_is_removed_from_unmanaged_binding() {
    let (gone, here, jane) = (
        subject("User", "drover:user:gone"),
        subject("User", "drover:user:here"),
        subject("User", "jane"),
    );
    let stay = |subjects: &[Subject]| remaining(subjects, |subject| *subject != gone);
    assert_eq!(stay(std::slice::from_ref(&gone)), Some(Vec::new()));
    let mixed = [gone.clone(), jane.clone(), here.clone()];
    assert_eq!(stay(&mixed), Some(vec![jane.clone(), here.clone()]));
    assert_eq!(stay(&[here, jane]), None);
    assert_eq!(stay(&[]), None);
}

#[test]
fn disabled_user_is_not_removed_from_unmanaged_binding() {
    let stores = Stores::synced_empty();
    let object = |kind: &str, name: &str, spec: serde_json::Value, status: serde_json::Value| {
        json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
            "metadata": { "name": name, "uid": format!("uid-{name}") },
            "spec": spec, "status": status,
        })
    };
    let user = |name: &str, enabled: bool, group: &str| {
        let identity = json!({
            "provider": "corp", "providerUid": "uid-corp", "id": name, "login": name,
            "groups": [{ "name": group, "displayName": group }],
            "confirmedAt": "2026-01-01T00:00:00Z", "state": "Refused",
        });
        let spec = json!({ "enabled": enabled });
        let user = object("User", name, spec, json!({ "identities": [identity] }));
        serde_json::from_value::<User>(user).unwrap()
    };
    stores.users.apply(user("off", false, "drover:corp:none"));
    stores.users.apply(user("member", true, "drover:corp:devs"));
    stores.users.apply(user("other", true, "drover:corp:none"));
    let bind = |name: &str, cluster: &str, subject: serde_json::Value| {
        let cluster = json!({ "name": cluster, "uid": format!("uid-{cluster}") });
        let spec = json!({ "cluster": cluster, "role": { "name": "gone" }, "subject": subject });
        let binding = object("ClusterRoleTemplateBinding", name, spec, json!(null));
        let binding = serde_json::from_value::<ClusterRoleTemplateBinding>(binding).unwrap();
        stores.cluster_role_template_bindings.apply(binding);
    };
    bind(
        "a",
        "shop",
        json!({ "user": { "name": "off", "uid": "uid-off" } }),
    );
    bind(
        "b",
        "shop",
        json!({ "group": { "name": "drover:corp:devs" } }),
    );
    bind(
        "c",
        "bank",
        json!({ "user": { "name": "other", "uid": "uid-other" } }),
    );
    let bound = BoundSubjects::of(&stores, &ClusterUid::new("uid-shop"));
    for (kind, name, stays) in [
        ("User", "drover:user:uid-off", true),
        ("User", "drover:user:uid-member", true),
        ("User", "drover:user:uid-other", false),
        ("User", "drover:user:uid-deleted", false),
        ("Group", "drover:corp:devs", true),
        ("Group", "drover:corp:none", false),
    ] {
        let person = person(&subject(kind, name)).unwrap();
        assert_eq!(bound.contains(&person), stays, "{name}");
    }
}
