use std::collections::BTreeMap;

use drover_api::kinds::{RoleContext, RoleTemplateSpec};

use super::*;
use crate::grants::tests::world::rule;

fn role(rules: Vec<PolicyRule>, inherits: &[&str]) -> RoleTemplateSpec {
    RoleTemplateSpec {
        rules,
        inherits: inherits.iter().map(|&name| name.to_owned()).collect(),
        ..Default::default()
    }
}

fn resolved(
    name: &str,
    roles: &BTreeMap<&str, RoleTemplateSpec>,
) -> Option<Result<Scoped, Unresolved>> {
    resolve(name, |name| roles.get(name))
}

fn external(names: &[&str]) -> Rights {
    Rights {
        rules: Vec::new(),
        external: names.iter().map(|&name| name.to_owned()).collect(),
    }
}

#[test]
fn resolved_role_contains_each_own_and_inherited_rule_once() {
    let pods = || rule("", "pods", "get");
    let roles = BTreeMap::from([
        ("top", role(vec![pods()], &["left", "right"])),
        ("left", role(vec![rule("", "secrets", "get")], &["bottom"])),
        ("right", role(vec![], &["bottom"])),
        ("bottom", role(vec![pods()], &[])),
    ]);
    let got = resolved("top", &roles).unwrap().unwrap();
    let expected = Rights::of(&[pods(), rule("", "secrets", "get")]);
    assert_eq!(got.cluster, expected);
    assert!(got.project.is_empty());
    assert_eq!(resolved("other", &roles), None);
}

#[test]
fn cluster_wide_rules_of_project_role_are_separated_from_namespaced_rules() {
    let mut top = role(vec![rule("", "pods", "get")], &["bottom"]);
    top.context = RoleContext::Project;
    top.external.push("view".to_owned());
    let mut bottom = top.clone();
    bottom.inherits.clear();
    bottom.cluster_rules = vec![rule("storage.k8s.io", "storageclasses", "list")];
    let roles = BTreeMap::from([("top", top), ("bottom", bottom)]);
    let got = resolved("top", &roles).unwrap().unwrap();
    let mut project = Rights::of(&[rule("", "pods", "get")]);
    project.extend(&external(&["view"]));
    assert_eq!(got.project, project);
    let cluster = Rights::of(&[rule("storage.k8s.io", "storageclasses", "list")]);
    assert_eq!(got.cluster, cluster);
}

#[test]
fn error_of_invalid_role_inheritance_contains_the_fix() {
    let project = RoleTemplateSpec {
        context: RoleContext::Project,
        ..Default::default()
    };
    let many = (0..2001).map(|n| rule("", &format!("r{n}"), "get"));
    let roles = BTreeMap::from([
        ("missing", role(vec![], &["there"])),
        ("there", role(vec![], &["not-there"])),
        ("round", role(vec![], &["and"])),
        ("and", role(vec![], &["round"])),
        ("itself", role(vec![], &["itself"])),
        ("elsewhere", role(vec![], &["project"])),
        ("project", project),
        ("large", role(many.collect(), &[])),
    ]);
    for (name, expected) in [
        (
            "missing",
            "the role \"there\" inherits the role \"not-there\", which does not exist: create \
             \"not-there\", or remove \"not-there\" from spec.inherits of \"there\"",
        ),
        (
            "round",
            "the role inherits itself: round → and → round; remove one of these roles from \
            spec.inherits",
        ),
        (
            "itself",
            "the role inherits itself: itself → itself; remove one of these roles from \
            spec.inherits",
        ),
        (
            "elsewhere",
            "the role \"elsewhere\" inherits the role \"project\", which is a role for projects: \
             inherit only roles of the same context",
        ),
        (
            "large",
            "the role and its inherited roles have more than 500 rules or 5000 permissions: \
             split the role into several roles",
        ),
    ] {
        let error = resolved(name, &roles).unwrap().unwrap_err();
        assert_eq!(error.to_string(), expected, "{name}");
    }
}

#[test]
fn inheritance_depth_is_limited_in_any_order_of_roles() {
    let name = |n: usize| format!("r{n:02}");
    // The roles list the short path to the last role first or last; the longest path counts.
    for first_short in [true, false] {
        let mut roles = BTreeMap::new();
        for n in 0..40 {
            let mut inherits = vec![name(n + 1)];
            if n < 20 {
                inherits.insert(usize::from(!first_short), name(30));
            }
            let inherits = if n == 39 { Vec::new() } else { inherits };
            let spec = RoleTemplateSpec {
                inherits,
                ..Default::default()
            };
            roles.insert(name(n), spec);
        }
        let resolved = |n: usize| resolve(&name(n), |name| roles.get(name)).unwrap();
        assert!(resolved(23).is_ok(), "{first_short}");
        assert_eq!(resolved(22), Err(Unresolved::TooDeep), "{first_short}");
        assert_eq!(resolved(0), Err(Unresolved::TooDeep), "{first_short}");
    }
}

#[test]
fn external_role_covers_known_rules_and_is_covered_only_by_itself_or_cluster_admin() {
    let view = external(&["view"]);
    let admin = external(&["admin"]);
    let own = external(&["made-here"]);
    let all = Rights::everything();
    let pods = Rights::of(&[rule("", "pods", "get list watch")]);
    let secrets = Rights::of(&[rule("", "secrets", "get")]);
    for (owned, expected, covered) in [
        (&view, &view, true),
        (&view, &pods, true),
        (&view, &secrets, false),
        (&admin, &secrets, true),
        // The role may aggregate more rules than admin has.
        (&admin, &view, false),
        (&all, &own, true),
        (&external(&["cluster-admin"]), &own, true),
        (&own, &own, true),
        (&own, &pods, false),
        (&pods, &pods, true),
        (&pods, &all, false),
        (&Rights::default(), &Rights::default(), true),
        (&Rights::default(), &pods, false),
    ] {
        assert_eq!(
            owned.missing(expected).is_none(),
            covered,
            "{owned:?} {expected:?}"
        );
    }
}

#[test]
fn missing_permissions_are_formatted_as_rules_and_cluster_roles() {
    let mut expected = Rights::of(&[rule("", "secrets", "get list")]);
    expected.extend(&external(&["made-here"]));
    let lacking = Rights::default().missing(&expected).unwrap();
    assert_eq!(
        lacking.to_string(),
        "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}; the ClusterRole \
         \"made-here\" of the cluster itself"
    );
}

#[test]
fn rules_for_drover_kinds_are_not_copied_to_clusters() {
    let mut both = rule("management.drover.dev", "projects", "get");
    both.api_groups = Some(vec![GROUP.to_owned(), "apps".to_owned()]);
    let rights = Rights::of(&[rule(GROUP, "projects", "*"), both, rule("*", "*", "*")]);
    let downstream = rights.downstream();
    let groups: Vec<_> = downstream
        .rules
        .iter()
        .map(|rule| &rule.groups[..])
        .collect();
    assert_eq!(groups, [&["apps".to_owned()][..], &["*".to_owned()]]);
}

#[test]
fn built_in_roles_are_valid_and_can_be_granted_by_owners() {
    let templates = built_in_role_templates();
    let roles: BTreeMap<&str, &RoleTemplateSpec> = templates
        .iter()
        .map(|role| (role.name, &role.spec))
        .collect();
    assert_eq!(roles.len(), templates.len(), "two roles have the same name");
    let resolved = |name: &str| {
        let resolved = resolve(name, |name| roles.get(name).copied());
        resolved
            .unwrap()
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let (cluster_owner, project_owner) = (resolved("cluster-owner"), resolved("project-owner"));
    for role in &templates {
        let spec = &role.spec;
        assert!(
            spec.description
                .as_ref()
                .is_some_and(|text| text.ends_with('.')),
            "{}",
            role.name
        );
        let rights = resolved(role.name);
        assert_eq!(
            cluster_owner.cluster.missing(&rights.cluster),
            None,
            "{}",
            role.name
        );
        if spec.context == RoleContext::Project {
            assert_eq!(
                project_owner.project.missing(&rights.project),
                None,
                "{}",
                role.name
            );
        }
    }
    for global in built_in_global_roles() {
        for name in &global.spec.in_every_cluster {
            assert_eq!(
                roles[name.as_str()].context,
                RoleContext::Cluster,
                "{}",
                global.name
            );
        }
        assert!(
            !global.spec.new_user_default,
            "{}: a user without roles has no permissions",
            global.name
        );
    }
}

#[test]
fn only_owner_roles_grant_access_to_secrets_and_exec() {
    let templates = built_in_role_templates();
    let roles: BTreeMap<&str, &RoleTemplateSpec> = templates
        .iter()
        .map(|role| (role.name, &role.spec))
        .collect();
    let secrets = ["get", "list", "watch"].map(|verb| rule("", "secrets", verb));
    let inside = ["get", "create"].map(|verb| rule("", "pods/exec", verb));
    // Pods can mount any Secret of their namespace.
    let pods = [
        rule("", "pods", "create"),
        rule("apps", "deployments", "create"),
    ];
    for name in [
        "cluster-viewer",
        "cluster-member",
        "read-only",
        "workloads-view",
        "nodes-manage",
        "storage-manage",
    ] {
        let scoped = resolve(name, |name| roles.get(name).copied())
            .unwrap()
            .unwrap();
        for right in secrets.iter().chain(&inside).chain(&pods) {
            let right = Rights::of(std::slice::from_ref(right));
            for rights in [&scoped.cluster, &scoped.project] {
                assert!(rights.missing(&right).is_some(), "{name}: {right:?}");
            }
        }
    }
}

#[test]
fn role_with_rule_that_kubernetes_rejects_is_invalid() {
    let verbs = |verbs: &str| {
        let mut rule = rule("", "pods", "get");
        rule.verbs = verbs.split_whitespace().map(str::to_owned).collect();
        rule
    };
    let mut paths = rule("", "pods", "get");
    paths.non_resource_urls = Some(vec!["/metrics".to_owned()]);
    let external = |name: &str| RoleTemplateSpec {
        external: vec![name.to_owned()],
        ..Default::default()
    };
    let mut large = rule("", "pods", "get");
    large.resources = Some((0..5001).map(|n| format!("r{n}")).collect());
    let roles = BTreeMap::from([
        ("verbs", role(vec![rule("", "pods", "get"), verbs("")], &[])),
        ("paths", role(vec![paths], &[])),
        ("outside", external("../x")),
        ("large", role(vec![large], &[])),
        ("heir", role(vec![], &["verbs"])),
    ]);
    for (name, expected) in [
        (
            "verbs",
            "the role \"verbs\" is invalid: spec.rules[1]: verbs is empty, so the rule grants \
             nothing: add verbs, such as get",
        ),
        (
            "heir",
            "the role \"verbs\" is invalid: spec.rules[1]: verbs is empty, so the rule grants \
             nothing: add verbs, such as get",
        ),
        (
            "paths",
            "the role \"paths\" is invalid: spec.rules[0]: nonResourceURLs must be in a separate \
             rule: split the rule in two",
        ),
        (
            "outside",
            "the role \"outside\" is invalid: spec.external contains \"../x\", which is not a \
             valid ClusterRole name",
        ),
    ] {
        let error = resolved(name, &roles).unwrap().unwrap_err();
        assert_eq!(error.to_string(), expected, "{name}");
    }
    assert_eq!(resolved("large", &roles), Some(Err(Unresolved::TooLarge)));
}
