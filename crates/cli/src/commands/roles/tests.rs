use drover_api::rest::RoleRights;
use serde_json::json;

use super::*;
use crate::args::Format;

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

fn rule(verbs: &[&str], group: &str, resources: &[&str]) -> PolicyRule {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    PolicyRule {
        verbs: owned(verbs),
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        ..PolicyRule::default()
    }
}

fn deployer() -> RoleDetail {
    RoleDetail {
        role: RoleView {
            name: "deployer".to_owned(),
            display_name: None,
            description: Some("Brings new versions out.".to_owned()),
            context: RoleContext::Project,
            built_in: false,
            locked: false,
            bound: Some(3),
            rights: RoleRights::default(),
        },
        uid: "1".to_owned(),
        resource_version: "7".to_owned(),
        created_at: "2026-11-20T12:00:00Z".parse().unwrap(),
        spec: RoleTemplateSpec {
            context: RoleContext::Project,
            inherits: vec!["project-viewer".to_owned()],
            ..RoleTemplateSpec::default()
        },
        cluster: Allowed {
            rules: vec![PolicyRule {
                verbs: vec!["get".to_owned()],
                non_resource_urls: Some(vec!["/version".to_owned()]),
                ..PolicyRule::default()
            }],
            external: vec!["view\u{202e}".to_owned()],
        },
        project: Allowed {
            rules: vec![
                rule(&["get", "patch"], "apps", &["deployments"]),
                rule(&["get"], "", &["pods"]),
            ],
            external: Vec::new(),
        },
        problem: None,
        rests_on_it: drover_api::rest::RoleDependents::default(),
    }
}

#[test]
fn role_is_shown_with_its_permissions() {
    let listed = list(vec![deployer().role], Format::Table, now(), "").unwrap();
    insta::assert_snapshot!(format!("{listed}\n{}", deployer().page(now())));
}

#[test]
fn role_file_with_complete_role_or_only_its_spec_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("role.yaml");
    let printed = one(&deployer(), Format::Yaml, now()).unwrap();
    let spec = serde_json::to_value(deployer().spec).unwrap();
    let on_hub = "apiVersion: x\nkind: RoleTemplate\nmetadata: {resourceVersion: \"9\"}\nspec: {context: Project}\n";
    for (text, expected, version) in [
        (printed.as_str(), spec.clone(), Some("7")),
        (on_hub, json!({ "context": "Project" }), Some("9")),
        ("context: Project\n", json!({ "context": "Project" }), None),
    ] {
        std::fs::write(&file, text).unwrap();
        let found = read(&file).unwrap();
        assert_eq!(
            (found.spec, found.version.as_deref()),
            (expected, version),
            "{text}"
        );
    }
    std::fs::write(&file, "context: [").unwrap();
    assert!(matches!(read(&file), Err(Failure::Usage(_))));
}

#[test]
fn role_command_options_create_one_rule() {
    let said = RoleTyped {
        given_in: Some(RoleContext::Cluster),
        display_name: None,
        description: None,
        verbs: vec!["get".to_owned()],
        resources: vec!["pods".to_owned()],
        api_groups: Vec::new(),
        resource_names: Vec::new(),
        inherits: Vec::new(),
        in_every_cluster: Vec::new(),
    };
    let spec = typed(&said, false).unwrap();
    assert_eq!(spec["rules"], json!([rule(&["get"], "", &["pods"])]));
    let nowhere = RoleTyped {
        given_in: None,
        ..said
    };
    assert!(typed(&nowhere, false).is_err() && typed(&nowhere, true).is_ok());
    assert!(affected(Some(2)).starts_with("2 bindings"));
}
