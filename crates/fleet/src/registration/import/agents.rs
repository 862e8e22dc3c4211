//! The agents in a cluster with a kubeconfig.

use drover_api::group::{AGENT_NAMESPACE, FLEET_AGENT, FLEET_BOOTSTRAP_SECRET};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use serde_json::Value;

use super::target::{FLEET_AGENT_NAMESPACE, Target, TargetError};

/// Name of the ConfigMap of an agent with a tunnel.
const TUNNEL_AGENT: &str = "drover-agent-server";

impl Target {
    /// Checks that no other agent runs in the cluster. An import would replace the objects of Drover's agent, and
    /// two agents would deploy different bundles. `client_id` is the ID of an earlier import, or empty.
    pub(super) async fn check_agent(&self, client_id: &str) -> Result<(), TargetError> {
        if self
            .config_map(AGENT_NAMESPACE, TUNNEL_AGENT)
            .await?
            .is_some()
        {
            return Err(TargetError::AgentExists);
        }
        let config = self.config_map(AGENT_NAMESPACE, FLEET_AGENT).await?;
        if config.is_some_and(|config| !belongs_to(&config, client_id)) {
            return Err(TargetError::OtherAgent);
        }
        let fleet = self.config_map(FLEET_AGENT_NAMESPACE, FLEET_AGENT).await?;
        if fleet.is_some() {
            return Err(TargetError::FleetAgent);
        }
        Ok(())
    }

    async fn config_map(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<ConfigMap>, TargetError> {
        let maps = Api::<ConfigMap>::namespaced(self.client.clone(), namespace);
        self.call(&format!("the ConfigMap {name}"), maps.get_opt(name))
            .await
    }

    /// Reports whether the agent has not deleted the Secret with its registration token. The agent deletes the
    /// Secret when the hub accepts its credential.
    pub(super) async fn has_bootstrap(&self) -> Result<bool, TargetError> {
        let secrets = Api::<Secret>::namespaced(self.client.clone(), AGENT_NAMESPACE);
        let reading = secrets.get_metadata_opt(FLEET_BOOTSTRAP_SECRET);
        let object = format!("the Secret {FLEET_BOOTSTRAP_SECRET}");
        Ok(self.call(&object, reading).await?.is_some())
    }
}

/// Reports whether the configuration of an agent has a client ID.
fn belongs_to(config: &ConfigMap, client_id: &str) -> bool {
    let text = config.data.as_ref().and_then(|data| data.get("config"));
    let config: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
    let found = config
        .as_ref()
        .and_then(|config| config["clientID"].as_str());
    found.is_some_and(|found| !found.is_empty() && found == client_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_belongs_to_the_import_only_with_the_same_client_id() {
        let config = |text: &str| ConfigMap {
            data: Some([("config".to_owned(), text.to_owned())].into()),
            ..ConfigMap::default()
        };
        assert!(belongs_to(&config(r#"{"clientID":"a"}"#), "a"));
        for (text, client_id) in [
            (r#"{"clientID":"a"}"#, "b"),
            (r#"{"clientID":"a"}"#, ""),
            (r#"{"clientID":""}"#, ""),
            ("{}", "a"),
            ("", "a"),
        ] {
            assert!(!belongs_to(&config(text), client_id), "{text}");
        }
    }
}
