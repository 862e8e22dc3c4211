use super::*;

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> Rule {
    let own = |list: &[&str]| list.iter().map(|&item| item.to_owned()).collect();
    Rule {
        verbs: own(verbs),
        groups: own(groups),
        resources: own(resources),
        names: own(names),
        urls: Vec::new(),
    }
}

fn allows(rule: &Rule, verb: &str, group: &str, resource: &str, name: &str) -> bool {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let target = RuleTarget::Resource {
        group,
        resource,
        subresource,
        name,
    };
    rule.allows(verb, target)
}

#[test]
fn rule_matches_the_same_requests_as_in_kubernetes() {
    let cases = [
        (
            rule(&["get"], &[""], &["pods"], &[]),
            "get",
            "",
            "pods",
            "p",
            true,
        ),
        (
            rule(&["get"], &[""], &["pods"], &[]),
            "list",
            "",
            "pods",
            "",
            false,
        ),
        (
            rule(&["*"], &["*"], &["*"], &[]),
            "x",
            "g",
            "r/s",
            "n",
            true,
        ),
        (
            rule(&["get"], &["apps"], &["pods"], &[]),
            "get",
            "",
            "pods",
            "p",
            false,
        ),
        (
            rule(&["get"], &[""], &["pods"], &[]),
            "get",
            "",
            "pods/log",
            "p",
            false,
        ),
        (
            rule(&["get"], &[""], &["pods/log"], &[]),
            "get",
            "",
            "pods/log",
            "p",
            true,
        ),
        (
            rule(&["get"], &[""], &["pods/log"], &[]),
            "get",
            "",
            "pods",
            "p",
            false,
        ),
        (
            rule(&["get"], &["*"], &["*/scale"], &[]),
            "get",
            "apps",
            "deployments/scale",
            "d",
            true,
        ),
        (
            rule(&["get"], &["*"], &["*/scale"], &[]),
            "get",
            "apps",
            "deployments",
            "d",
            false,
        ),
        (
            rule(&["get"], &["*"], &["*/scale"], &[]),
            "get",
            "apps",
            "deployments/status",
            "d",
            false,
        ),
        (
            rule(&["get"], &["*"], &["pods/*"], &[]),
            "get",
            "",
            "pods/log",
            "d",
            false,
        ),
        (
            rule(&["get"], &[""], &["pods"], &["a"]),
            "get",
            "",
            "pods",
            "a",
            true,
        ),
        (
            rule(&["get"], &[""], &["pods"], &["a"]),
            "get",
            "",
            "pods",
            "b",
            false,
        ),
        (
            rule(&["list"], &[""], &["pods"], &["a"]),
            "list",
            "",
            "pods",
            "",
            false,
        ),
    ];
    for (rule, verb, group, resource, name, expected) in cases {
        assert_eq!(
            allows(&rule, verb, group, resource, name),
            expected,
            "{} {verb} {group} {resource} {name}",
            rule.compact()
        );
    }
}

#[test]
fn non_resource_url_with_trailing_star_covers_all_paths_with_its_prefix() {
    let urls = |url: &str| Rule {
        verbs: vec!["get".to_owned()],
        urls: vec![url.to_owned()],
        ..Rule::default()
    };
    let allows = |url: &str, path: &str| urls(url).allows("get", RuleTarget::Path(path));
    assert!(allows("/healthz", "/healthz"));
    assert!(!allows("/healthz", "/healthz/etcd"));
    assert!(allows("/healthz/*", "/healthz/etcd"));
    assert!(!allows("/healthz/*", "/healthz"));
    assert!(allows("*", "/anything"));
}

#[test]
fn wildcard_rule_covers_every_rule_and_rule_with_names_covers_only_its_names() {
    let all = rule(&["*"], &["*"], &["*"], &[]);
    let one = rule(&["get"], &[""], &["secrets"], &["a"]);
    let each = rule(&["get"], &[""], &["secrets"], &[]);
    assert_eq!(missing(&[all], std::slice::from_ref(&each)), []);
    assert_eq!(
        missing(std::slice::from_ref(&each), std::slice::from_ref(&one)),
        []
    );
    assert_eq!(missing(&[one], std::slice::from_ref(&each)), [each]);
}

#[test]
fn wildcard_rule_is_covered_only_by_a_wildcard_rule() {
    let some = rule(
        &["get", "list"],
        &["", "apps"],
        &["pods", "deployments"],
        &[],
    );
    let star = rule(&["*"], &[""], &["pods"], &[]);
    assert_eq!(missing(&[some], std::slice::from_ref(&star)), [star]);
}

#[test]
fn wildcard_subresource_covers_that_subresource_of_all_resources() {
    let owned = rule(&["get"], &["*"], &["*/scale"], &[]);
    let expected = rule(&["get"], &["apps"], &["deployments/scale"], &[]);
    assert_eq!(missing(&[owned], &[expected]), []);
}

#[test]
fn missing_permissions_are_listed_in_one_line_per_resource_with_all_verbs() {
    let expected = [
        rule(&["get", "list"], &[""], &["secrets"], &[]),
        rule(&["get"], &["apps"], &["deployments"], &["x"]),
        Rule {
            verbs: vec!["get".to_owned()],
            urls: vec!["/metrics".to_owned()],
            ..Rule::default()
        },
    ];
    assert_eq!(
        describe_missing(&missing(&[], &expected)),
        "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}\n\
         {APIGroups:[\"apps\"], Resources:[\"deployments\"], ResourceNames:[\"x\"], Verbs:[\"get\"]}\n\
         {NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}"
    );
}

#[test]
fn very_large_rule_is_compared_without_expansion() {
    let many = |letter: char| (0..200).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
    let huge = Rule {
        verbs: many('v'),
        groups: many('g'),
        resources: many('r'),
        names: many('n'),
        urls: Vec::new(),
    };
    assert_eq!(huge.size(), 1_600_000_000);
    assert_eq!(
        missing(&[], std::slice::from_ref(&huge)),
        std::slice::from_ref(&huge)
    );
    assert_eq!(missing(&everything(), std::slice::from_ref(&huge)), []);
    let large = Rule {
        groups: vec![String::new()],
        names: Vec::new(),
        ..huge
    };
    assert_eq!(missing(&[], &[large]).len(), MAX_MISSING);
}

mod laws {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    const VERBS: &[&str] = &["get", "list", "*"];
    const GROUPS: &[&str] = &["", "apps", "*"];
    const RESOURCES: &[&str] = &["pods", "pods/log", "*/log", "*/scale", "*"];
    const NAMES: &[&str] = &["a", "b"];
    const URLS: &[&str] = &["/metrics", "/healthz/*", "/healthz/etcd", "*"];

    fn subset(from: &'static [&'static str], min: usize) -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec(select(from).prop_map(str::to_owned), min..3)
    }

    fn any_rule() -> impl Strategy<Value = Rule> {
        let on_objects = (
            subset(VERBS, 1),
            subset(GROUPS, 1),
            subset(RESOURCES, 1),
            subset(NAMES, 0),
        );
        let on_objects = on_objects.prop_map(|(verbs, groups, resources, names)| Rule {
            verbs,
            groups,
            resources,
            names,
            urls: Vec::new(),
        });
        let on_paths = (subset(VERBS, 1), subset(URLS, 1)).prop_map(|(verbs, urls)| Rule {
            verbs,
            urls,
            ..Rule::default()
        });
        prop_oneof![on_objects, on_paths]
    }

    /// Returns requests for all combinations of the groups, resources, names and verbs in the rules
    /// of this test. Includes names that no rule contains.
    fn requests() -> Vec<(&'static str, RuleTarget<'static>)> {
        let mut all = Vec::new();
        for verb in ["get", "list", "delete"] {
            for group in ["", "apps", "batch"] {
                for (resource, subresource) in [
                    ("pods", ""),
                    ("pods", "log"),
                    ("jobs", "scale"),
                    ("jobs", "log"),
                    ("jobs", ""),
                ] {
                    for name in ["", "a", "b", "c"] {
                        let target = RuleTarget::Resource {
                            group,
                            resource,
                            subresource,
                            name,
                        };
                        all.push((verb, target));
                    }
                }
            }
            for path in ["/metrics", "/healthz/etcd", "/healthz/x", "/version"] {
                all.push((verb, RuleTarget::Path(path)));
            }
        }
        all
    }

    proptest! {
        #[test]
        fn requested_permissions_are_either_owned_or_reported_as_missing(
            owned in prop::collection::vec(any_rule(), 0..4),
            wanted in prop::collection::vec(any_rule(), 1..3),
        ) {
            let missing = missing(&owned, &wanted);
            for (verb, target) in requests() {
                let allows = |rules: &[Rule]| rules.iter().any(|rule| rule.allows(verb, target));
                let granted = allows(&owned) || allows(&missing);
                prop_assert!(!allows(&wanted) || granted, "{verb} {target:?}");
            }
        }

        #[test]
        fn owned_and_missing_permissions_together_cover_the_requested_rules(
            owned in prop::collection::vec(any_rule(), 0..4),
            wanted in prop::collection::vec(any_rule(), 1..3),
        ) {
            prop_assert_eq!(missing(&wanted, &wanted), Vec::new());
            let mut all = owned.clone();
            all.extend(missing(&owned, &wanted));
            prop_assert_eq!(missing(&all, &wanted), Vec::new());
            prop_assert_eq!(missing(&everything(), &wanted), Vec::new());
        }
    }
}
