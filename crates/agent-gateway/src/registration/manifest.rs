//! The manifest that registers a cluster: one YAML stream of typed objects.
//!
//! A second `kubectl apply` of the manifest does not change the registration, because the manifest
//! does not contain the Secret with the agent's key and registration.

mod fleet;
mod node_agents;
mod report_policy;
mod roles;
mod workload;

pub use fleet::{FleetManifest, PodOptions};
pub use node_agents::{NODE_AGENT, worker_tunnels};
pub use roles::{account, role_ref};

use std::collections::BTreeMap;

use drover_access::proof::PublicKey;
use drover_api::agent::NodeClass;
use drover_api::group::{
    AGENT_NAMESPACE, DEPLOYER_ACCOUNT, MANAGED_BY, MANAGED_BY_LABEL, NODE_AGENT_NAMESPACE,
};
use drover_api::ids::ClusterUid;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

/// Name of the agent's Deployment and related objects.
pub const AGENT: &str = "drover-agent";
/// Label of all objects that Drover applies in a managed cluster, with the value [`AGENT`]. Drover
/// uses this label to find the objects to remove, because Helm overwrites
/// `app.kubernetes.io/managed-by`.
pub const NAME_LABEL: &str = "app.kubernetes.io/name";

/// Drover cannot write an object of the manifest as YAML.
#[derive(Debug, Error)]
#[error("cannot serialize the manifest's {kind} as YAML: {problem}")]
pub struct ManifestError {
    kind: &'static str,
    problem: String,
}

/// The values that differ between manifests.
#[derive(Debug)]
pub struct Manifest {
    /// URL at which the cluster reaches the server: `https://host[:port]`.
    pub server_url: String,
    /// The CA certificates for the agent, in PEM. The agent trusts only these CA certificates.
    pub server_ca: String,
    /// UID of the Cluster object. The agent sends the UID to the server.
    pub cluster_uid: ClusterUid,
    /// Name of the Cluster, used in messages only.
    pub cluster_name: String,
    /// The registration token. The token is valid for one registration.
    pub token: SecretString,
    /// Public keys that verify signed plans for this cluster's nodes. The last entry is the current
    /// key.
    pub plan_keys: Vec<PublicKey>,
    /// Image of the agent.
    pub image: String,
    /// `imagePullPolicy` of the agent's pods: `IfNotPresent`, `Always` or `Never`.
    pub image_pull_policy: String,
    /// True for an agent without a tunnel, and no node agents.
    pub gitops_only: bool,
}

impl Manifest {
    /// Returns the YAML stream with the objects in the order in which kubectl must apply them.
    pub fn write(&self) -> Result<SecretString, ManifestError> {
        let mut stream = Stream::default();
        stream.object("Namespace", &namespace(AGENT_NAMESPACE, "restricted"))?;
        // The pods of node agents use the network of their nodes.
        stream.object("Namespace", &namespace(NODE_AGENT_NAMESPACE, "privileged"))?;
        rbac(&mut stream)?;
        stream.object("ConfigMap", &self.binding())?;
        stream.object("ConfigMap", &self.plan_keys())?;
        stream.object("Secret", &self.registration())?;
        stream.object("PodDisruptionBudget", &workload::disruption_budget())?;
        let mut deployment = workload::deployment(&self.image, &self.image_pull_policy);
        if self.gitops_only {
            workload::set_variable(&mut deployment, "DROVER_AGENT_NO_TUNNEL", "true");
        }
        stream.object("Deployment", &deployment)?;
        for class in NodeClass::ALL.into_iter().filter(|_| !self.gitops_only) {
            stream.object("DaemonSet", &node_agents::daemon_set(self, class))?;
        }
        Ok(SecretString::from(stream.yaml()?))
    }

    /// Returns the ConfigMap with the server URL, the CA certificate and the Cluster's UID.
    fn binding(&self) -> ConfigMap {
        config_map(
            "drover-agent-server",
            [
                ("server-url".to_owned(), self.server_url.clone()),
                ("server-ca.crt".to_owned(), self.server_ca.clone()),
                ("cluster-uid".to_owned(), self.cluster_uid.to_string()),
                ("cluster-name".to_owned(), self.cluster_name.clone()),
            ],
        )
    }

    /// Returns the ConfigMap with the public keys for plans. The keys are a list, so that an
    /// administrator can add a new key before removing the old key.
    fn plan_keys(&self) -> ConfigMap {
        let entries = self.plan_keys.iter().enumerate();
        let named = entries.map(|(n, key)| (format!("{:04}.ed25519", n + 1), key.encode()));
        config_map("drover-agent-plan-keys", named)
    }

    fn registration(&self) -> Secret {
        let token = ByteString(self.token.expose_secret().as_bytes().to_vec());
        Secret {
            metadata: meta("drover-agent-registration"),
            type_: Some("management.drover.dev/registration".to_owned()),
            data: Some(BTreeMap::from([("token".to_owned(), token)])),
            ..Default::default()
        }
    }
}

/// Names of the service accounts: the agent's account, one account per lane, and the account that
/// deploys bundles.
const ACCOUNTS: [&str; 5] = [
    AGENT,
    "drover-user",
    "drover-controller",
    "drover-report",
    DEPLOYER_ACCOUNT,
];

/// Writes the service accounts, their roles and the bindings.
///
/// A test generates `charts/drover-agent/templates/rbac.yaml` from these objects.
fn rbac(stream: &mut Stream) -> Result<(), ManifestError> {
    for account in ACCOUNTS {
        stream.object("ServiceAccount", &service_account(meta(account)))?;
    }
    roles::write(stream)?;
    node_agents::write_rbac(stream)
}

/// The objects of a manifest.
#[derive(Default)]
struct Stream(Vec<Value>);

impl Stream {
    fn object<T: Serialize>(
        &mut self,
        kind: &'static str,
        object: &T,
    ) -> Result<(), ManifestError> {
        // JSON keeps Kubernetes' field order and omits empty fields.
        let value = serde_json::to_value(object).map_err(|error| ManifestError {
            kind,
            problem: error.to_string(),
        })?;
        self.0.push(value);
        Ok(())
    }

    /// Returns a YAML stream with one document per object.
    fn yaml(&self) -> Result<String, ManifestError> {
        let mut stream = String::new();
        for value in &self.0 {
            let text = serde_saphyr::to_string(value).map_err(|error| ManifestError {
                kind: "objects",
                problem: error.to_string(),
            })?;
            stream.push_str("---\n");
            stream.push_str(&text);
            if !text.ends_with('\n') {
                stream.push('\n');
            }
        }
        Ok(stream)
    }
}

/// Labels of every object that Drover applies in a managed cluster.
pub fn labels() -> BTreeMap<String, String> {
    BTreeMap::from([
        (NAME_LABEL.to_owned(), AGENT.to_owned()),
        (MANAGED_BY_LABEL.to_owned(), MANAGED_BY.to_owned()),
    ])
}

/// Returns the metadata of an object in the agent's namespace.
fn meta(name: &str) -> ObjectMeta {
    ObjectMeta {
        namespace: Some(AGENT_NAMESPACE.to_owned()),
        ..cluster_meta(name)
    }
}

/// Returns the metadata of a cluster-scoped object.
fn cluster_meta(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(labels()),
        ..Default::default()
    }
}

/// Returns a namespace that enforces a level of Pod Security.
fn namespace(name: &str, level: &str) -> Namespace {
    let mut metadata = cluster_meta(name);
    let enforce = (
        "pod-security.kubernetes.io/enforce".to_owned(),
        level.to_owned(),
    );
    metadata.labels.get_or_insert_default().extend([enforce]);
    Namespace {
        metadata,
        ..Default::default()
    }
}

fn service_account(metadata: ObjectMeta) -> ServiceAccount {
    ServiceAccount {
        metadata,
        // Only the agent's pods use a mounted token. The agent requests the tokens of the lanes'
        // accounts by name.
        automount_service_account_token: Some(false),
        ..Default::default()
    }
}

fn config_map(name: &str, data: impl IntoIterator<Item = (String, String)>) -> ConfigMap {
    ConfigMap {
        metadata: meta(name),
        data: Some(data.into_iter().collect()),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests;
