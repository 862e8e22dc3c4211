//! Kubeconfigs of service accounts.

use std::path::PathBuf;

use serde_json::json;

use super::folder::prepare;
use super::{ControlPlane, StartError};

impl ControlPlane {
    /// Writes a kubeconfig with a token of a service account, and returns its path. The token is valid for one
    /// day.
    pub async fn account_kubeconfig(
        &self,
        namespace: &str,
        account: &str,
    ) -> Result<PathBuf, StartError> {
        let create = ["create", "token", account, "--namespace", namespace];
        let create = create.into_iter().chain(["--duration=24h"]);
        let token = self.kubectl(create).await;
        let token = token
            .map_err(|error| StartError::Token(Box::new(error)))?
            .stdout;
        let authority = self.folder().join("accounts-ca.crt");
        std::fs::write(&authority, self.ca()).map_err(prepare(&authority))?;
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "cluster",
            "clusters": [{"name": "cluster", "cluster": {
                "server": self.url(), "certificate-authority": authority,
            }}],
            "users": [{"name": "account", "user": {"token": token.trim()}}],
            "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "account"}}],
        });
        let file = self.folder().join(format!("{account}.kubeconfig"));
        std::fs::write(&file, kubeconfig.to_string()).map_err(prepare(&file))?;
        Ok(file)
    }
}
