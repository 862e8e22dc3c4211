use drover_api::fleet::{BundleSpec, FleetCluster};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Replaces `${ .ClusterName }` and `${ .ClusterLabels.NAME }`.
struct Simple;

impl Templates for Simple {
    fn render(&self, text: &str, data: &Value) -> Result<String, String> {
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${ .") {
            let (path, after) = after.split_once(" }").ok_or("no end")?;
            let pointer = format!("/{}", path.replace('.', "/"));
            let value = data
                .pointer(&pointer)
                .and_then(Value::as_str)
                .ok_or("missing key")?;
            result.push_str(before);
            result.push_str(value);
            rest = after;
        }
        Ok(result + rest)
    }
}

fn bundle(spec: Value) -> Bundle {
    Bundle {
        spec: serde_json::from_value::<BundleSpec>(spec).unwrap(),
        ..Bundle::default()
    }
}

fn labels_of(labels: &[(&str, &str)]) -> BTreeMap<String, String> {
    labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn target_of(spec: Value, labels: &[(&str, &str)]) -> Result<Option<Target>, TargetError> {
    let (labels, none) = (labels_of(labels), BTreeMap::new());
    let cluster = ClusterFacts {
        namespace: "fleet-default",
        name: "c1",
        labels: &labels,
        annotations: &none,
        template_values: None,
        groups: &[],
    };
    let bundle = bundle(spec);
    Targeting::new(&bundle)?.target(&cluster, "s-1", None, &Simple)
}

#[test]
fn customization_adds_no_cluster_that_the_git_repo_does_not_target() {
    let spec = json!({
        "targets": [
            { "clusterSelector": {}, "helm": { "releaseName": "custom" } },
            { "clusterName": "other" }
        ],
        "targetRestrictions": [{ "clusterName": "other" }]
    });
    assert_eq!(target_of(spec, &[]).unwrap(), None);
}

#[test]
fn first_match_applies_one_customization_and_all_matches_applies_all() {
    let spec = |mode: &str| {
        json!({
            "targetCustomizationMode": mode,
            "targets": [
                { "clusterSelector": {}, "yaml": { "overlays": ["a"] } },
                { "clusterSelector": {}, "yaml": { "overlays": ["b"] } },
                { "clusterName": "c1" }
            ],
            "targetRestrictions": [{ "clusterName": "c1" }]
        })
    };
    let overlays = |mode| {
        let target = target_of(spec(mode), &[]).unwrap().unwrap();
        target.options.yaml.unwrap().overlays
    };
    assert_eq!(overlays("FirstMatch"), ["a"]);
    assert_eq!(overlays("AllMatches"), ["a", "b"]);
}

#[test]
fn do_not_deploy_excludes_the_cluster() {
    let spec = json!({
        "targets": [{ "clusterSelector": {}, "doNotDeploy": true }, { "clusterName": "c1" }],
        "targetRestrictions": [{ "clusterName": "c1" }]
    });
    assert_eq!(target_of(spec, &[]).unwrap(), None);
}

#[test]
fn namespace_labels_of_targets_that_do_not_match_are_not_applied() {
    let spec = json!({
        "namespaceLabels": { "base": "1" },
        "targets": [
            { "clusterName": "other", "namespaceLabels": { "other": "1" } },
            { "clusterName": "c1", "namespaceLabels": { "own": "1" } }
        ]
    });
    let options = target_of(spec, &[]).unwrap().unwrap().deployment_options();
    assert_eq!(
        options.namespace_labels,
        labels_of(&[("base", "1"), ("own", "1")])
    );
}

#[test]
fn dash_resets_a_namespace_of_the_bundle() {
    let spec = json!({
        "namespace": "a", "defaultNamespace": "b", "serviceAccount": "c",
        "targets": [{
            "clusterName": "c1", "namespace": "-", "defaultNamespace": "-", "serviceAccount": "d"
        }]
    });
    let options = target_of(spec, &[]).unwrap().unwrap().options;
    assert_eq!(options.target_namespace, "");
    assert_eq!(options.default_namespace, "");
    assert_eq!(options.service_account, "d");
}

#[test]
fn templates_and_labels_are_replaced_and_texts_can_become_numbers() {
    let spec = json!({
        "helm": {
            "values": {
                "replicas": "${ .ClusterLabels.replicas }",
                "name": "name-${ .ClusterName }",
                "env": "global.fleet.clusterLabels.env",
                "list": [{ "missing": "global.fleet.clusterLabels.none" }, "a: b", "3", "yes"],
                "lines": "a\n  ${ .ClusterName }\n",
                "empty": { "a": {}, "b": [], "c": null, "d": "" }
            },
            "templateValues": { "extra": "[\"${ .ClusterName }\", 2]" }
        },
        "targets": [{ "clusterName": "c1" }]
    });
    let target = target_of(spec, &[("replicas", "3"), ("env", "prod")])
        .unwrap()
        .unwrap();
    assert_eq!(
        target.options.helm.unwrap().values.unwrap(),
        json!({
            "replicas": 3,
            "name": "name-c1",
            "env": "prod",
            "list": [{ "missing": "" }, "a: b", "3", "yes"],
            "lines": "a\n  c1\n",
            "empty": { "a": {}, "b": [], "c": null, "d": "" },
            "extra": ["c1", 2]
        })
    );
}

#[test]
fn template_error_names_the_cluster_and_the_option() {
    let spec = json!({
        "helm": { "templateValues": { "a": "${ .Missing }" } },
        "targets": [{ "clusterName": "c1" }]
    });
    let error = target_of(spec, &[("a", "b")]).unwrap_err().to_string();
    assert!(
        error.contains("fleet-default/c1") && error.contains("helm.templateValues.a"),
        "{error}"
    );
}

#[test]
fn selector_error_names_the_target() {
    let spec = json!({
        "targets": [{ "clusterSelector": { "matchExpressions": [{ "key": "a", "operator": "Is" }] } }]
    });
    let error = target_of(spec, &[]).unwrap_err().to_string();
    assert!(
        error.contains("targets[0]") && error.contains("\"Is\""),
        "{error}"
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~\n]{0,12}".prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[ -~]{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    proptest::collection::btree_map("[ab]", "[xy]", 0..3)
}

proptest! {
    #[test]
    fn written_yaml_has_the_same_value(value in any_value()) {
        let text = yaml_text::write(&value);
        let read = crate::yaml::value(&text);
        prop_assert_eq!(read.map_err(|error| error.to_string()), Ok(value), "{}", text);
    }

    #[test]
    fn merge_with_empty_options_changes_nothing(value in any_value(), flag: bool) {
        let mut base = BundleDeploymentOptions { keep_resources: flag, ..Default::default() };
        base.helm.get_or_insert_default().values = Some(value);
        prop_assert_eq!(&merge_options(&base, &BundleDeploymentOptions::default()), &base);
        prop_assert_eq!(&merge_options(&BundleDeploymentOptions::default(), &base), &base);
    }

    #[test]
    fn merge_of_values_is_associative(a in any_value(), b in any_value(), c in any_value()) {
        let merged = |base: &Value, overlay: &Value| {
            let mut result = base.clone();
            merge_values(&mut result, overlay);
            result
        };
        // A replaced object loses its keys, so the law needs objects.
        let object = |value: Value| json!({ "a": value });
        let (a, b, c) = (object(a), object(b), object(c));
        if [&a, &b, &c].iter().all(|it| it["a"].is_object()) {
            prop_assert_eq!(merged(&merged(&a, &b), &c)["a"].as_object().map(serde_json::Map::len),
                merged(&a, &merged(&b, &c))["a"].as_object().map(serde_json::Map::len));
        }
    }

    #[test]
    fn not_in_is_the_opposite_of_in(labels in any_labels(), key in "[ab]", value in "[xy]") {
        let selector = |operator: &str| {
            let expression = json!({ "key": key, "operator": operator, "values": [value] });
            let selector = serde_json::from_value(json!({ "matchExpressions": [expression] }));
            Selector::new(&selector.unwrap()).unwrap().matches(&labels)
        };
        prop_assert_ne!(selector("In"), selector("NotIn"));
    }

    #[test]
    fn target_of_a_bundle_is_among_the_restrictions(labels in any_labels(), wanted in any_labels()) {
        let spec = json!({
            "targets": [{ "clusterSelector": {} }, { "clusterSelector": { "matchLabels": wanted } }],
            "targetRestrictions": [{ "clusterSelector": { "matchLabels": wanted } }]
        });
        let pairs: Vec<(&str, &str)> =
            labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let is_target = target_of(spec, &pairs).unwrap().is_some();
        prop_assert_eq!(is_target, wanted.iter().all(|(key, value)| labels.get(key) == Some(value)));
    }
}

#[test]
fn agent_cannot_select_the_namespace_of_another_cluster() {
    let cluster = |namespace| -> FleetCluster {
        let metadata = json!({ "name": "edge", "namespace": "fleet-default" });
        let status = json!({ "namespace": namespace });
        serde_json::from_value(json!({ "metadata": metadata, "spec": {}, "status": status }))
            .unwrap()
    };
    let own = crate::ids::cluster_namespace("fleet-default", "edge");
    assert_eq!(deployment_namespace(&cluster("kube-system")), Some(own));
    assert_eq!(deployment_namespace(&cluster("")), None);
}
