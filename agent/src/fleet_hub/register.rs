//! The registration of the agent, as Fleet's agent does it: a ClusterRegistration, and the Secret with the
//! credential that the hub creates for it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use drover_api::fleet::ClusterRegistration;
use drover_api::fleet::labels::{NON_MANAGED_AGENT, REGISTRATION_PROOF, REGISTRATION_TOKEN};
use drover_entropy::random;
use drover_gitops::ids::{credential_secret_name, registration_proof};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use super::error::FleetHubError;
use super::hub_call;
use super::objects::{AgentConfig, Bootstrap, Credential, Entries, HubLogin};

/// Time that the agent waits for the credential, as in Fleet.
const GRANT_TIMEOUT: Duration = Duration::from_mins(30);
/// First and longest pause between two reads of the credential.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));
/// Bytes of the random text in a request.
const RANDOM_BYTES: usize = 32;

/// Creates a request on the hub, and waits for the credential. `hub` has the registration token.
pub(super) async fn register(
    hub: &Client,
    bootstrap: &Bootstrap,
    config: AgentConfig,
    requested: impl FnOnce(&str),
) -> Result<Credential, FleetHubError> {
    let (request, client_random) = request(bootstrap, config)?;
    let secret = credential_secret_name(&request.spec.client_id, &client_random);
    let requests = Api::namespaced(hub.clone(), &bootstrap.cluster_namespace);
    let params = PostParams::default();
    let creating = requests.create(&params, &request);
    let created = hub_call("create a ClusterRegistration", creating).await;
    let created: ClusterRegistration = created.map_err(rejected)?;
    let name = created.name_any();
    requested(&name);
    let secrets = Api::<Secret>::namespaced(hub.clone(), &bootstrap.system_namespace);
    let (begin, mut pause) = (Instant::now(), PAUSES.0);
    loop {
        match hub_call("read the credential", secrets.get(&secret)).await {
            Ok(found) => return credential(bootstrap, &found),
            // The registration token has expired. The Secret may be readable with the next token.
            Err(error) if error.code() == Some(401) => return Err(FleetHubError::TokenRejected),
            // Until the hub grants the request, the Secret does not exist or cannot be read.
            Err(error) => tracing::debug!(
                error = &error as &dyn std::error::Error,
                request = name,
                "the hub has not yet granted the registration"
            ),
        }
        if begin.elapsed() + pause > GRANT_TIMEOUT {
            return Err(FleetHubError::NotGranted {
                request: name,
                after: GRANT_TIMEOUT,
            });
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Returns the request, and its random text.
fn request(
    bootstrap: &Bootstrap,
    config: AgentConfig,
) -> Result<(ClusterRegistration, String), FleetHubError> {
    let mut client_random = String::with_capacity(2 * RANDOM_BYTES);
    for byte in random::<RANDOM_BYTES>()? {
        // A write to a String does not fail.
        let _ = write!(client_random, "{byte:02x}");
    }
    let mut request = ClusterRegistration::default();
    request.metadata.generate_name = Some("request-".to_owned());
    if !bootstrap.token_name.is_empty() {
        let label = (REGISTRATION_TOKEN.to_owned(), bootstrap.token_name.clone());
        request.metadata.labels = Some([label].into());
    }
    let token = bootstrap.login.token.expose_secret().as_bytes();
    let proof = registration_proof(token, &config.client_id, &client_random);
    request.metadata.annotations = Some([(REGISTRATION_PROOF.to_owned(), proof)].into());
    request.spec.client_id = config.client_id;
    request.spec.client_random.clone_from(&client_random);
    request.spec.cluster_labels = cluster_labels(config.labels);
    Ok((request, client_random))
}

/// Returns the labels of the cluster. Fleet's controllers deploy Fleet's own agent as a bundle to each cluster
/// without the label [`NON_MANAGED_AGENT`], and two agents would deploy the same bundles.
fn cluster_labels(labels: Option<BTreeMap<String, String>>) -> BTreeMap<String, String> {
    let mut labels = labels.unwrap_or_default();
    labels
        .entry(NON_MANAGED_AGENT.to_owned())
        .or_insert_with(|| "true".to_owned());
    labels
}

fn rejected(error: FleetHubError) -> FleetHubError {
    if error.code() == Some(401) {
        return FleetHubError::TokenRejected;
    }
    error
}

fn credential(bootstrap: &Bootstrap, secret: &Secret) -> Result<Credential, FleetHubError> {
    let entries = Entries::of("Secret with the credential on the hub", secret);
    Ok(Credential {
        login: HubLogin {
            token: SecretString::from(entries.required("token")?),
            ..bootstrap.login.clone()
        },
        deployment_namespace: entries.required("deploymentNamespace")?,
        cluster_namespace: entries.required("clusterNamespace")?,
        cluster_name: entries.required("clusterName")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registration_prevents_the_deployment_of_fleets_own_agent() {
        let own = [("env".to_owned(), "test".to_owned())];
        let labels = cluster_labels(Some(own.into()));
        assert_eq!(labels["env"], "test");
        assert_eq!(labels["fleet.cattle.io/non-managed-agent"], "true");
        assert_eq!(cluster_labels(None).len(), 1);
    }
}
