use serde_json::json;

use super::*;
use crate::admission::{self, AdmissionContext};

const SERVER: &str = "drover:server";
/// Names of writers other than the server: a Drover user, and a user of the hub without a Drover
/// name.
const OTHERS: [&str; 2] = ["drover:user:1", "jane"];

fn write<'a>(
    writer: &'a str,
    resource: &'a str,
    object: Option<&'a Value>,
    old: Option<&'a Value>,
) -> Write<'a> {
    Write {
        writer,
        groups: &[],
        operation: match (object, old) {
            (_, None) => Operation::Create,
            (None, _) => Operation::Delete,
            _ => Operation::Update,
        },
        group: GROUP,
        resource,
        subresource: "",
        namespace: "",
        name: "x",
        object,
        old,
    }
}

fn decision(write: &Write<'_>) -> String {
    match admission::admit(write, AdmissionContext::external(SERVER), None) {
        Ok(()) => String::new(),
        Err(refusal) => refusal.to_string(),
    }
}

/// Asserts that a user cannot perform a write, and that the error contains the text `refused`. If
/// `refused` is empty, asserts that the user can perform the write. The server can always perform
/// the write.
#[track_caller]
fn check(old: Option<&Value>, new: Option<&Value>, refused: &str) {
    for writer in OTHERS {
        let result = decision(&write(writer, "users", new, old));
        let as_wanted = if refused.is_empty() {
            result.is_empty()
        } else {
            result.contains(refused)
        };
        assert!(as_wanted, "{writer}: {old:?} to {new:?}: {result:?}");
    }
    assert_eq!(decision(&write(SERVER, "users", new, old)), "");
}

fn user(administrator: bool, enabled: bool) -> Value {
    json!({ "spec": { "administrator": administrator, "enabled": enabled } })
}

#[test]
fn only_server_changes_administrator_flag() {
    check(None, Some(&user(true, true)), "--administrator");
    check(None, Some(&user(true, false)), "--administrator");
    check(None, Some(&user(false, true)), "");
    check(
        Some(&user(false, true)),
        Some(&user(true, true)),
        "--administrator",
    );
    check(
        Some(&user(true, true)),
        Some(&user(false, true)),
        "--administrator",
    );
}

#[test]
fn only_server_disables_or_enables_administrator() {
    let unsaid = json!({ "spec": { "administrator": true } });
    check(
        Some(&user(true, true)),
        Some(&user(true, false)),
        "drover user disable",
    );
    check(
        Some(&user(true, false)),
        Some(&user(true, true)),
        "drover user enable",
    );
    // Missing fields have the default of the definition.
    check(
        Some(&user(true, false)),
        Some(&unsaid),
        "drover user enable",
    );
    check(Some(&user(true, true)), Some(&unsaid), "");
    check(Some(&user(false, true)), Some(&user(false, false)), "");
}

#[test]
fn only_server_deletes_enabled_administrator() {
    let mut leaving = user(true, true);
    leaving["metadata"] = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" });
    check(Some(&user(true, true)), None, "drover user delete");
    check(
        Some(&json!({ "spec": { "administrator": true } })),
        None,
        "drover user delete",
    );
    check(Some(&user(true, false)), None, "");
    check(Some(&user(false, true)), None, "");
    check(Some(&leaving), None, "");
}

#[test]
fn administrator_cannot_receive_an_owner_reference() {
    let owned = |administrator| {
        let mut user = user(administrator, true);
        user["metadata"] = json!({ "ownerReferences": [{ "kind": "ConfigMap", "uid": "1" }] });
        user
    };
    check(
        Some(&user(true, true)),
        Some(&owned(true)),
        "ownerReferences",
    );
    check(Some(&owned(true)), Some(&owned(true)), "");
    check(Some(&user(false, true)), Some(&owned(false)), "");
}

#[test]
fn only_server_writes_status_through_object_or_status_subresource() {
    let bound = json!({ "status": { "registration": { "publicKey": "AAAA" } } });
    let (plain, empty) = (json!({}), json!({ "status": {} }));
    for writer in OTHERS {
        let of = |old, new| decision(&write(writer, "clusters", new, old));
        assert!(
            of(Some(&plain), Some(&bound)).contains("status"),
            "{writer}"
        );
        assert!(
            of(Some(&bound), Some(&plain)).contains("status"),
            "{writer}"
        );
        assert!(of(None, Some(&bound)).contains("status"), "{writer}");
        assert_eq!(of(Some(&bound), Some(&bound)), "");
        assert_eq!(of(Some(&plain), Some(&empty)), "");
        assert_eq!(of(Some(&bound), None), "");
        let subresource = Write {
            subresource: "status",
            ..write(writer, "clusters", Some(&bound), Some(&plain))
        };
        assert!(decision(&subresource).contains("status"), "{writer}");
    }
    for subresource in ["", "status"] {
        let own = Write {
            subresource,
            ..write(SERVER, "clusters", Some(&bound), Some(&plain))
        };
        assert_eq!(decision(&own), "");
    }
}

#[test]
fn auth_provider_that_references_a_secret_of_the_server_is_rejected() {
    let (oidc, github, ldap) = (
        |name: &str| json!({ "spec": { "oidc": { "clientSecret": { "name": name } } } }),
        |name: &str| json!({ "spec": { "github": { "clientSecret": { "name": name } } } }),
        |name: &str| json!({ "spec": { "ldap": { "bindPassword": { "name": name } } } }),
    );
    for own in ["server-ca", "password-1", "plan-signing-keys"] {
        for (object, field) in [
            (oidc(own), "spec.oidc.clientSecret.name"),
            (github(own), "spec.github.clientSecret.name"),
            (ldap(own), "spec.ldap.bindPassword.name"),
        ] {
            for writer in OTHERS {
                let result = decision(&write(writer, "authproviders", Some(&object), None));
                assert!(result.contains(field), "{writer}: {result:?}");
            }
        }
    }
    let other = oidc("corporate");
    let result = decision(&write(OTHERS[0], "authproviders", Some(&other), None));
    assert_eq!(result, "");
}
