//! Values of the Helm chart `drover-agent`, read from the manifest.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The error of [`chart_values`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingValues {
    /// The manifest is not YAML.
    #[error("cannot parse the server's manifest as YAML: {cause}", cause = .0)]
    Unreadable(String),
    /// The manifest lacks an object or field that the chart's values require.
    #[error(
        "cannot write values: the server's manifest has no {field}; use the same version of \
         drover as the server, or use the manifest", field = .0
    )]
    Missing(&'static str),
}

/// Converts the manifest to the values of the chart, in YAML format.
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
    let keys = keys.ok_or(MissingValues::Missing("plan keys"))?;
    // The keys are sorted by name, which is a number. The last key is the current key.
    let keys: BTreeMap<&String, &Value> = keys.iter().collect();
    let keys: Vec<&Value> = keys.into_values().collect();
    let token = &object("Secret", "drover-agent-registration")?["data"]["token"];
    let token = token.as_str().and_then(|token| STANDARD.decode(token).ok());
    let token = token.and_then(|token| String::from_utf8(token).ok());
    let agent = object("Deployment", "drover-agent")?;
    let container = &agent["spec"]["template"]["spec"]["containers"][0];
    let environment = container["env"].as_array();
    let mut environment = environment.into_iter().flatten();
    let has_tunnel = !environment.any(|variable| variable["name"] == "DROVER_AGENT_NO_TUNNEL");
    let values = json!({
        "cluster": { "name": server["cluster-name"], "uid": server["cluster-uid"] },
        "server": { "url": server["server-url"], "ca": server["server-ca.crt"] },
        "planKeys": keys,
        "registration": { "token": token.ok_or(MissingValues::Missing("registration token"))? },
        "tunnel": { "enabled": has_tunnel },
        "image": { "name": container["image"], "pullPolicy": container["imagePullPolicy"] },
    });
    serde_saphyr::to_string(&values).map_err(|error| MissingValues::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_incomplete_manifest_names_the_missing_object() {
        let missing = chart_values("---\nkind: Namespace\n").unwrap_err();
        assert_eq!(missing, MissingValues::Missing("drover-agent-server"));
        let odd = chart_values("{").unwrap_err();
        assert!(matches!(odd, MissingValues::Unreadable(_)), "{odd}");
    }
}
