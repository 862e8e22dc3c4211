//! The parts of an import that the server's program provides.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use drover_api::fleet::FleetCluster;
use drover_kubeconfig::Loopback;
use secrecy::SecretString;
use serde_json::Value;

/// The values of the agent's manifest for one cluster.
pub struct AgentValues {
    /// The Fleet Cluster, with the options of the agent's pods.
    pub cluster: Arc<FleetCluster>,
    /// The entries of the Secret with the registration token, without the token.
    pub bootstrap: BTreeMap<String, String>,
    /// The registration token.
    pub token: SecretString,
}

impl fmt::Debug for AgentValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentValues").finish_non_exhaustive()
    }
}

/// Returns the objects of the agent's manifest, or the reason why there are none.
pub type AgentManifest = Arc<dyn Fn(&AgentValues) -> Result<Vec<Value>, String> + Send + Sync>;

/// The import of clusters with a kubeconfig.
#[derive(Clone)]
pub struct ImportOptions {
    /// The manifest of the agent.
    pub manifest: AgentManifest,
    /// Whether API servers can be on this machine.
    pub loopback: Loopback,
}

impl fmt::Debug for ImportOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportOptions")
            .field("loopback", &self.loopback)
            .finish_non_exhaustive()
    }
}
