use drover_api::kinds::{
    ClusterReference, ProjectNamespace, ProjectQuota, ProjectSpec, ProjectStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

/// Returns a project whose UID is its name. A smaller `age` means an older project. A namespace
/// with the suffix `!` is to be adopted.
pub(in crate::projects) fn project(name: &str, age: i64, namespaces: &str) -> Project {
    let expected = namespaces.split_whitespace().map(|name| ProjectNamespace {
        name: name.trim_end_matches('!').to_owned(),
        adopt: name.ends_with('!'),
        uid: None,
    });
    let spec = ProjectSpec {
        cluster: ClusterReference {
            name: "shop".to_owned(),
            uid: Some(drover_api::ids::ClusterUid::new("c")),
        },
        namespaces: expected.collect(),
        ..ProjectSpec::default()
    };
    let mut project = Project::new(name, spec);
    project.metadata.uid = Some(name.to_owned());
    project.metadata.creation_timestamp = Some(at(age));
    project
}

pub(in crate::projects) fn at(second: i64) -> Time {
    Time(jiff::Timestamp::from_second(second).unwrap())
}

/// Adds a status with these namespaces. Each namespace has the form `name=uid`.
fn owning(mut project: Project, own: &str) -> Project {
    let own = own.split_whitespace().map(|own| {
        let (name, uid) = own.split_once('=').unwrap();
        OwnedNamespace {
            name: name.to_owned(),
            uid: uid.to_owned(),
        }
    });
    project.status = Some(ProjectStatus {
        namespaces: own.collect(),
        ..ProjectStatus::default()
    });
    project
}

fn ending(mut project: Project) -> Project {
    project.metadata.deletion_timestamp = Some(at(9));
    project
}

/// Parses namespaces of the form `name=uid`. The suffix `-` marks a namespace that is being
/// deleted.
fn found(namespaces: &str) -> Namespaces {
    let each = namespaces.split_whitespace().map(|namespace| {
        let (name, uid) = namespace.split_once('=').unwrap();
        let meta = ObjectMeta {
            uid: Some(uid.trim_end_matches('-').to_owned()),
            deletion_timestamp: uid.ends_with('-').then(|| at(9)),
            ..ObjectMeta::default()
        };
        (name.to_owned(), meta)
    });
    each.collect()
}

/// Returns the decision as text in the form `retained/gained/created`, and the blocked reasons.
fn describe(
    projects: &[Project],
    found: &Namespaces,
    uid: &str,
) -> (String, Vec<OwnershipProblem>) {
    let projects: Vec<_> = projects.iter().cloned().map(Arc::new).collect();
    let decisions = decide(&projects, found);
    let backwards: Vec<_> = projects.into_iter().rev().collect();
    assert_eq!(
        decide(&backwards, found),
        decisions,
        "the result depends on the order of the list"
    );
    let decision = &decisions[uid];
    let pairs = |of: &BTreeMap<String, String>| {
        let pairs = of.iter().map(|(name, uid)| format!("{name}={uid}"));
        pairs.collect::<Vec<_>>().join(" ")
    };
    let to_create: Vec<_> = decision.to_create.iter().map(String::as_str).collect();
    let describe = [
        pairs(&decision.retained),
        pairs(&decision.gained),
        to_create.join(" "),
    ];
    let blocked_reasons = decision.blocked_reasons.iter().map(|it| match it {
        BlockedReason::Namespace { problem, .. } => problem.clone(),
        BlockedReason::Limits(error) => panic!("{error}"),
    });
    (describe.join("/"), blocked_reasons.collect())
}

/// Test cases: description, project `p`, other projects, namespaces, expected decision about `p`,
/// and expected blocked reasons.
type Case<'a> = (
    &'a str,
    Project,
    Vec<Project>,
    &'a str,
    &'a str,
    Vec<OwnershipProblem>,
);

fn check(cases: Vec<Case<'_>>) {
    for (case, p, others, there, expected, blocked_reasons) in cases {
        let mut projects = vec![p];
        projects.extend(others);
        let describe = describe(&projects, &found(there), "p");
        assert_eq!(describe, (expected.to_owned(), blocked_reasons), "{case}");
    }
}

/// Returns project `p` with these namespaces in its status.
fn p(namespaces: &str, own: &str) -> Project {
    owning(project("p", 2, namespaces), own)
}

/// Returns a project `q` that is older than project `p`.
fn q(own: &str) -> Project {
    owning(project("q", 1, "a"), own)
}

#[test]
fn project_owns_existing_namespace_only_if_its_uid_is_stored_or_adoption_is_requested() {
    let (none, there) = (Vec::new, vec![OwnershipProblem::Exists]);
    check(vec![
        (
            "missing namespace is created",
            p("a", ""),
            none(),
            "",
            "//a",
            vec![],
        ),
        ("left alone", p("a", ""), none(), "a=1", "//", there.clone()),
        ("adopted", p("a!", ""), none(), "a=1", "/a=1/", vec![]),
        (
            "its own stays",
            p("a", "a=1"),
            none(),
            "a=1",
            "a=1//",
            vec![],
        ),
        (
            "namespace of another owner with the same name",
            p("a", "a=1"),
            none(),
            "a=2",
            "//",
            there,
        ),
        (
            "deleted namespace is created again",
            p("a", "a=1"),
            none(),
            "",
            "//a",
            vec![],
        ),
        (
            "let go",
            p("b", "a=1 b=2"),
            none(),
            "a=1 b=2",
            "b=2//",
            vec![],
        ),
        (
            "ending",
            ending(p("a b", "a=1")),
            none(),
            "a=1",
            "//",
            vec![],
        ),
    ]);
}

#[test]
fn missing_adopted_namespace_is_not_created() {
    let (none, missing) = (Vec::new, vec![OwnershipProblem::Missing]);
    let younger = || project("r", 3, "a");
    check(vec![
        ("a typo", p("a!", ""), none(), "b=1", "//", missing.clone()),
        (
            "deleted after its adoption",
            p("a!", "a=1"),
            none(),
            "",
            "//",
            missing.clone(),
        ),
        (
            "together with an existing one",
            p("a! b!", ""),
            none(),
            "b=2",
            "/b=2/",
            missing.clone(),
        ),
        (
            "another project creates the namespace",
            p("a!", ""),
            vec![younger()],
            "",
            "//",
            missing,
        ),
    ]);
    let (younger, describe) = (younger(), p("a!", ""));
    let decisions = decide(&[Arc::new(younger), Arc::new(describe)], &found(""));
    assert!(
        decisions["r"].to_create.contains("a"),
        "a missing namespace is not claimed"
    );
}

#[test]
fn project_cannot_own_a_terminating_or_reserved_namespace() {
    let (none, ends) = (Vec::new, vec![OwnershipProblem::Terminating]);
    let reserved = p("kube-system! drover-agent!", "kube-system=1");
    let system = "kube-system=1 drover-agent=2";
    let twice = vec![OwnershipProblem::Reserved, OwnershipProblem::Reserved];
    check(vec![
        ("its own", p("a", "a=1"), none(), "a=1-", "//", ends.clone()),
        ("to be adopted", p("a!", ""), none(), "a=1-", "//", ends),
        (
            "Kubernetes' or Drover's",
            reserved,
            none(),
            system,
            "//",
            twice,
        ),
    ]);
}

#[test]
fn recreated_namespace_is_not_adopted() {
    let (none, replaced) = (Vec::new, || vec![OwnershipProblem::Replaced]);
    let recorded = |mut p: Project, uid: &str| {
        let record = OwnedNamespace {
            name: "a".to_owned(),
            uid: uid.to_owned(),
        };
        p.status.get_or_insert_default().adopted = vec![record];
        p
    };
    let naming = |mut p: Project, uid: &str| {
        p.spec.namespaces[0].uid = Some(uid.to_owned());
        p
    };
    check(vec![
        (
            "recorded at the adoption request",
            recorded(p("a!", ""), "1"),
            none(),
            "a=2",
            "//",
            replaced(),
        ),
        (
            "the recorded namespace",
            recorded(p("a!", ""), "1"),
            none(),
            "a=1",
            "/a=1/",
            vec![],
        ),
        // Projects of an earlier version have only this record.
        (
            "owned through an earlier version",
            p("a!", "a=1"),
            none(),
            "a=2",
            "//",
            replaced(),
        ),
        (
            "named by UID in the spec",
            naming(p("a!", ""), "1"),
            none(),
            "a=2",
            "//",
            replaced(),
        ),
        (
            "the named one",
            naming(p("a!", ""), "1"),
            none(),
            "a=1",
            "/a=1/",
            vec![],
        ),
        (
            "requested again by UID",
            naming(recorded(p("a!", ""), "1"), "2"),
            none(),
            "a=2",
            "/a=2/",
            vec![],
        ),
        (
            "gone",
            recorded(p("a!", "a=1"), "1"),
            none(),
            "",
            "//",
            vec![OwnershipProblem::Missing],
        ),
    ]);
}

#[test]
fn uid_of_namespace_is_recorded_before_adoption() {
    let record = |p: &Project, there: &str| {
        let decisions = decide(&[Arc::new(p.clone())], &found(there));
        let records = adopted(p, &decisions["p"]);
        let pairs = records.iter().map(|it| format!("{}={}", it.name, it.uid));
        pairs.collect::<Vec<_>>().join(" ")
    };
    // The status of an earlier version, and the empty status.
    for own in ["a=1", ""] {
        let mut first = p("a! b", own);
        assert_eq!(record(&first, "a=1"), "a=1");
        first.status.get_or_insert_default().adopted = adopted(
            &first,
            &decide(&[Arc::new(first.clone())], &found("a=1"))["p"],
        );
        first.status.get_or_insert_default().namespaces = Vec::new();
        for there in ["", "a=2", "a=1"] {
            assert_eq!(record(&first, there), "a=1", "{there}");
        }
        first.spec.namespaces.clear();
        assert_eq!(record(&first, "a=2"), "");
    }
    assert_eq!(record(&p("a!", ""), ""), "");
}

#[test]
fn project_cannot_own_namespace_owned_by_a_different_project() {
    let owned = || vec![OwnershipProblem::Taken("q".to_owned())];
    let older = project("p", 0, "a!");
    let no_claim = || project("q", 1, "a");
    check(vec![
        (
            "recorded in the status",
            p("a!", ""),
            vec![q("a=1")],
            "a=1",
            "//",
            owned(),
        ),
        (
            "older or not",
            older.clone(),
            vec![q("a=1")],
            "a=1",
            "//",
            owned(),
        ),
        (
            "ending",
            p("a!", ""),
            vec![ending(q("a=1"))],
            "a=1",
            "//",
            owned(),
        ),
        ("created again", older, vec![q("a=1")], "", "//", owned()),
        (
            "both make it",
            p("a", ""),
            vec![no_claim()],
            "",
            "//",
            owned(),
        ),
        (
            "q may not",
            p("a!", ""),
            vec![no_claim()],
            "a=1",
            "/a=1/",
            vec![],
        ),
        (
            "both say so",
            p("a", "a=1"),
            vec![q("a=1")],
            "a=1",
            "//",
            owned(),
        ),
    ]);
}

#[test]
fn namespace_created_by_a_project_is_recognized_by_the_secret_in_its_annotation() {
    let mut p = project("p", 1, "a");
    p.status = Some(ProjectStatus {
        making: vec![pending_namespace("a", "secret")],
        ..ProjectStatus::default()
    });
    for (secret, expected, blocked_reasons) in [
        (Some("secret"), "/a=1/", vec![]),
        (Some("another"), "//", vec![OwnershipProblem::Exists]),
        // Users who may read projects know the digest, but not the secret.
        (
            Some(p.status.as_ref().unwrap().making[0].digest.as_str()),
            "//",
            vec![OwnershipProblem::Exists],
        ),
        (None, "//", vec![OwnershipProblem::Exists]),
    ] {
        let mut there = found("a=1");
        let annotation = secret.map(|it| (CREATED_WITH_ANNOTATION.to_owned(), it.to_owned()));
        there.get_mut("a").unwrap().annotations = Some(annotation.into_iter().collect());
        let describe = describe(std::slice::from_ref(&p), &there, "p");
        assert_eq!(
            describe,
            (expected.to_owned(), blocked_reasons),
            "{secret:?}"
        );
    }
}

#[test]
fn project_with_invalid_quota_keeps_its_namespaces_and_adds_no_namespace() {
    let mut p = owning(project("p", 1, "a b c!"), "a=1");
    let bound = |pods: &str| BTreeMap::from([("pods".to_owned(), pods.to_owned())]);
    p.spec.quota = Some(ProjectQuota {
        project: bound("10"),
        namespace: bound("4"),
    });
    let decisions = decide(&[Arc::new(p)], &found("a=1 c=3"));
    let decision = &decisions["p"];
    assert!(!decision.has_valid_limits());
    assert_eq!(decision.retained.len(), 1);
    assert_eq!((decision.gained.len(), decision.to_create.len()), (0, 0));
}
