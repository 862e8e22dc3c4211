use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::json;

use super::*;
use crate::admission::{self, depends_on_writer};
use crate::grants::tests::world::{World, rule, user};

/// Creates three users. The User object makes `root` an administrator. A role makes `ann` an
/// administrator. `bob` may manage users.
fn world() -> World {
    let paths = PolicyRule {
        non_resource_urls: Some(vec!["*".to_owned()]),
        verbs: vec!["*".to_owned()],
        ..PolicyRule::default()
    };
    let everything = [rule("*", "*", "*"), paths];
    World::new()
        .administrator("root")
        .cluster_role("owner", &everything)
        .global_role("administrators", &everything, &["owner"])
        .global_role("people", &[rule(GROUP, "*", "*")], &[])
        .global("one", "administrators", &user("ann"))
        .global("two", "people", &user("bob"))
        .global("three", "administrators", &user("off"))
        .disabled("off")
}

fn person(name: &str) -> UserWithGroups {
    let somebody = user(name);
    UserWithGroups {
        user: somebody.rights_holder().user.clone(),
        groups: Vec::new(),
    }
}

/// Returns one writer of each kind, and true if the writer is an administrator.
fn writers() -> Vec<(WriterRights, bool)> {
    vec![
        (WriterRights::User(person("root")), true),
        (WriterRights::User(person("ann")), true),
        (WriterRights::HubAdministrator, true),
        (WriterRights::User(person("bob")), false),
        (WriterRights::User(person("joe")), false),
        (WriterRights::OtherUser, false),
        (WriterRights::DisabledUser, false),
    ]
}

fn write<'a>(
    resource: &'a str,
    name: &'a str,
    old: Option<&'a Value>,
    object: Option<&'a Value>,
) -> Write<'a> {
    Write {
        writer: "whoever",
        groups: &[],
        operation: match (old, object) {
            (None, _) => Operation::Create,
            (_, None) => Operation::Delete,
            _ => Operation::Update,
        },
        group: GROUP,
        resource,
        subresource: "",
        namespace: "",
        name,
        object,
        old,
    }
}

/// Asserts that administrators may perform a write. Asserts that other writers may perform the
/// write only if `everybody` is true.
#[track_caller]
fn check(write: &Write<'_>, everybody: bool) {
    let world = world();
    let (facts, grants) = (world.facts(), world.gather());
    let hub_roles = HubRoles {
        facts: &facts,
        grants: &grants,
    };
    let changed = changed_user(write).map(|user| UserWithGroups {
        user,
        groups: Vec::new(),
    });
    for (writer, administers) in writers() {
        let refusal_text = admission::admit_by_roles(write, &writer, changed.as_ref(), hub_roles);
        let may = administers || everybody;
        assert_eq!(
            refusal_text.is_ok(),
            may,
            "{writer:?}: {write:?}: {refusal_text:?}"
        );
        if let Err(refusal) = refusal_text {
            let refusal_text = refusal.to_string();
            assert!(
                refusal_text.contains("only administrators"),
                "{refusal_text}"
            );
            assert!(depends_on_writer(write), "{write:?}");
        }
    }
}

#[test]
fn only_administrators_write_auth_providers() {
    let (one, other) = (
        json!({ "spec": { "enabled": false } }),
        json!({ "spec": { "enabled": true } }),
    );
    check(&write("authproviders", "oidc", None, Some(&one)), false);
    let changed = write("authproviders", "oidc", Some(&one), Some(&other));
    check(&changed, false);
    check(&write("authproviders", "oidc", Some(&one), None), false);
}

#[test]
fn only_administrators_set_agent_image() {
    let cluster = |image: Option<&str>| json!({ "spec": { "agent": { "image": image } } });
    let (none, own) = (cluster(None), cluster(Some("evil/agent")));
    for (old, new, everybody) in [
        (None, &none, true),
        (None, &own, false),
        (Some(&none), &own, false),
        (Some(&own), &none, false),
        (Some(&own), &own, true),
    ] {
        check(&write("clusters", "shop", old, Some(new)), everybody);
    }
}

#[test]
fn only_administrators_write_security_settings() {
    let setting = |value: &str| json!({ "spec": { "value": value } });
    let (one, other) = (setting("1d"), setting("2d"));
    let everybody = ["kubeconfig-token-ttl", "token-default-ttl"];
    for name in Setting::ALL.map(Setting::name) {
        let everybody = everybody.contains(&name);
        check(&write("settings", name, None, Some(&one)), everybody);
        let changed = write("settings", name, Some(&one), Some(&other));
        check(&changed, everybody);
        check(&write("settings", name, Some(&one), None), everybody);
        check(&write("settings", name, Some(&one), Some(&one)), true);
        let mut noted = one.clone();
        noted["metadata"] = json!({ "labels": { "mine": "yes" } });
        check(&write("settings", name, Some(&one), Some(&noted)), true);
    }
}

#[test]
fn non_administrators_cannot_change_administrators() {
    let spec = |name: &str, spec: Value| json!({ "metadata": { "uid": name }, "spec": spec });
    let flagged = |enabled: bool| json!({ "administrator": true, "enabled": enabled });
    let plain = json!({ "enabled": true });
    for (name, before, everybody) in [
        ("root", flagged(true), false),
        // A disabled administrator has no role, but becomes an administrator again when enabled.
        ("gone", flagged(false), false),
        ("off", json!({ "enabled": false }), false),
        ("ann", plain.clone(), false),
        ("joe", plain.clone(), true),
    ] {
        let old = spec(name, before.clone());
        let with = |whole: &str, part: &str, value: Value| {
            let mut new = old.clone();
            new[whole][part] = value;
            new
        };
        check(&write("users", name, Some(&old), None), everybody);
        let renamed = with("spec", "displayName", json!("Nobody"));
        check(&write("users", name, Some(&old), Some(&renamed)), everybody);
        let owned = with("metadata", "ownerReferences", json!([{ "uid": "1" }]));
        check(&write("users", name, Some(&old), Some(&owned)), false);
        let kept = with("metadata", "finalizers", json!(["example.com/stay"]));
        check(&write("users", name, Some(&old), Some(&kept)), false);
        let noted = with("metadata", "labels", json!({ "mine": "yes" }));
        check(&write("users", name, Some(&old), Some(&noted)), true);
    }
    check(
        &write("users", "new", None, Some(&spec("new", plain))),
        true,
    );
}

#[test]
fn user_with_update_permission_cannot_set_owner_references_or_finalizers() {
    let plain = json!({ "metadata": { "uid": "1" }, "spec": { "value": "1d", "enabled": true } });
    let with = |field: &str, value: Value| {
        let mut object = plain.clone();
        object["metadata"][field] = value;
        object
    };
    let owned = with(
        "ownerReferences",
        json!([{ "kind": "ConfigMap", "uid": "1" }]),
    );
    let stored = with("finalizers", json!(["example.com/stay"]));
    let kinds = [
        ("settings", "token-default-ttl"),
        ("clusters", "shop"),
        ("users", "joe"),
        // A kind of a later version.
        ("others", "one"),
    ];
    for (resource, name) in kinds {
        for changed in [&owned, &stored] {
            check(&write(resource, name, Some(&plain), Some(changed)), false);
            check(&write(resource, name, Some(changed), Some(&plain)), false);
            check(&write(resource, name, None, Some(changed)), false);
            check(&write(resource, name, Some(changed), Some(changed)), true);
            check(&write(resource, name, Some(changed), None), true);
            // A write that changes other fields too.
            let mut both = changed.clone();
            both["spec"]["displayName"] = json!("Other");
            check(&write(resource, name, Some(&plain), Some(&both)), false);
        }
    }
}
