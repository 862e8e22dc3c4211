use drover_api::kinds::{
    ClusterReference, ProjectNamespace, ProjectQuota, ProjectSpec, ProjectStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

/// A project whose UID is its name; those with smaller `age` are older. A namespace `name!` is to be
/// adopted.
pub(in crate::projects) fn project(name: &str, age: i64, namespaces: &str) -> Project {
    let wanted = namespaces.split_whitespace().map(|name| ProjectNamespace {
        name: name.trim_end_matches('!').to_owned(),
        adopt: name.ends_with('!'),
        uid: None,
    });
    let spec = ProjectSpec {
        cluster: ClusterReference {
            name: "shop".to_owned(),
            uid: Some(drover_api::ids::ClusterUid::new("c")),
        },
        namespaces: wanted.collect(),
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

/// With a status that says `name=uid` of namespaces.
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

/// Namespaces `name=uid`; those with `name=uid-` are being deleted.
fn found(namespaces: &str) -> Found {
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

/// `keeps/gains/makes` and what is impeded.
fn told(projects: &[Project], found: &Found, uid: &str) -> (String, Vec<Why>) {
    let projects: Vec<_> = projects.iter().cloned().map(Arc::new).collect();
    let plan = decide(&projects, found);
    let backwards: Vec<_> = projects.into_iter().rev().collect();
    assert_eq!(decide(&backwards, found), plan, "the order of a listing");
    let standing = &plan[uid];
    let pairs = |of: &BTreeMap<String, String>| {
        let pairs = of.iter().map(|(name, uid)| format!("{name}={uid}"));
        pairs.collect::<Vec<_>>().join(" ")
    };
    let makes: Vec<_> = standing.makes.iter().map(String::as_str).collect();
    let told = [
        pairs(&standing.keeps),
        pairs(&standing.gains),
        makes.join(" "),
    ];
    let impeded = standing.impeded.iter().map(|it| match it {
        Impediment::Namespace { why, .. } => why.clone(),
        Impediment::Limits(error) => panic!("{error}"),
    });
    (told.join("/"), impeded.collect())
}

/// What, the project `p`, the others, what is there; what becomes of `p`, and what impedes it.
type Case<'a> = (&'a str, Project, Vec<Project>, &'a str, &'a str, Vec<Why>);

fn check(cases: Vec<Case<'_>>) {
    for (what, p, others, there, wanted, impeded) in cases {
        let mut projects = vec![p];
        projects.extend(others);
        let told = told(&projects, &found(there), "p");
        assert_eq!(told, (wanted.to_owned(), impeded), "{what}");
    }
}

/// The project `p`, which says that these are its own.
fn p(namespaces: &str, own: &str) -> Project {
    owning(project("p", 2, namespaces), own)
}

/// An older one.
fn q(own: &str) -> Project {
    owning(project("q", 1, "a"), own)
}

#[test]
fn a_namespace_that_is_there_is_a_projects_own_by_its_uid_or_if_it_is_adopted() {
    let (none, there) = (Vec::new, vec![Why::There]);
    check(vec![
        ("made if not there", p("a", ""), none(), "", "//a", vec![]),
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
            "another's of the name",
            p("a", "a=1"),
            none(),
            "a=2",
            "//",
            there,
        ),
        ("gone, made again", p("a", "a=1"), none(), "", "//a", vec![]),
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
fn an_adopted_namespace_that_does_not_exist_is_not_created() {
    let (none, missing) = (Vec::new, vec![Why::Missing]);
    let younger = || project("r", 3, "a");
    check(vec![
        ("a typo", p("a!", ""), none(), "b=1", "//", missing.clone()),
        (
            "deleted after it was adopted",
            p("a!", "a=1"),
            none(),
            "",
            "//",
            missing.clone(),
        ),
        (
            "beside one that exists",
            p("a! b!", ""),
            none(),
            "b=2",
            "/b=2/",
            missing.clone(),
        ),
        (
            "another project creates it",
            p("a!", ""),
            vec![younger()],
            "",
            "//",
            missing,
        ),
    ]);
    let (younger, told) = (younger(), p("a!", ""));
    let plan = decide(&[Arc::new(younger), Arc::new(told)], &found(""));
    assert!(
        plan["r"].makes.contains("a"),
        "a missing namespace is not claimed"
    );
}

#[test]
fn what_is_being_deleted_or_reserved_is_nobodys() {
    let (none, ends) = (Vec::new, vec![Why::Terminating]);
    let reserved = p("kube-system! drover-agent!", "kube-system=1");
    let system = "kube-system=1 drover-agent=2";
    let twice = vec![Why::Reserved, Why::Reserved];
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
fn a_namespace_that_was_deleted_and_created_again_is_not_adopted() {
    let (none, replaced) = (Vec::new, || vec![Why::Replaced]);
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
            "recorded when it was asked for",
            recorded(p("a!", ""), "1"),
            none(),
            "a=2",
            "//",
            replaced(),
        ),
        (
            "the recorded one",
            recorded(p("a!", ""), "1"),
            none(),
            "a=1",
            "/a=1/",
            vec![],
        ),
        // A project of an earlier version has this record only.
        (
            "its own by an earlier version",
            p("a!", "a=1"),
            none(),
            "a=2",
            "//",
            replaced(),
        ),
        (
            "named by the caller",
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
            "asked for anew by its UID",
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
            vec![Why::Missing],
        ),
    ]);
}

#[test]
fn the_uid_of_a_namespace_to_adopt_is_recorded_before_it_is_adopted() {
    let record = |p: &Project, there: &str| {
        let plan = decide(&[Arc::new(p.clone())], &found(there));
        let records = adopted(p, &plan["p"]);
        let pairs = records.iter().map(|it| format!("{}={}", it.name, it.uid));
        pairs.collect::<Vec<_>>().join(" ")
    };
    // As an earlier version left it, and as it is first asked for.
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
fn what_another_project_has_is_waited_for() {
    let held = || vec![Why::Held("q".to_owned())];
    let older = project("p", 0, "a!");
    let no_claim = || project("q", 1, "a");
    check(vec![
        (
            "its status says so",
            p("a!", ""),
            vec![q("a=1")],
            "a=1",
            "//",
            held(),
        ),
        (
            "older or not",
            older.clone(),
            vec![q("a=1")],
            "a=1",
            "//",
            held(),
        ),
        (
            "ending",
            p("a!", ""),
            vec![ending(q("a=1"))],
            "a=1",
            "//",
            held(),
        ),
        ("to be made again", older, vec![q("a=1")], "", "//", held()),
        (
            "both make it",
            p("a", ""),
            vec![no_claim()],
            "",
            "//",
            held(),
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
            held(),
        ),
    ]);
}

#[test]
fn what_the_server_made_and_did_not_write_down_is_known_by_what_it_was_made_with() {
    let mut p = project("p", 1, "a");
    p.status = Some(ProjectStatus {
        making: vec![in_making("a", "secret")],
        ..ProjectStatus::default()
    });
    for (made_with, wanted, impeded) in [
        (Some("secret"), "/a=1/", vec![]),
        (Some("another"), "//", vec![Why::There]),
        // The hub shows the digest to everybody who may read projects.
        (
            Some(p.status.as_ref().unwrap().making[0].digest.as_str()),
            "//",
            vec![Why::There],
        ),
        (None, "//", vec![Why::There]),
    ] {
        let mut there = found("a=1");
        let annotation = made_with.map(|it| (MADE_WITH_ANNOTATION.to_owned(), it.to_owned()));
        there.get_mut("a").unwrap().annotations = Some(annotation.into_iter().collect());
        let told = told(std::slice::from_ref(&p), &there, "p");
        assert_eq!(told, (wanted.to_owned(), impeded), "{made_with:?}");
    }
}

#[test]
fn a_project_whose_quota_does_not_add_up_keeps_what_it_has_and_gains_nothing() {
    let mut p = owning(project("p", 1, "a b c!"), "a=1");
    let bound = |pods: &str| BTreeMap::from([("pods".to_owned(), pods.to_owned())]);
    p.spec.quota = Some(ProjectQuota {
        project: bound("10"),
        namespace: bound("4"),
    });
    let plan = decide(&[Arc::new(p)], &found("a=1 c=3"));
    let standing = &plan["p"];
    assert!(!standing.is_bounded());
    assert_eq!(standing.keeps.len(), 1);
    assert_eq!((standing.gains.len(), standing.makes.len()), (0, 0));
}
