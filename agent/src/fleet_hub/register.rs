//! The registration of the agent, as Fleet's agent does it: a ClusterRegistration, and the Secret with the
//! credential that the hub creates for it.

use std::fmt::Write as _;
use std::time::Duration;

use drover_api::fleet::ClusterRegistration;
use drover_api::fleet::labels::REGISTRATION_TOKEN;
use drover_entropy::random;
use drover_gitops::ids::credential_secret_name;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use secrecy::SecretString;
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
    request.spec.client_id = config.client_id;
    request.spec.client_random.clone_from(&client_random);
    request.spec.cluster_labels = config.labels.unwrap_or_default();
    Ok((request, client_random))
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
