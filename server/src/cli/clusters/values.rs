//! The manifest as values of the chart `drover-agent`, which makes the same objects of them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Why there are no values.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoValues {
    /// The server sent something else than a manifest.
    #[error("the server's manifest cannot be read as YAML: {0}")]
    Unreadable(String),
    /// It is a manifest of another version.
    #[error(
        "the server's manifest has no {0}; use the drover of the server's version, or the manifest"
    )]
    Missing(&'static str),
}

/// The values, YAML.
pub(super) fn chart_values(manifest: &str) -> Result<String, NoValues> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(manifest)
        .map_err(|error| NoValues::Unreadable(error.to_string()))?;
    let object = |kind: &str, name: &'static str| {
        let found = objects
            .iter()
            .find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
        found.ok_or(NoValues::Missing(name))
    };
    let server = &object("ConfigMap", "drover-agent-server")?["data"];
    let keys = &object("ConfigMap", "drover-agent-plan-keys")?["data"];
    let keys = keys.as_object();
    let keys = keys.ok_or(NoValues::Missing("keys that plans are verified with"))?;
    // By their names, which are numbers: the one in use is the last.
    let keys: BTreeMap<&String, &Value> = keys.iter().collect();
    let keys: Vec<&Value> = keys.into_values().collect();
    let token = &object("Secret", "drover-agent-registration")?["data"]["token"];
    let token = token.as_str().and_then(|token| STANDARD.decode(token).ok());
    let token = token.and_then(|token| String::from_utf8(token).ok());
    let agent = object("Deployment", "drover-agent")?;
    let container = &agent["spec"]["template"]["spec"]["containers"][0];
    let values = json!({
        "cluster": { "name": server["cluster-name"], "uid": server["cluster-uid"] },
        "server": { "url": server["server-url"], "ca": server["server-ca.crt"] },
        "planKeys": keys,
        "registration": { "token": token.ok_or(NoValues::Missing("registration token"))? },
        "image": { "name": container["image"], "pullPolicy": container["imagePullPolicy"] },
    });
    serde_saphyr::to_string(&values).map_err(|error| NoValues::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use drover_access::proof::PublicKey;
    use drover_api::ids::ClusterUid;
    use secrecy::ExposeSecret as _;

    use super::*;
    use crate::registration::manifest::Manifest;

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
        }
    }

    #[test]
    fn everything_that_differs_between_manifests_is_a_value() {
        let (manifest, text) = (manifest(), manifest().write().unwrap());
        let values = chart_values(text.expose_secret()).unwrap();
        let values: Value = serde_saphyr::from_str(&values).unwrap();
        let keys: Vec<_> = manifest.plan_keys.iter().map(PublicKey::encode).collect();
        let wanted = json!({
            "cluster": { "name": "shop", "uid": "5a1d" },
            "server": { "url": manifest.server_url, "ca": manifest.server_ca },
            "planKeys": keys,
            "registration": { "token": manifest.token.expose_secret() },
            "image": { "name": manifest.image, "pullPolicy": "Always" },
        });
        assert_eq!(values, wanted);
    }

    #[test]
    fn a_manifest_of_another_version_is_refused_with_what_it_lacks() {
        let missing = chart_values("---\nkind: Namespace\n").unwrap_err();
        assert_eq!(missing, NoValues::Missing("drover-agent-server"));
        let odd = chart_values("{").unwrap_err();
        assert!(matches!(odd, NoValues::Unreadable(_)), "{odd}");
    }
}
