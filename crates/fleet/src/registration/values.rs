//! The values for the installation of Fleet's agent.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

/// The values that an agent needs to register.
pub(super) struct Values<'a> {
    /// Namespace of the registration token and of the registered clusters.
    pub(super) namespace: &'a str,
    pub(super) api_server_url: &'a str,
    /// CA certificates in PEM, or empty.
    pub(super) api_server_ca: &'a str,
    pub(super) token: &'a SecretString,
    /// Namespace of the Secrets with credentials.
    pub(super) system_namespace: &'a str,
    pub(super) token_name: &'a str,
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values")
            .field("token_name", &self.token_name)
            .finish_non_exhaustive()
    }
}

impl Values<'_> {
    /// Returns the values as YAML, sorted by key. Each value is a JSON string, which is also a YAML
    /// string.
    pub(super) fn to_yaml(&self) -> String {
        let values = [
            ("apiServerCA", self.api_server_ca),
            ("apiServerURL", self.api_server_url),
            ("clusterNamespace", self.namespace),
            ("systemRegistrationNamespace", self.system_namespace),
            ("token", self.token.expose_secret()),
            ("tokenName", self.token_name),
        ];
        let lines = values.map(|(key, value)| format!("{key}: {}\n", Value::from(value)));
        lines.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_yaml_with_fleets_keys_and_debug_output_has_no_token() {
        let token = SecretString::from("to:ken\"");
        let values = Values {
            namespace: "fleet-default",
            api_server_url: "https://drover.example/k8s/clusters/local",
            api_server_ca: "-----BEGIN\nabc\n",
            token: &token,
            system_namespace: "cattle-fleet-clusters-system",
            token_name: "edge",
        };
        assert_eq!(
            values.to_yaml(),
            "apiServerCA: \"-----BEGIN\\nabc\\n\"\n\
             apiServerURL: \"https://drover.example/k8s/clusters/local\"\n\
             clusterNamespace: \"fleet-default\"\n\
             systemRegistrationNamespace: \"cattle-fleet-clusters-system\"\n\
             token: \"to:ken\\\"\"\n\
             tokenName: \"edge\"\n"
        );
        assert!(!format!("{values:?}").contains("to:ken"));
    }
}
