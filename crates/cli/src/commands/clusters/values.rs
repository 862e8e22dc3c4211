//! The manifest as values of the chart `drover-agent`, which makes the same objects of them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Why there are no values.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingValues {
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
pub fn chart_values(manifest: &str) -> Result<String, MissingValues> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(manifest)
        .map_err(|error| MissingValues::Unreadable(error.to_string()))?;
    let object = |kind: &str, name: &'static str| {
        let found = objects
            .iter()
            .find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
        found.ok_or(MissingValues::Missing(name))
    };
    let server = &object("ConfigMap", "drover-agent-server")?["data"];
    let keys = &object("ConfigMap", "drover-agent-plan-keys")?["data"];
    let keys = keys.as_object();
    let keys = keys.ok_or(MissingValues::Missing("keys that plans are verified with"))?;
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
        "registration": { "token": token.ok_or(MissingValues::Missing("registration token"))? },
        "image": { "name": container["image"], "pullPolicy": container["imagePullPolicy"] },
    });
    serde_saphyr::to_string(&values).map_err(|error| MissingValues::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_of_another_version_is_refused_with_what_it_lacks() {
        let missing = chart_values("---\nkind: Namespace\n").unwrap_err();
        assert_eq!(missing, MissingValues::Missing("drover-agent-server"));
        let odd = chart_values("{").unwrap_err();
        assert!(matches!(odd, MissingValues::Unreadable(_)), "{odd}");
    }
}
