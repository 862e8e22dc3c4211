use drover_api::fleet::BundleDeploymentOptions;
use drover_gitops::ids::{
    bundle_name, cluster_namespace, credential_secret_name, deployment_id, deployment_values,
    go_json, key_hash, safe_concat_name, shorten,
};
use drover_gitops::targeting::merge_options;
use serde_json::{Value, json};

use crate::cases;

#[test]
fn deployment_ids_equal_fleet() {
    for (input, expected) in cases::<BundleDeploymentOptions, Value>("options") {
        let mut plain = input.clone();
        if let Some(values) = plain.helm.as_mut().and_then(|helm| helm.values.as_mut()) {
            go_json::numbers_as_floats(values);
        }
        assert_eq!(go_json::to_string(&plain), expected["json"]);
        assert_eq!(deployment_id("s-content", &input), expected["id"]);
        let values = deployment_values(&input, &BundleDeploymentOptions::default());
        assert_eq!(values.hash, expected["valuesHash"]);
    }
}

#[test]
fn names_equal_fleet() {
    for (text, expected) in cases::<String, Value>("names") {
        let names = json!({
            "release": bundle_name("repo", &text, ""),
            "limit": shorten(&text, 20),
            "concat": safe_concat_name(&["a", &text, "b"]),
            "keyHash": key_hash(&text),
            "secret": credential_secret_name(&text, "random"),
            "namespace": cluster_namespace("ns", &text),
        });
        assert_eq!(names, expected, "{text:?}");
    }
}

#[derive(serde::Deserialize)]
struct Merge {
    base: BundleDeploymentOptions,
    custom: BundleDeploymentOptions,
}

#[test]
fn merged_options_equal_fleet() {
    for (input, expected) in cases::<Merge, BundleDeploymentOptions>("merges") {
        let merged = merge_options(&input.base, &input.custom);
        // The hash shows differences of numbers that are equal as text.
        let id = |options| deployment_id("", options);
        assert_eq!(id(&merged), id(&expected), "{merged:#?}\n{expected:#?}");
    }
}
