use drover_api::fleet::{Bundle, BundleResource, HelmOptions};
use k8s_openapi::ByteString;
use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn numbers_are_written_as_go_writes_floats() {
    for (number, text) in [
        (0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.234e-10, "1.234e-10"),
    ] {
        assert_eq!(go_json::float(number), text);
    }
    let mut large = json!([9_007_199_254_740_993_u64]);
    go_json::numbers_as_floats(&mut large);
    assert_eq!(go_json::to_string(&large), "[9007199254740992]");
}

#[test]
fn html_characters_are_escaped_and_keys_are_sorted() {
    let value = json!({ "b": "<a>&\u{2028}\u{7f}", "B": "\u{8}\u{c}\n\u{1}\"" });
    assert_eq!(
        go_json::to_string(&value),
        "{\"B\":\"\\b\\f\\n\\u0001\\\"\",\"b\":\"\\u003ca\\u003e\\u0026\\u2028\u{7f}\"}"
    );
}

#[test]
fn drift_options_do_not_change_the_deployment_id() {
    let mut options = BundleDeploymentOptions::default();
    let id = deployment_id("s-1", &options);
    options.correct_drift = Some(drover_api::fleet::CorrectDrift::default());
    options.diff = Some(drover_api::fleet::DiffOptions::default());
    assert_eq!(deployment_id("s-1", &options), id);
    options.keep_resources = true;
    assert_ne!(deployment_id("s-1", &options), id);
}

#[test]
fn values_hash_equals_the_hash_of_fleet() {
    let helm = |values| {
        Some(HelmOptions {
            values: Some(values),
            ..HelmOptions::default()
        })
    };
    let mut bundle = Bundle::default();
    bundle.spec.options.helm = helm(json!({ "key": "value" }));
    bundle.spec.targets = vec![drover_api::fleet::BundleTarget {
        name: "target".to_owned(),
        ..drover_api::fleet::BundleTarget::default()
    }];
    bundle.spec.targets[0].options.helm = helm(json!({ "newkey": "value" }));
    // The value is from the tests of Fleet.
    assert_eq!(
        bundle_values(&bundle).hash,
        "17e05a97acde825d03ca37c2b8fc1aecf3f8f9fde28c21702492c56d4d4a68f1"
    );
    clear_bundle_values(&mut bundle);
    assert!(bundle_values(&bundle).hash.is_empty());
}

#[test]
fn decompression_stops_at_the_limit() {
    let manifest = Manifest {
        resources: vec![encode_resource("a", &[b'a'; 10_000], false).unwrap()],
    };
    let data = manifest.compress().unwrap();
    let error = Manifest::decompress(&data, "", 100).unwrap_err();
    assert!(matches!(error, ContentError::TooLong(100)), "{error}");
    let sha256 = manifest.sha256();
    assert_eq!(
        Manifest::decompress(&data, &sha256, 20_000).unwrap(),
        manifest
    );
    assert!(Manifest::decompress(&data, "00", 20_000).is_err());
}

proptest! {
    #[test]
    fn resources_keep_their_data(data: Vec<u8>, compress: bool) {
        let resource = encode_resource("a", &data, compress).unwrap();
        prop_assert_eq!(decode_resource(&resource, 1 << 20).unwrap(), data);
    }

    #[test]
    fn any_encoding_is_decoded_without_panic(content: String, gzip: bool) {
        let encoding = if gzip { "base64+gz" } else { "base64" }.to_owned();
        let _ = decode_resource(&BundleResource { name: String::new(), content, encoding }, 100);
    }

    #[test]
    fn bundle_names_are_valid_release_names(repo in "\\PC{0,80}", path in "\\PC{0,80}") {
        let name = bundle_name(&repo, &path, "");
        prop_assert!((1..=53).contains(&name.len()), "{}", name);
        prop_assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
        prop_assert!(!name.starts_with('-') && !name.ends_with('-'));
    }

    #[test]
    fn derived_names_have_at_most_63_bytes(a in "\\PC{0,80}", b in "\\PC{0,80}") {
        prop_assert!(safe_concat_name(&[&a, &b]).len() <= 63);
        prop_assert!(cluster_namespace(&a, &b).len() <= 63);
        prop_assert_eq!(credential_secret_name(&a, &b).len(), 63);
    }
}

/// The expected values are the results of Fleet v0.16.0.
#[test]
fn cluster_namespace_is_the_namespace_that_fleet_computes() {
    for (namespace, name, expected) in [
        (
            "fleet-default",
            "shop".to_owned(),
            "cluster-fleet-default-shop-079927a5ce7c",
        ),
        (
            "fleet-local",
            "local".to_owned(),
            "cluster-fleet-local-local-1a3d67d0a899",
        ),
        (
            "fleet-default",
            "a".repeat(63),
            "cluster-fleet-default-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-a794f",
        ),
        (
            "fleet-default",
            "a".repeat(29),
            "cluster-fleet-default-aaaaaaaaaaaaaaaaaaaaaaaaaaaaa-91a02-04843",
        ),
        (
            "fleet-default",
            "a".repeat(28),
            "cluster-fleet-default-aaaaaaaaaaaaaaaaaaaaaaaaaaaa-63ce5b2908f6",
        ),
        (
            "fleet-default",
            format!("{}-bcd", "a".repeat(34)),
            "cluster-fleet-default-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-2d3c90",
        ),
        (
            "fleet-default",
            format!("a-{}-c", "b".repeat(30)),
            "cluster-fleet-default-a-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb-c-331287",
        ),
    ] {
        let computed = cluster_namespace(namespace, &name);
        assert_eq!(computed, expected);
        assert!(computed.len() <= 63);
    }
}

#[test]
fn valid_release_names_stay_unchanged() {
    assert_eq!(release_name("web-frontend"), "web-frontend");
    let longest = "a".repeat(53);
    assert_eq!(release_name(&longest), longest);
}

#[test]
fn long_release_name_ends_with_a_hash() {
    let name = release_name(&"a".repeat(54));
    assert_eq!(
        name,
        format!("{}-{}", "a".repeat(47), short_hash(&"a".repeat(54), 5))
    );
    assert_eq!(name.len(), 53);
}

#[test]
fn changed_release_names_differ_from_each_other() {
    let names = ["Web", "web", "w.eb", "w_eb"].map(release_name);
    let mut unique = names.to_vec();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), 4, "{names:?}");
    for name in names {
        assert!(
            name.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        );
    }
}

#[test]
fn release_name_without_valid_characters_is_a_hash() {
    assert_eq!(release_name("///").len(), 24);
}

#[test]
fn helm_values_in_a_secret_are_added_to_the_bundle() {
    let bundle: Bundle = serde_json::from_value(json!({
        "metadata": { "name": "shop" },
        "spec": {
            "helm": { "values": { "color": "red" } },
            "targets": [
                { "name": "prod", "helm": { "values": { "size": 5 } } },
                { "name": "test", "clusterName": "a" },
            ],
        },
    }))
    .unwrap();
    let data = bundle_values(&bundle).data;
    let mut stored = bundle.clone();
    clear_bundle_values(&mut stored);
    assert_ne!(stored, bundle);
    add_bundle_values(&mut stored, data).unwrap();
    assert_eq!(json!(stored), json!(bundle));
    let wrong = [("prod".to_owned(), ByteString(b"{".to_vec()))].into();
    let error = add_bundle_values(&mut stored, wrong).unwrap_err();
    assert!(error.to_string().contains("prod"), "{error}");
}
