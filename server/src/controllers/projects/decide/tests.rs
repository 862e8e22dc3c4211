use drover_api::kinds::{
    ClusterReference, ProjectNamespace, ProjectQuota, ProjectSpec, ProjectStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

/// A project whose UID is its name; those with smaller `age` are older. A namespace `name!` is to be
/// adopted.
pub(in crate::controllers::projects) fn project(name: &str, age: i64, namespaces: &str) -> Project {
    let wanted = namespaces.split_whitespace().map(|name| ProjectNamespace {
        name: name.trim_end_matches('!').to_owned(),
        adopt: name.ends_with('!'),
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

pub(in crate::controllers::projects) fn at(second: i64) -> Time {
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

#[test]
fn a_namespace_is_a_projects_own_if_nobody_else_can_claim_it() {
    let q = |own: &str| owning(project("q", 1, "a"), own);
    for (what, p, others, there, wanted, impeded) in [
        (
            "one that is not there is made",
            project("p", 2, "a"),
            vec![],
            "",
            "//a",
            vec![],
        ),
        (
            "one that is there is left alone",
            project("p", 2, "a"),
            vec![],
            "a=1",
            "//",
            vec![Why::There],
        ),
        (
            "unless it is to be adopted",
            project("p", 2, "a!"),
            vec![],
            "a=1",
            "/a=1/",
            vec![],
        ),
        (
            "its own stays",
            owning(project("p", 2, "a"), "a=1"),
            vec![],
            "a=1",
            "a=1//",
            vec![],
        ),
        (
            "one that was made again by somebody is not",
            owning(project("p", 2, "a"), "a=1"),
            vec![],
            "a=2",
            "//",
            vec![Why::There],
        ),
        (
            "one that is gone is made again",
            owning(project("p", 2, "a"), "a=1"),
            vec![],
            "",
            "//a",
            vec![],
        ),
        (
            "one that is being deleted is nobody's",
            owning(project("p", 2, "a"), "a=1"),
            vec![],
            "a=1-",
            "//",
            vec![Why::Terminating],
        ),
        (
            "nor is it adopted",
            project("p", 2, "a!"),
            vec![],
            "a=1-",
            "//",
            vec![Why::Terminating],
        ),
        (
            "one that left the spec is let go",
            owning(project("p", 2, "b"), "a=1 b=2"),
            vec![],
            "a=1 b=2",
            "b=2//",
            vec![],
        ),
        (
            "Kubernetes' own and Drover's are nobody's",
            owning(
                project("p", 2, "kube-system! drover-agent!"),
                "kube-system=1",
            ),
            vec![],
            "kube-system=1 drover-agent=2",
            "//",
            vec![Why::Reserved, Why::Reserved],
        ),
        (
            "another's waits until that one lets go",
            project("p", 2, "a!"),
            vec![q("a=1")],
            "a=1",
            "//",
            vec![Why::Held("q".to_owned())],
        ),
        (
            "also if it is older",
            project("p", 0, "a!"),
            vec![q("a=1")],
            "a=1",
            "//",
            vec![Why::Held("q".to_owned())],
        ),
        (
            "also of one that is ending",
            project("p", 2, "a!"),
            vec![ending(q("a=1"))],
            "a=1",
            "//",
            vec![Why::Held("q".to_owned())],
        ),
        (
            "also if it is gone and will be made again",
            project("p", 0, "a"),
            vec![q("a=1")],
            "",
            "//",
            vec![Why::Held("q".to_owned())],
        ),
        (
            "of two that come for one, the older has it",
            project("p", 2, "a"),
            vec![project("q", 1, "a")],
            "",
            "//",
            vec![Why::Held("q".to_owned())],
        ),
        (
            "unless that one may not have it",
            project("p", 2, "a!"),
            vec![project("q", 1, "a")],
            "a=1",
            "/a=1/",
            vec![],
        ),
        (
            "what two say is theirs is the older one's",
            owning(project("p", 2, "a"), "a=1"),
            vec![q("a=1")],
            "a=1",
            "//",
            vec![Why::Held("q".to_owned())],
        ),
        (
            "one that is ending has nothing",
            ending(owning(project("p", 2, "a b"), "a=1")),
            vec![],
            "a=1",
            "//",
            vec![],
        ),
    ] {
        let mut projects = vec![p];
        projects.extend(others);
        let told = told(&projects, &found(there), "p");
        assert_eq!(told, (wanted.to_owned(), impeded), "{what}");
    }
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
