//! Compares `drover cluster import --values` with the manifest that the server writes.

use drover_access::proof::PublicKey;
use drover_agent_gateway::registration::manifest::Manifest;
use drover_api::ids::ClusterUid;
use drover_cli::chart_values;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

fn manifest() -> Manifest {
    Manifest {
        server_url: "https://drover.example:8443".into(),
        server_ca: "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n".into(),
        cluster_uid: ClusterUid::new("5a1d"),
        cluster_name: "shop".into(),
        token: "droverimport_bbbbbbbbbbbb_secretsecretsecret".into(),
        plan_keys: [1, 2].map(|byte| PublicKey::from_bytes([byte; 32])).into(),
        image: "registry.example:5000/drover-agent@sha256:00".into(),
        image_pull_policy: "Always".into(),
        gitops_only: false,
    }
}

#[test]
fn chart_values_contain_all_variable_fields_of_the_manifest() {
    let (manifest, text) = (manifest(), manifest().write().unwrap());
    let values = chart_values(text.expose_secret()).unwrap();
    let values: Value = serde_saphyr::from_str(&values).unwrap();
    let keys: Vec<_> = manifest.plan_keys.iter().map(PublicKey::encode).collect();
    let expected = json!({
        "cluster": { "name": "shop", "uid": "5a1d" },
        "server": { "url": manifest.server_url, "ca": manifest.server_ca },
        "planKeys": keys,
        "registration": { "token": manifest.token.expose_secret() },
        "image": { "name": manifest.image, "pullPolicy": "Always" },
        "tunnel": { "enabled": true },
    });
    assert_eq!(values, expected);
}
