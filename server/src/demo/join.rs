//! Registers a simulated cluster with an import manifest and an agent, as users register a real
//! cluster.

use std::time::Duration;

use drover_api::client_error::ClientError;
use drover_api::group::AGENT_NAMESPACE;
use drover_api::kinds::Cluster;
use drover_api::rest::ImportRequest;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use secrecy::SecretString;
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::node_agents::NodeAgents;
use super::place::{ClusterFolder, write_private};
use super::pods::{self, RunningPods};
use drover_agent::args::renderer_beside_program;
use drover_agent_gateway::registration::RegistrationState;
use drover_agent_gateway::registration::import::import;

/// Field manager of the manifest's objects. `kubectl apply` has the same field manager.
const MANAGER: &str = "kubectl";
/// Timeout of one request to the simulated cluster.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Lifetime and renewal interval of the agent's service account token. The kubelet has the same
/// values.
const TOKEN_SECONDS: i64 = 3600;
const TOKEN_RENEWAL_INTERVAL: Duration = Duration::from_mins(40);
/// Delay after a failed token renewal.
pub(super) const TOKEN_RETRY_DELAY: Duration = Duration::from_secs(30);

/// The reason why a simulated cluster is not connected.
#[derive(Debug, Error)]
pub enum JoinError {
    /// The manifest cannot be created.
    #[error("cannot create the manifest: {problem}", problem = .0.message())]
    Import(drover_http_edge::status::Status),
    /// The manifest is invalid.
    #[error("cannot parse the manifest: {cause}", cause = .0)]
    Manifest(String),
    /// The simulated cluster refused a request.
    #[error("the simulated cluster refused to {operation}")]
    Refused {
        /// The failed operation, for the error message.
        operation: String,
        /// The error that the simulated cluster returned.
        #[source]
        source: ClientError,
    },
    /// The simulated cluster did not respond in time.
    #[error("the simulated cluster did not {operation} before the timeout", operation = .0)]
    TimedOut(String),
    /// The simulated cluster's API server returned no token.
    #[error("the API server returned no token for the agent's service account")]
    NoToken,
    /// The agent's token cannot be stored.
    #[error("cannot store the agent's token")]
    Keep(#[from] std::io::Error),
    /// The API address of the simulated cluster is invalid.
    #[error("the address of the simulated cluster is invalid")]
    Address(#[from] http::uri::InvalidUri),
    /// The agent cannot start.
    #[error("the agent failed to start")]
    Agent(#[from] drover_agent_link::program::StartError),
}

async fn with_timeout<T>(
    operation: impl Into<String>,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, JoinError> {
    let operation = operation.into();
    match tokio::time::timeout(CALL_TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(JoinError::Refused {
            operation,
            source: source.into(),
        }),
        Err(_) => Err(JoinError::TimedOut(operation)),
    }
}

/// The agent of a simulated cluster, before the start of the agent.
pub(super) struct Agent {
    client: Client,
    folder: ClusterFolder,
    config: kube::Config,
}

/// Creates the agent of the simulated cluster. Applies the manifest first if the cluster is not
/// registered.
pub(super) async fn join(
    state: &RegistrationState,
    cluster: &Cluster,
    simulated: &drover_simulate::Cluster,
    folder: &ClusterFolder,
) -> Result<Agent, JoinError> {
    let client = simulated.client();
    if !is_bound(state, &client, cluster).await? {
        let request = ImportRequest { ttl_seconds: None };
        let import = import(state, cluster, &request).await;
        let import = import.map_err(JoinError::Import)?;
        apply(&client, import.manifest.expose()).await?;
    }
    renew_token(&client, folder).await?;
    let url = format!("https://{}", simulated.address()).parse()?;
    let mut config = kube::Config::new(url);
    config.root_cert = Some(vec![simulated.certificate().to_vec()]);
    config.auth_info.token_file = Some(folder.token().display().to_string());
    Ok(Agent {
        client,
        folder: folder.clone(),
        config,
    })
}

/// Reports whether the simulated cluster is registered as this Cluster, with this server's URL and
/// certificate authority.
async fn is_bound(
    state: &RegistrationState,
    client: &Client,
    cluster: &Cluster,
) -> Result<bool, JoinError> {
    let registered = cluster
        .status
        .as_ref()
        .is_some_and(|status| status.registration.is_some());
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    let known = with_timeout("read its manifest", maps.get_opt("drover-agent-server")).await?;
    let known = known.and_then(|map| map.data).unwrap_or_default();
    let (url, authority) = state.reached_at();
    let says = |key: &str, expected: &str| known.get(key).is_some_and(|text| text == expected);
    Ok(registered
        && says("cluster-uid", &cluster.uid().unwrap_or_default())
        && says("server-url", &url)
        && says("server-ca.crt", authority.as_deref().unwrap_or_default()))
}

/// Applies a manifest with server-side apply, like `kubectl apply --server-side -f -`.
async fn apply(client: &Client, manifest: &str) -> Result<(), JoinError> {
    let objects: Vec<DynamicObject> = serde_saphyr::from_multiple(manifest)
        .map_err(|error| JoinError::Manifest(error.to_string()))?;
    for object in objects {
        let types = object.types.clone().unwrap_or_default();
        let (group, version) = types
            .api_version
            .split_once('/')
            .unwrap_or(("", &types.api_version));
        let gvk = GroupVersionKind::gvk(group, version, &types.kind);
        let resource = ApiResource::from_gvk(&gvk);
        let api: Api<DynamicObject> = match object.namespace() {
            Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let name = object.name_any();
        let (params, patch) = (PatchParams::apply(MANAGER).force(), Patch::Apply(&object));
        let applied = api.patch(&name, &params, &patch);
        with_timeout(format!("apply {} {name}", types.kind), applied).await?;
    }
    Ok(())
}

/// A token of a service account.
pub(super) struct TokenOf<'a> {
    pub(super) namespace: &'a str,
    pub(super) account: &'a str,
    /// The pod to which the token is bound.
    pub(super) pod: Option<BoundObjectReference>,
    /// The audience. If `None`, the token is for the API server.
    pub(super) audience: Option<&'a str>,
}

/// Requests a token of a service account.
pub(super) async fn issue_token(
    client: &Client,
    of: TokenOf<'_>,
) -> Result<SecretString, JoinError> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), of.namespace);
    let token_request = TokenRequest {
        spec: Some(TokenRequestSpec {
            audiences: of.audience.map(|audience| vec![audience.to_owned()]),
            bound_object_ref: of.pod,
            expiration_seconds: Some(TOKEN_SECONDS),
        }),
        ..TokenRequest::default()
    };
    let params = PostParams::default();
    let issued = accounts.create_token_request(of.account, &params, &token_request);
    let issued = with_timeout("issue a token of an agent", issued).await?;
    let token = issued.status.and_then(|status| status.token);
    token.map(SecretString::from).ok_or(JoinError::NoToken)
}

/// Requests a token of the agent's service account. Writes the token to the agent's token file.
async fn renew_token(client: &Client, folder: &ClusterFolder) -> Result<(), JoinError> {
    let of = TokenOf {
        namespace: AGENT_NAMESPACE,
        account: "drover-agent",
        pod: None,
        audience: None,
    };
    write_private(&folder.token(), &issue_token(client, of).await?)?;
    Ok(())
}

impl Agent {
    /// Runs the agent and the node agents, and renews their tokens, until `stop` is cancelled.
    pub(super) async fn run(self, stop: CancellationToken) {
        let node_agents = NodeAgents {
            client: self.client.clone(),
            config: self.config.clone(),
            folder: self.folder.clone(),
        };
        let renewing =
            stop.run_until_cancelled(keep_fresh(|| renew_token(&self.client, &self.folder)));
        tokio::join!(
            Box::pin(self.run_pods(&stop)),
            Box::pin(node_agents.run(&stop)),
            renewing
        );
    }

    /// Runs the agent while the simulated cluster runs a pod of the agent's Deployment. A user who scales
    /// the Deployment to zero sees how a node agent takes over.
    async fn run_pods(&self, stop: &CancellationToken) {
        let program = |mut pods: watch::Receiver<RunningPods>| async move {
            while pods.wait_for(|pods| !pods.is_empty()).await.is_ok() {
                let ended = stop.child_token();
                let without_pods = async {
                    // Fails only without a sender, and then the agent stops, too.
                    let _ = pods.wait_for(RunningPods::is_empty).await;
                    ended.cancel();
                };
                tokio::join!(self.run_agent(ended.clone()), without_pods);
            }
        };
        pods::follow(&self.client, AGENT_NAMESPACE, stop, program).await;
    }

    async fn run_agent(&self, stop: CancellationToken) {
        let name = "simulated".to_owned();
        match drover_agent::wire::assemble(
            &self.config,
            AGENT_NAMESPACE,
            name,
            Some(renderer_beside_program()),
            stop.clone(),
        ) {
            Ok(replica) => Box::pin(replica.run()).await,
            Err(error) => {
                tracing::error!(%error, "failed to start the agent of a simulated cluster");
                stop.cancelled().await;
            }
        }
    }
}

/// Renews tokens regularly, until the future is dropped.
pub(super) async fn keep_fresh<F: Future<Output = Result<(), JoinError>>>(renew: impl Fn() -> F) {
    let mut pause = TOKEN_RENEWAL_INTERVAL;
    loop {
        tokio::time::sleep(pause).await;
        pause = match renew().await {
            Ok(()) => TOKEN_RENEWAL_INTERVAL,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "failed to renew the token of a simulated agent");
                TOKEN_RETRY_DELAY
            }
        };
    }
}
