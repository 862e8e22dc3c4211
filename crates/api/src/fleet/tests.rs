use serde_json::json;

use super::*;

#[test]
fn object_without_status_has_api_version_kind_and_metadata() {
    let mut cluster = FleetCluster::default();
    cluster.metadata.name = Some("a".to_owned());
    cluster.spec.client_id = "id".to_owned();
    assert_eq!(
        serde_json::to_string(&cluster).unwrap(),
        r#"{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"Cluster","metadata":{"name":"a"},"spec":{"clientID":"id"}}"#
    );
}

#[test]
fn null_is_read_as_the_empty_value() {
    let spec = json!({
        "paths": null, "repo": "r", "targets": null, "correctDrift": null, "paused": null,
        "unknown": 1
    });
    let spec: GitRepoSpec = serde_json::from_value(spec).unwrap();
    assert_eq!(
        spec,
        GitRepoSpec {
            repo: "r".to_owned(),
            ..GitRepoSpec::default()
        }
    );
}

#[test]
fn namespace_labels_of_a_target_are_not_in_its_options() {
    let target = json!({ "namespaceLabels": { "a": "b" }, "helm": { "chart": "c" } });
    let read: BundleTarget = serde_json::from_value(target.clone()).unwrap();
    assert!(read.options.namespace_labels.is_empty());
    assert_eq!(read.namespace_labels["a"], "b");
    assert_eq!(serde_json::to_value(&read).unwrap(), target);
}

#[test]
fn fields_of_options_are_in_the_order_of_the_go_types() {
    let options = BundleDeploymentOptions {
        yaml: Some(YamlOptions {
            overlays: vec!["o".to_owned()],
        }),
        default_namespace: "d".to_owned(),
        target_namespace: "t".to_owned(),
        helm: Some(HelmOptions {
            values_from: vec![ValuesFrom {
                config_map_key_ref: Some(ValuesKey::default()),
                secret_key_ref: None,
            }],
            max_history: 3,
            ..HelmOptions::default()
        }),
        allowed_target_namespace_selector: Some(LabelSelector::default()),
        ..BundleDeploymentOptions::default()
    };
    assert_eq!(
        serde_json::to_string(&options).unwrap(),
        r#"{"yaml":{"overlays":["o"]},"defaultNamespace":"d","namespace":"t","helm":{"valuesFrom":[{"configMapKeyRef":{"name":""}}],"maxHistory":3},"allowedTargetNamespaceSelector":{}}"#
    );
}

#[test]
fn durations_of_go_are_parsed() {
    let seconds = |text| go_duration::parse(text).map(|duration| duration.as_secs_f64());
    assert_eq!(seconds("15s"), Some(15.0));
    assert_eq!(seconds("1h30m"), Some(5400.0));
    assert_eq!(seconds("1.5h0s"), Some(5400.0));
    assert_eq!(seconds("250ms"), Some(0.25));
    assert_eq!(seconds("0"), Some(0.0));
    assert_eq!(seconds("0s"), Some(0.0));
    for invalid in ["", "1", "s", "1d", "-1s", "1s1", "..s"] {
        assert_eq!(seconds(invalid), None, "{invalid}");
    }
}

#[cfg(feature = "client")]
#[test]
fn every_kind_is_a_resource_of_typed_clients() {
    fn url<K: kube::Resource<DynamicType = ()>>() -> String {
        K::url_path(&(), None)
    }
    assert_eq!(url::<Bundle>(), "/apis/fleet.cattle.io/v1alpha1/bundles");
    assert_eq!(url::<Content>(), "/apis/fleet.cattle.io/v1alpha1/contents");
    assert_eq!(
        url::<FleetCluster>(),
        "/apis/fleet.cattle.io/v1alpha1/clusters"
    );
}
