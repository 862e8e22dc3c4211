//! The manifest of an agent that registers at a hub as Fleet's agent does.

use std::collections::BTreeMap;
use std::fmt;

use drover_api::group::{AGENT_NAMESPACE, DEPLOYER_ACCOUNT, FLEET_AGENT, FLEET_BOOTSTRAP_SECRET};
use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{
    Affinity, EnvVar, LocalObjectReference, PodSpec, ResourceRequirements, Secret, Toleration,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::{
    AGENT, ManifestError, Stream, config_map, meta, namespace, roles, service_account, workload,
};

/// Annotation of the agent's pods.
const GENERATION: &str = "management.drover.dev/redeploy-agent-generation";

/// Options of the agent's pods.
#[derive(Clone, Debug, Default)]
pub struct PodOptions {
    /// Additional environment variables.
    pub env: Vec<EnvVar>,
    /// Additional tolerations.
    pub tolerations: Vec<Toleration>,
    /// Affinity instead of the default.
    pub affinity: Option<Affinity>,
    /// Resources instead of the default.
    pub resources: Option<ResourceRequirements>,
    /// Secrets with credentials of the image's registry.
    pub pull_secrets: Vec<LocalObjectReference>,
    /// A changed number restarts the pods.
    pub generation: i64,
}

/// The values of the manifest.
pub struct FleetManifest {
    /// Image of the agent.
    pub image: String,
    /// `imagePullPolicy` of the agent's pods.
    pub image_pull_policy: String,
    /// Options of the agent's pods.
    pub pod: PodOptions,
    /// ID of the cluster on the hub.
    pub client_id: String,
    /// Labels of the cluster in the agent's registration request.
    pub labels: BTreeMap<String, String>,
    /// The entries of the Secret with the registration token, without the token.
    pub bootstrap: BTreeMap<String, String>,
    /// The registration token.
    pub token: SecretString,
}

impl fmt::Debug for FleetManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetManifest")
            .field("image", &self.image)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

impl FleetManifest {
    /// Returns the objects in the order in which they must be applied. A Secret contains the registration
    /// token.
    pub fn objects(&self) -> Result<Vec<Value>, ManifestError> {
        let mut stream = Stream::default();
        stream.object("Namespace", &namespace(AGENT_NAMESPACE, "restricted"))?;
        rbac(&mut stream)?;
        stream.object("ConfigMap", &self.config())?;
        stream.object("Secret", &self.secret())?;
        stream.object("PodDisruptionBudget", &workload::disruption_budget())?;
        stream.object("Deployment", &self.deployment())?;
        Ok(stream.0)
    }

    fn config(&self) -> k8s_openapi::api::core::v1::ConfigMap {
        let config = json!({ "clientID": self.client_id, "labels": self.labels });
        config_map(FLEET_AGENT, [("config".to_owned(), config.to_string())])
    }

    fn secret(&self) -> Secret {
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        let entries = self.bootstrap.iter();
        let mut data: BTreeMap<_, _> = entries
            .map(|(key, text)| (key.clone(), bytes(text)))
            .collect();
        data.insert("token".to_owned(), bytes(self.token.expose_secret()));
        Secret {
            metadata: meta(FLEET_BOOTSTRAP_SECRET),
            data: Some(data),
            ..Secret::default()
        }
    }

    fn deployment(&self) -> Deployment {
        let mut deployment = workload::deployment(&self.image, &self.image_pull_policy);
        workload::set_variable(&mut deployment, "DROVER_AGENT_FLEET_HUB", "true");
        if let Some(spec) = &mut deployment.spec {
            if let Some(pod) = &mut spec.template.spec {
                self.adapt(pod);
            }
            if self.pod.generation != 0 {
                let generation = (GENERATION.to_owned(), self.pod.generation.to_string());
                let metadata = spec.template.metadata.get_or_insert_default();
                metadata.annotations = Some([generation].into());
            }
        }
        deployment
    }

    fn adapt(&self, pod: &mut PodSpec) {
        let options = &self.pod;
        for container in &mut pod.containers {
            let env = container.env.get_or_insert_default();
            env.extend(options.env.iter().cloned());
            if options.resources.is_some() {
                container.resources.clone_from(&options.resources);
            }
        }
        let tolerations = pod.tolerations.get_or_insert_default();
        tolerations.extend(options.tolerations.iter().cloned());
        if options.affinity.is_some() {
            pod.affinity.clone_from(&options.affinity);
        }
        if !options.pull_secrets.is_empty() {
            pod.image_pull_secrets = Some(options.pull_secrets.clone());
        }
    }
}

/// Writes the service accounts and their rights.
///
/// A test generates `charts/drover-agent/templates/rbac-fleet.yaml` from these objects.
pub(super) fn rbac(stream: &mut Stream) -> Result<(), ManifestError> {
    for account in [AGENT, DEPLOYER_ACCOUNT] {
        stream.object("ServiceAccount", &service_account(meta(account)))?;
    }
    roles::write_fleet(stream)
}
