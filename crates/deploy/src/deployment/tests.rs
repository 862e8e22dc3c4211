use drover_api::fleet::status::ModifiedStatus;
use drover_api::fleet::{BundleDeploymentStatus, HelmOptions};

use super::*;

fn options(namespace: &str, default_namespace: &str, release: &str) -> BundleDeploymentOptions {
    BundleDeploymentOptions {
        target_namespace: namespace.to_owned(),
        default_namespace: default_namespace.to_owned(),
        helm: Some(HelmOptions {
            release_name: release.to_owned(),
            ..HelmOptions::default()
        }),
        ..BundleDeploymentOptions::default()
    }
}

#[test]
fn release_comes_from_the_options_or_from_the_name() {
    for (options, namespace, release) in [
        (options("", "", ""), "default", "web"),
        (options("", "a", ""), "a", "web"),
        (options("b", "a", "r"), "b", "r"),
    ] {
        let target = Target::of("web", &options, "default");
        assert_eq!(
            (target.namespace.as_str(), target.release.as_str()),
            (namespace, release)
        );
    }
}

#[test]
fn release_of_a_status_is_parsed() {
    let (target, revision) = Target::parse("a/b:12").unwrap();
    assert_eq!(
        (target.namespace.as_str(), target.release.as_str(), revision),
        ("a", "b", 12)
    );
    for text in ["", "a", "a/b", "a/b:c"] {
        assert_eq!(Target::parse(text), None, "{text}");
    }
}

#[test]
fn condition_times_change_only_with_the_content() {
    let report = Report::default();
    let first = status::observed(BundleDeploymentStatus::default(), &report, "t1");
    assert_eq!(status::observed(first.clone(), &report, "t2"), first);
    let modified = ModifiedStatus {
        kind: "ConfigMap".to_owned(),
        api_version: "v1".to_owned(),
        namespace: "a".to_owned(),
        name: "b".to_owned(),
        create: true,
        ..ModifiedStatus::default()
    };
    let report = Report {
        modified: vec![modified],
        ..Report::default()
    };
    let second = status::observed(first, &report, "t3");
    let ready = second
        .conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")
        .unwrap();
    assert_eq!(ready.message, "configmap.v1 a/b missing");
    assert_eq!(
        (ready.status.as_str(), ready.last_transition_time.as_str()),
        ("False", "t3")
    );
    assert!(!second.non_modified);
}

#[test]
fn status_lists_at_most_ten_objects() {
    let modified = vec![ModifiedStatus::default(); 11];
    let status = status::observed(
        BundleDeploymentStatus::default(),
        &Report {
            modified,
            ..Report::default()
        },
        "t",
    );
    assert_eq!(status.modified_status.len(), 10);
    assert!(status.incomplete_state);
}

#[test]
fn failed_upgrade_keeps_the_release_in_the_status() {
    let before = BundleDeploymentStatus {
        release: "a/b:1".to_owned(),
        ..BundleDeploymentStatus::default()
    };
    let spec = BundleDeploymentSpec {
        deployment_id: "s-2:1".to_owned(),
        ..BundleDeploymentSpec::default()
    };
    let error = DeployError::NotReady("a".to_owned());
    let failed = status::failed(before, &spec, &error, "t");
    assert!(status::has_failed(&failed));
    assert_eq!(failed.release, "a/b:1");
    assert_eq!(failed.applied_deployment_id, "s-2:1");
    let deployed = status::deployed(failed, &spec, "a/b:3", "t");
    assert!(!status::has_failed(&deployed));
}
