use kube::ResourceExt as _;

use super::*;

fn stored(role: &BuiltIn<RoleTemplateSpec>) -> RoleTemplate {
    let mut stored = RoleTemplate::make(role);
    stored.meta_mut().labels = Some(labels());
    stored
}

/// What there is to do where all are as they should be but one, which is this.
fn with(one: &RoleTemplate) -> ToDo<RoleTemplate> {
    let all = RoleTemplate::of_the_start();
    decide(|name| {
        if one.name_any() == name {
            return Some(Arc::new(one.clone()));
        }
        let role = all.iter().find(|role| role.name == name)?;
        Some(Arc::new(stored(role)))
    })
}

#[test]
fn an_empty_hub_gets_all_of_them_with_their_label() {
    let to_do = decide::<RoleTemplate>(|_| None);
    assert_eq!(to_do.missing.len(), RoleTemplate::of_the_start().len());
    for role in &to_do.missing {
        assert_eq!(mark(role), Some("true"));
    }
    assert!(to_do.drifted.is_empty() && to_do.in_the_way.is_empty());
    let globals = decide::<GlobalRole>(|_| None);
    assert_eq!(globals.missing.len(), GlobalRole::of_the_start().len());
}

#[test]
fn what_is_as_it_should_be_is_not_written() {
    let first = &RoleTemplate::of_the_start()[0];
    let to_do = with(&stored(first));
    assert!(to_do.missing.is_empty() && to_do.drifted.is_empty() && to_do.in_the_way.is_empty());
}

#[test]
fn what_somebody_changed_or_added_is_put_right() {
    let first = &RoleTemplate::of_the_start()[0];
    let mut changed = stored(first);
    changed.spec.locked = true;
    changed.spec.external = vec!["cluster-admin".to_owned()];
    changed.spec.display_name = Some("Mine".to_owned());
    let to_do = with(&changed);
    let [
        Change {
            write: Write::Patch(patch),
            ..
        },
    ] = &to_do.drifted[..]
    else {
        panic!("one has drifted")
    };
    assert_eq!(patch["spec"]["locked"], false);
    assert_eq!(patch["spec"]["external"], Value::Null);
    let name = json!(first.spec.display_name);
    assert_eq!(patch["spec"]["displayName"], name);
    assert_eq!(patch["metadata"]["labels"][BUILT_IN_LABEL], "true");
}

#[test]
fn somebodys_own_role_of_such_a_name_is_left_alone() {
    let first = &RoleTemplate::of_the_start()[0];
    let mut own = stored(first);
    own.meta_mut().labels = None;
    own.spec.rules.clear();
    let to_do = with(&own);
    assert_eq!(to_do.in_the_way, [first.name]);
    assert!(to_do.missing.is_empty() && to_do.drifted.is_empty());
    assert!(is_in_the_way(&own, &names::<RoleTemplate>()));
    assert!(!is_in_the_way(&stored(first), &names::<RoleTemplate>()));
}

#[test]
fn what_is_merged_makes_one_thing_into_the_other() {
    for (from, to, wanted) in [
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
        assert_eq!(merge(&from, &to), wanted, "{from} to {to}");
    }
}
