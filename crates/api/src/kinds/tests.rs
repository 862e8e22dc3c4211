#![cfg(feature = "crd")]

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

use super::*;

/// Returns the CustomResourceDefinitions of all kinds.
fn all() -> Vec<CustomResourceDefinition> {
    let mut all = definitions();
    all.extend([
        AuthProvider::crd(),
        ClusterRoleTemplateBinding::crd(),
        GlobalRole::crd(),
        GlobalRoleBinding::crd(),
        Project::crd(),
        ProjectRoleTemplateBinding::crd(),
        RoleTemplate::crd(),
    ]);
    all
}

#[test]
fn every_kind_is_cluster_scoped_and_has_printer_columns() {
    for crd in all() {
        assert_eq!(crd.spec.scope, "Cluster", "{:?}", crd.metadata.name);
        assert_eq!(crd.spec.group, crate::group::GROUP);
        let version = &crd.spec.versions[0];
        assert_eq!(version.name, crate::group::VERSION);
        assert!(
            version
                .additional_printer_columns
                .as_ref()
                .is_some_and(|c| c.len() >= 3)
        );
    }
}

#[test]
fn every_validation_rule_has_a_message() {
    fn rules(value: &serde_json::Value, found: &mut Vec<serde_json::Value>) {
        match value {
            serde_json::Value::Object(map) => {
                if let Some(list) = map
                    .get("x-kubernetes-validations")
                    .and_then(|v| v.as_array())
                {
                    found.extend(list.iter().cloned());
                }
                map.values().for_each(|v| rules(v, found));
            }
            serde_json::Value::Array(list) => list.iter().for_each(|v| rules(v, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for crd in all() {
        rules(&serde_json::to_value(&crd).unwrap(), &mut found);
    }
    assert!(found.len() >= 5, "{found:?}");
    for rule in found {
        assert!(
            rule["message"].as_str().is_some_and(|m| m.len() > 20),
            "{rule}"
        );
    }
}

#[test]
fn schemas_contain_no_pattern() {
    fn patterns(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(map) => {
                found.extend(map.get("pattern").map(ToString::to_string));
                map.values().for_each(|value| patterns(value, found));
            }
            serde_json::Value::Array(list) => list.iter().for_each(|v| patterns(v, found)),
            _ => {}
        }
    }
    // The API server's message for a violated pattern contains only the pattern. Validation rules
    // have readable messages.
    let mut found = Vec::new();
    for crd in all() {
        patterns(&serde_json::to_value(&crd).unwrap(), &mut found);
    }
    assert_eq!(found, Vec::<String>::new());
}
