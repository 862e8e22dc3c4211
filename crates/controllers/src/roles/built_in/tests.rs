use kube::ResourceExt as _;

use super::*;

fn stored(role: &BuiltIn<RoleTemplateSpec>) -> RoleTemplate {
    let mut stored = RoleTemplate::create(role);
    stored.meta_mut().labels = Some(labels());
    stored
}

/// Returns the pending writes for a hub with the role `one` and unmodified copies of all other
/// built-in roles.
fn with(one: &RoleTemplate) -> PendingWrites<RoleTemplate> {
    let all = RoleTemplate::built_in();
    decide(|name| {
        if one.name_any() == name {
            return Some(Arc::new(one.clone()));
        }
        let role = all.iter().find(|role| role.name == name)?;
        Some(Arc::new(stored(role)))
    })
}

#[test]
fn all_built_in_roles_are_created_with_their_label_in_an_empty_hub() {
    let writes = decide::<RoleTemplate>(|_| None);
    assert_eq!(writes.missing.len(), RoleTemplate::built_in().len());
    for role in &writes.missing {
        assert_eq!(label_value(role), Some("true"));
    }
    assert!(writes.drifted.is_empty() && writes.conflicting.is_empty());
    let globals = decide::<GlobalRole>(|_| None);
    assert_eq!(globals.missing.len(), GlobalRole::built_in().len());
}

#[test]
fn unchanged_built_in_role_is_not_written() {
    let first = &RoleTemplate::built_in()[0];
    let writes = with(&stored(first));
    assert!(
        writes.missing.is_empty() && writes.drifted.is_empty() && writes.conflicting.is_empty()
    );
}

#[test]
fn changed_built_in_role_is_restored() {
    let first = &RoleTemplate::built_in()[0];
    let mut changed = stored(first);
    changed.spec.locked = true;
    changed.spec.external = vec!["cluster-admin".to_owned()];
    changed.spec.display_name = Some("Mine".to_owned());
    let writes = with(&changed);
    let [
        Change {
            write: Write::Patch(patch),
            ..
        },
    ] = &writes.drifted[..]
    else {
        panic!("the role has drifted")
    };
    assert_eq!(patch["spec"]["locked"], false);
    assert_eq!(patch["spec"]["external"], Value::Null);
    let name = json!(first.spec.display_name);
    assert_eq!(patch["spec"]["displayName"], name);
    assert_eq!(patch["metadata"]["labels"][BUILT_IN_LABEL], "true");
}

#[test]
fn unlabelled_role_with_built_in_name_is_unchanged() {
    let first = &RoleTemplate::built_in()[0];
    let mut own = stored(first);
    own.meta_mut().labels = None;
    own.spec.rules.clear();
    let writes = with(&own);
    assert_eq!(writes.conflicting, [first.name]);
    assert!(writes.missing.is_empty() && writes.drifted.is_empty());
    assert!(has_reserved_name(&own, &names::<RoleTemplate>()));
    assert!(!has_reserved_name(&stored(first), &names::<RoleTemplate>()));
}

#[test]
fn merge_patch_converts_the_old_value_into_the_new_value() {
    for (from, to, expected) in [
        (json!({ "a": 1 }), json!({ "a": 1 }), json!({ "a": 1 })),
        (
            json!({ "a": 1 }),
            json!({ "b": 2 }),
            json!({ "a": null, "b": 2 }),
        ),
        (
            json!({ "a": [1] }),
            json!({ "a": [2] }),
            json!({ "a": [2] }),
        ),
        (
            json!({ "a": { "x": 1, "y": 1 } }),
            json!({ "a": { "y": 2 } }),
            json!({ "a": { "x": null, "y": 2 } }),
        ),
        (json!({ "a": 1 }), json!({ "a": {} }), json!({ "a": {} })),
    ] {
        assert_eq!(merge(&from, &to), expected, "{from} to {to}");
    }
}
