//! The values of a ClusterRegistrationToken, with which an agent registers at a hub.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::error::WorldError;
use super::{BUNDLES, NAMESPACE};
use crate::control_plane::ControlPlane;
use crate::kubectl::CommandLine;
use crate::wait::eventually;

const SOON: Duration = Duration::from_mins(2);

/// The values of a registration token, as users give them to the chart of an agent.
#[derive(Clone)]
pub struct RegistrationValues {
    text: String,
}

impl std::fmt::Debug for RegistrationValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistrationValues").finish_non_exhaustive()
    }
}

impl RegistrationValues {
    /// Creates a registration token on a hub, and waits for its values.
    pub async fn create(hub: &CommandLine, token: &str) -> Result<Self, WorldError> {
        let object = json!({
            "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "ClusterRegistrationToken",
            "metadata": { "name": token, "namespace": BUNDLES }, "spec": { "ttl": "1h" },
        });
        let subject = format!("the registration token {token}");
        eventually(&subject, SOON, async || {
            let apply = hub.clone().with_stdin(object.to_string());
            apply.run(["apply", "--filename", "-"]).await.map(drop)
        })
        .await?;
        let subject = format!("the values of the registration token {token}");
        let values = eventually(&subject, SOON, async || {
            let get = ["get", "secret", token, "--namespace", BUNDLES];
            let get = get
                .into_iter()
                .chain(["--output", "jsonpath={.data.values}"]);
            let encoded = hub
                .run(get)
                .await
                .map_err(|error| error.to_string())?
                .stdout;
            let text = STANDARD.decode(encoded.trim()).unwrap_or_default();
            match String::from_utf8(text) {
                Ok(text) if text.contains("token: ") => Ok(text),
                _ => Err("the Secret has no values".to_owned()),
            }
        });
        Ok(Self {
            text: values.await?,
        })
    }

    /// Returns the values in YAML.
    pub fn yaml(&self) -> &str {
        &self.text
    }

    /// Creates the objects that Fleet's chart creates for Fleet's agent in its cluster. `client_id` is the ID
    /// of the cluster on the hub.
    pub async fn install(
        &self,
        cluster: &ControlPlane,
        client_id: &str,
        labels: &Value,
    ) -> Result<(), WorldError> {
        let objects = self.objects(client_id, labels)?;
        let apply = cluster.command_line().with_stdin(objects.to_string());
        apply.run(["apply", "--filename", "-"]).await?;
        Ok(())
    }

    fn objects(&self, client_id: &str, labels: &Value) -> Result<Value, WorldError> {
        let values: Result<BTreeMap<String, String>, _> = serde_saphyr::from_str(&self.text);
        let values = values.map_err(|error| WorldError::NotPrinted {
            program: "the hub",
            subject: "the values of a registration token",
            printed: error.to_string(),
        })?;
        let config = json!({ "clientID": client_id, "labels": labels, "agentTLSMode": "strict" });
        let metadata = |name: &str| json!({ "name": name, "namespace": NAMESPACE });
        Ok(json!({ "apiVersion": "v1", "kind": "List", "items": [
            { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } },
            {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("fleet-agent"),
                "data": { "config": config.to_string() },
            },
            {
                "apiVersion": "v1", "kind": "Secret", "metadata": metadata("fleet-agent-bootstrap"),
                "stringData": values,
            },
            { "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata("fleet-agent") },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": { "name": "fleet-agent" },
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": "cluster-admin",
                },
                "subjects": [{
                    "kind": "ServiceAccount", "name": "fleet-agent", "namespace": NAMESPACE,
                }],
            },
        ]}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_gets_all_values_of_the_registration_token() {
        let text = "apiServerCA: |\n  -----BEGIN CERTIFICATE-----\n  AA==\n  -----END CERTIFICATE-----\n\
                    apiServerURL: https://127.0.0.1:6443\nclusterNamespace: fleet-default\n\
                    systemRegistrationNamespace: cattle-fleet-clusters-system\ntoken: abc\ntokenName: edge\n";
        let values = RegistrationValues {
            text: text.to_owned(),
        };
        let objects = values.objects("edge", &json!({ "env": "test" })).unwrap();
        let secret = &objects["items"][2]["stringData"];
        assert_eq!(secret["tokenName"], "edge");
        assert!(
            secret["apiServerCA"]
                .as_str()
                .unwrap()
                .starts_with("-----BEGIN")
        );
        let config = objects["items"][1]["data"]["config"].as_str().unwrap();
        assert!(config.contains(r#""labels":{"env":"test"}"#));
    }
}
