use drover_apply::compare::Comparable as _;

use super::super::decide::tests::project;
use super::*;

use drover_api::kinds::{ContainerDefaults, ProjectQuota};

const ENFORCE: &str = LEVEL_LABELS[0];

fn restricted() -> Project {
    let mut project = project("p", 1, "a");
    project.spec.pod_security = Some(PodSecurity::Restricted);
    project
}

fn texts(of: &[(&str, &str)]) -> Texts {
    let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    of.iter().map(text).collect()
}

/// Returns the metadata of a namespace after a patch.
fn patched(mut found: ObjectMeta, patch: &Value) -> ObjectMeta {
    let parts = [
        ("labels", &mut found.labels),
        ("annotations", &mut found.annotations),
    ];
    for (part, texts) in parts {
        let texts = texts.get_or_insert_default();
        for (key, value) in patch["metadata"][part].as_object().unwrap() {
            match value.as_str() {
                Some(value) => _ = texts.insert(key.clone(), value.to_owned()),
                None => _ = texts.remove(key),
            }
        }
    }
    found
}

#[test]
fn namespace_has_its_original_metadata_after_adoption_and_release() {
    let before = ObjectMeta {
        labels: Some(texts(&[("team", "x"), (MANAGED_BY_LABEL, "Helm")])),
        annotations: Some(texts(&[("note", "y")])),
        ..ObjectMeta::default()
    };
    let project = restricted();
    let adopted = patched(before.clone(), &patch(&before, Some(&project)).unwrap());
    let labels = adopted.labels.as_ref().unwrap();
    for label in LEVEL_LABELS {
        assert_eq!(labels[label], "restricted");
    }
    assert_eq!(
        (
            labels[PROJECT_LABEL].as_str(),
            labels[MANAGED_BY_LABEL].as_str()
        ),
        ("p", "Helm")
    );
    assert_eq!(
        patch(&adopted, Some(&project)),
        None,
        "only differences are written"
    );
    let free = patched(adopted.clone(), &patch(&adopted, None).unwrap());
    assert_eq!(free, before);
    assert_eq!(patch(&free, None), None);
}

#[test]
fn namespace_released_by_its_project_has_no_drover_labels() {
    let project = restricted();
    let created = namespace(&project, "a", "secret");
    assert_eq!(patch(&created, Some(&project)), None);
    let free = patched(created.clone(), &patch(&created, None).unwrap());
    assert_eq!(free.labels, Some(texts(&[])));
    assert_eq!(free.annotations, Some(texts(&[])));
}

#[test]
fn pod_security_level_of_namespace_changes_only_if_the_project_sets_a_level() {
    let theirs = ObjectMeta {
        labels: Some(texts(&[(PROJECT_LABEL, "p"), (ENFORCE, "baseline")])),
        annotations: Some(texts(&[(NAME_ANNOTATION, "p")])),
        ..ObjectMeta::default()
    };
    let silent = project("p", 1, "a");
    assert_eq!(patch(&theirs, Some(&silent)), None);
    let ours = patched(
        theirs.clone(),
        &patch(&theirs, Some(&restricted())).unwrap(),
    );
    // The server restores a level that a user weakened. A level that a user strengthened stays
    // after the release.
    let mut weak = ours.clone();
    weak.labels
        .as_mut()
        .unwrap()
        .insert(ENFORCE.to_owned(), "privileged".to_owned());
    let right = patched(weak.clone(), &patch(&weak, Some(&restricted())).unwrap());
    assert_eq!(right.labels, ours.labels);
    let free = patched(weak.clone(), &patch(&weak, None).unwrap());
    assert_eq!(free.labels, Some(texts(&[(ENFORCE, "privileged")])));
    // The project has no level any more.
    let silenced = patched(ours.clone(), &patch(&ours, Some(&silent)).unwrap());
    assert_eq!(silenced.labels, Some(texts(&[(PROJECT_LABEL, "p")])));
}

#[test]
fn quotas_and_limits_are_compared_by_value() {
    let mut project = project("p", 1, "a");
    assert_eq!((quota(&project, "a"), limits(&project, "a")), (None, None));
    project.spec.quota = Some(ProjectQuota {
        project: Texts::new(),
        namespace: texts(&[("requests.cpu", "0.5"), ("pods", "4")]),
    });
    project.spec.container_defaults = Some(ContainerDefaults {
        requests: texts(&[("cpu", "100m")]),
        limits: texts(&[("cpu", "1"), ("memory", "1024Mi")]),
    });
    let expected = quota(&project, "a").unwrap();
    let mut there = expected.clone();
    let hard = there.spec.as_mut().unwrap().hard.as_mut().unwrap();
    hard.insert("requests.cpu".to_owned(), Quantity("500m".to_owned()));
    assert!(there.same_content(&expected));
    let hard = there.spec.as_mut().unwrap().hard.as_mut().unwrap();
    hard.insert("requests.cpu".to_owned(), Quantity("501m".to_owned()));
    assert!(!there.same_content(&expected) && there.can_become(&expected));
    there.spec.as_mut().unwrap().scopes = Some(vec!["Terminating".to_owned()]);
    assert!(
        !there.can_become(&expected),
        "the limit would apply to some pods only"
    );

    let expected = limits(&project, "a").unwrap();
    let item = &expected.spec.as_ref().unwrap().limits[0];
    let requested = item.default_request.as_ref().unwrap();
    assert_eq!(
        (requested["cpu"].0.as_str(), requested["memory"].0.as_str()),
        ("100m", "1024Mi")
    );
    let mut there = expected.clone();
    let item = &mut there.spec.as_mut().unwrap().limits[0];
    item.default
        .as_mut()
        .unwrap()
        .insert("memory".to_owned(), Quantity("1Gi".to_owned()));
    assert!(there.same_content(&expected));
    there.spec.as_mut().unwrap().limits[0].max =
        Some([("cpu".to_owned(), Quantity("9".to_owned()))].into());
    assert!(!there.same_content(&expected));
}
