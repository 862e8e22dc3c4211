use std::collections::BTreeSet;

use drover_api::kinds::{GlobalRoleSpec, RoleTemplateSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::conflict::changes;
use super::draft::{Draft, read, text_of};
use super::matrix::{
    ALL, Mark, RuleField, VERBS, has_field, mark, new_paths, new_rule, others, part, title,
    toggled, with_others, with_part,
};
use super::merge::merged;
use super::spec::{RoleSpec, Rules, Stored, rule_text};
use super::words::{NameListKind, line, names};
use super::*;

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str]) -> PolicyRule {
    let owned = |list: &[&str]| list.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    PolicyRule {
        verbs: owned(verbs),
        api_groups: Some(owned(groups)),
        resources: Some(owned(resources)),
        ..PolicyRule::default()
    }
}

/// Returns the permissions of rules, one per item. An empty list of names means all names.
fn rights(rules: &[PolicyRule]) -> BTreeSet<[String; 5]> {
    let mut rights = BTreeSet::new();
    for rule in rules {
        let list = |part: &Option<Vec<String>>| match part.as_deref() {
            None | Some([]) => vec!["(none)".to_owned()],
            Some(names) => names.to_vec(),
        };
        for verb in &rule.verbs {
            for group in list(&rule.api_groups) {
                for resource in list(&rule.resources) {
                    for name in list(&rule.resource_names) {
                        for url in list(&rule.non_resource_urls) {
                            let (group, name) = (group.clone(), name.clone());
                            rights.insert([verb.clone(), group, resource.clone(), name, url]);
                        }
                    }
                }
            }
        }
    }
    rights
}

fn some_names() -> impl Strategy<Value = Option<Vec<String>>> {
    let name = prop_oneof![
        "[a-c]",
        Just(String::new()),
        Just("core".to_owned()),
        Just("a b,\"\\".to_owned())
    ];
    prop::option::of(prop::collection::vec(name, 0..3))
}

fn some_rule() -> impl Strategy<Value = PolicyRule> {
    let verb = prop_oneof![
        Just("get".to_owned()),
        Just("*".to_owned()),
        Just("impersonate".to_owned()),
        Just("delete".to_owned())
    ];
    let verbs = prop::collection::vec(verb, 0..3);
    (
        verbs,
        some_names(),
        some_names(),
        some_names(),
        some_names(),
    )
        .prop_map(
            |(verbs, api_groups, resources, resource_names, non_resource_urls)| PolicyRule {
                verbs,
                api_groups,
                resources,
                resource_names,
                non_resource_urls,
            },
        )
}

fn some_spec() -> impl Strategy<Value = RoleTemplateSpec> {
    let text = prop::option::of(".{0,20}");
    let rules = prop::collection::vec(some_rule(), 0..3);
    (
        any::<bool>(),
        text,
        rules,
        prop::collection::vec("[a-z]{1,3}|on|no|12|~", 0..3),
    )
        .prop_map(|(project, description, rules, inherits)| RoleTemplateSpec {
            context: if project {
                RoleContext::Project
            } else {
                RoleContext::Cluster
            },
            description,
            rules,
            inherits,
            locked: project,
            ..RoleTemplateSpec::default()
        })
}

proptest! {
    #[test]
    fn yaml_of_a_role_parses_to_the_same_spec(spec in some_spec()) {
        let spec = RoleSpec::Template(spec);
        prop_assert_eq!(read(Kind::Template, &text_of(&spec)), Ok(spec));
    }

    #[test]
    fn verb_checkbox_changes_only_its_verb(rule in some_rule(), at in 0..9_usize) {
        let verb = VERBS.get(at).copied().unwrap_or(ALL);
        let once = toggled(&rule, verb);
        let without = |rule: &PolicyRule| rule.verbs.iter().filter(|it| *it != verb).cloned().collect::<Vec<_>>();
        prop_assert_eq!(without(&once), without(&rule));
        prop_assert_ne!(mark(&once, verb) == Mark::On, mark(&rule, verb) == Mark::On);
        let rest = |rule: &PolicyRule| PolicyRule { verbs: Vec::new(), ..rule.clone() };
        prop_assert_eq!(rest(&once), rest(&rule));
    }

    #[test]
    fn text_of_a_rule_field_parses_to_the_same_rule(rule in some_rule()) {
        let again = with_others(&rule, &others(&rule));
        prop_assert_eq!(rights(&[again]), rights(std::slice::from_ref(&rule)));
        for field in [RuleField::Groups, RuleField::Resources, RuleField::Names, RuleField::Paths] {
            let again = with_part(&rule, field, &part(&rule, field));
            prop_assert_eq!(rights(&[again]), rights(std::slice::from_ref(&rule)));
        }
    }

    #[test]
    fn list_in_a_text_field_parses_to_the_same_list(list in prop::collection::vec(".{0,4}", 0..4)) {
        for words in [NameListKind::Groups, NameListKind::Plain] {
            prop_assert_eq!(&names(&line(&list, words), words), &list);
        }
    }

    #[test]
    fn merged_rules_grant_the_same_permissions(rules in prop::collection::vec(some_rule(), 0..6)) {
        let merged = merged(&rules);
        prop_assert_eq!(rights(&merged), rights(&rules));
        prop_assert!(merged.len() <= rules.len());
    }

    #[test]
    fn arbitrary_role_yaml_does_not_panic_and_is_preserved(text in ".{0,60}") {
        let mut draft = Draft::of(RoleSpec::nothing(Kind::Template));
        draft.type_text(text.clone());
        prop_assert_eq!(draft.text(), text);
    }
}

#[test]
fn rules_that_differ_in_one_field_are_merged() {
    let rules = [
        rule(&["get"], &[""], &["pods"]),
        rule(&["list"], &[""], &["pods"]),
        rule(&["get", "list"], &[""], &["services"]),
        rule(&["get"], &["apps"], &["deployments"]),
    ];
    let expected = [
        rule(&["get", "list"], &[""], &["pods", "services"]),
        rule(&["get"], &["apps"], &["deployments"]),
    ];
    assert_eq!(merged(&rules), expected);
}

#[test]
fn permission_row_shows_implied_verbs_and_is_labelled_with_its_resources() {
    let all = rule(&["*", "get"], &["apps"], &["deployments"]);
    assert_eq!(
        (mark(&all, "get"), mark(&all, "patch")),
        (Mark::On, Mark::Implied)
    );
    assert_eq!(title(&all), "deployments (apps)");
    assert_eq!(title(&rule(&["get"], &[""], &["pods"])), "pods (core)");
    let toggled = toggled(&rule(&["get", "delete", "bind"], &[""], &["pods"]), "list");
    assert_eq!(toggled.verbs, ["get", "list", "delete", "bind"]);
}

#[test]
fn permission_row_has_a_field_for_each_set_property_of_its_rule() {
    let fields = |rule: &PolicyRule| {
        let all = [
            RuleField::Groups,
            RuleField::Resources,
            RuleField::Names,
            RuleField::Paths,
        ];
        all.map(|part| has_field(rule, part))
    };
    let of_resources = [true, true, true, false];
    assert_eq!(fields(&new_rule()), of_resources);
    let emptied = with_part(&rule(&["get"], &[""], &["pods"]), RuleField::Resources, "");
    assert_eq!(fields(&emptied), of_resources);
    let emptied = with_part(&new_paths(), RuleField::Paths, "");
    assert_eq!(fields(&emptied), [false, false, false, true]);
    assert_eq!(title(&emptied), "empty rule");
    let named = with_part(&new_paths(), RuleField::Names, "web");
    assert_eq!(fields(&named), [false, false, true, true]);
    let both = with_part(
        &rule(&["get"], &[""], &["pods"]),
        RuleField::Paths,
        "/metrics",
    );
    assert_eq!(fields(&both), [true; 4]);
    assert_eq!(title(&both), "pods (core), /metrics");
    assert_eq!(
        fields(&with_part(&both, RuleField::Paths, "")),
        of_resources
    );
}

#[test]
fn role_yaml_error_contains_line_and_field_and_preserves_the_text() {
    let mut draft = Draft::of(RoleSpec::nothing(Kind::Template));
    let good = "# of the team\ncontext: Project\nrules:\n- verbs: [get]\n  resources: [pods]\n  apiGroups: ['']\n";
    draft.type_text(good.to_owned());
    assert_eq!((draft.problem(), draft.text()), (None, good));
    for (text, line, spec) in [
        (
            "context: Project\nrules:\n- verb: [get]\n",
            Some(3),
            "rules[0].verb",
        ),
        ("context: Project\nrules:\n- verbs: get\n", Some(3), ""),
        ("context: Hub\n", Some(1), "Hub"),
        ("context: [\n", None, ""),
        (
            "context: Project\n---\ncontext: Project\n",
            None,
            "single YAML document",
        ),
    ] {
        draft.type_text(text.to_owned());
        let problem = draft.problem().unwrap();
        assert!(
            line.is_none() || problem.line == line,
            "{text}: {problem:?}"
        );
        assert!(problem.message.contains(spec), "{text}: {problem:?}");
        assert!(
            !problem.message.contains(" line "),
            "the message repeats the line: {problem:?}"
        );
        assert_eq!(draft.text(), text);
        // A change with the form does not overwrite invalid YAML.
        draft.change(|spec| spec.call("Deployer"));
        assert_eq!(
            (draft.text(), draft.spec().rules(Rules::Own).len()),
            (text, 1)
        );
    }
    draft.type_text(good.to_owned());
    draft.change(|spec| spec.call("Deployer"));
    assert!(draft.text().contains("displayName: Deployer") && draft.problem().is_none());
}

#[test]
fn role_conflict_lists_fields_that_another_user_changed() {
    let before = GlobalRoleSpec::default();
    let now = GlobalRoleSpec {
        description: Some("new".to_owned()),
        ..before.clone()
    };
    assert_eq!(changes(&before, &before), []);
    let reported = changes(&before, &now);
    assert_eq!(reported.len(), 1);
    assert_eq!(
        (
            reported[0].field.as_str(),
            reported[0].before.as_str(),
            reported[0].now.as_str()
        ),
        ("description", "", "new")
    );
}

#[test]
fn copied_role_is_unlocked_and_inheriting_role_includes_its_parent() {
    let spec = RoleSpec::Template(RoleTemplateSpec {
        context: RoleContext::Project,
        display_name: Some("Member".to_owned()),
        rules: vec![rule(&["get"], &[""], &["pods"])],
        locked: true,
        ..RoleTemplateSpec::default()
    });
    let copied = spec.copied();
    assert_eq!(
        (copied.rules(Rules::Own), copied.display_name()),
        (spec.rules(Rules::Own), "")
    );
    assert!(!text_of(&copied).contains("locked: true"));
    let inheriting = spec.inheriting("member");
    assert_eq!(
        (inheriting.others(), inheriting.context()),
        (&["member".to_owned()][..], spec.context())
    );
    assert!(inheriting.rules(Rules::Own).is_empty() && !spec.takes_paths(Rules::Own));
    assert_eq!(
        rule_text(&rule(&["get"], &[""], &["pods"])),
        "get: pods (core)"
    );
}

#[test]
fn role_form_preserves_all_rules_after_context_changes() {
    let mut spec = RoleSpec::nothing(Kind::Template);
    spec.set_external("view, edit");
    spec.set_flag(true);
    assert_eq!(
        (spec.external().as_deref(), spec.flag().1),
        (Some("view, edit"), true)
    );
    let rules = vec![rule(&["get"], &[""], &["nodes"])];
    let mut moved = Vec::new();
    spec.set_context(RoleContext::Project, &mut moved);
    spec.rules_mut(Rules::Own).unwrap().clone_from(&rules);
    spec.rules_mut(Rules::Cluster).unwrap().clone_from(&rules);
    assert_eq!(spec.lists().len(), 2);
    // Cluster roles have one list of rules. The context change keeps all rules.
    spec.set_context(RoleContext::Cluster, &mut moved);
    assert_eq!((spec.rules(Rules::Own).len(), moved.len()), (2, 1));
    assert_eq!(spec.rules(Rules::Cluster), []);
    // The change back to a project role restores both lists.
    spec.set_context(RoleContext::Project, &mut moved);
    assert_eq!(
        (spec.rules(Rules::Own), spec.rules(Rules::Cluster)),
        (&rules[..], &rules[..])
    );
    assert_eq!(RoleSpec::nothing(Kind::Global).external(), None);
}

#[test]
fn role_with_an_unknown_field_cannot_be_edited_or_copied() {
    let answer = |spec: Value| {
        json!({
            "name": "ops", "builtIn": false, "newUserDefault": false, "rights": {}, "uid": "u",
            "resourceVersion": "7", "createdAt": "2026-01-01T00:00:00Z", "spec": spec,
            "everyCluster": { "rules": [], "external": [] },
        })
    };
    let read = |spec| Stored::read(Kind::Global, &answer(spec)).unwrap();
    let known = read(json!({ "description": "of us", "rules": [{ "verbs": ["get"] }] }));
    assert_eq!(known.outdated(), None);
    let newer = read(json!({ "rules": [{ "verbs": ["get"], "until": "noon" }] }));
    let reason = newer.outdated().unwrap().message;
    assert!(reason.contains("spec.rules[0].until"), "{reason}");
    assert!(Stored::read(Kind::Template, &answer(json!({}))).is_err());
}

#[test]
fn role_templates_and_global_roles_have_separate_paths_and_commands() {
    assert_eq!(Kind::Global.path_of("a"), "/v1/global-roles/a");
    assert_eq!(Kind::Template.create_screen(Some("a")), "/new-role?copy=a");
    assert_eq!(
        Kind::Global.command("get", "a b"),
        "drover role get 'a b' --global"
    );
    assert!(deletion_effect(Some(3)).starts_with("3 bindings"));
}
