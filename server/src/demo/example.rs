//! The example of GitOps: a git repository that the server hosts, and a GitRepo on the hub that
//! deploys the repository to all clusters.
//!
//! The GitRepo reads the repository with the token of a service account that may only read this
//! repository.

use std::time::Duration;

use drover_api::fleet::{API_VERSION, GitRepo};
use drover_api::group::GROUP;
use drover_entropy::backoff::Backoff;
use drover_git_hosting::{CreateError, InitialCommit, Repositories, RepositoryName};
use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::files::{BUNDLES, FILES};
use drover_agent_gateway::registration::RegistrationState;
use drover_hub::{Hub, HubError, call};

/// Name of the repository and of the GitRepo.
const NAME: &str = "example";
/// Namespace of the GitRepo and of the Fleet Clusters of all management Clusters.
const NAMESPACE: &str = "fleet-default";
/// Name of the service account and of its token's Secret.
const READER: &str = "example-reader";
/// Name of the Secret with the credential of the GitRepo.
const CREDENTIAL: &str = "example-credential";
/// Name of the ClusterRole and of its binding.
const ROLE: &str = "drover-demo-example-reader";
/// Field manager of the objects.
const MANAGER: &str = "drover-demo";
/// Number and interval of the reads of a new token's Secret.
const TOKEN_READS: u32 = 40;
const TOKEN_INTERVAL: Duration = Duration::from_millis(250);

/// The reason why the example is incomplete.
#[derive(Debug, Error)]
enum ExampleError {
    #[error(transparent)]
    Repository(#[from] CreateError),
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("the hub created no token for the service account {READER}")]
    NoToken,
}

/// Creates the repository, if it does not exist, and the objects on the hub. Repeats all steps after
/// an error. Skips the example if git is not installed.
pub(super) async fn run(
    repositories: Option<Repositories>,
    hub: Hub,
    registration: RegistrationState,
    stop: CancellationToken,
) {
    let Some(repositories) = repositories else {
        tracing::info!("no example repository, because the hub is external");
        return;
    };
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));
    while !stop.is_cancelled() {
        let creating = create(&repositories, &hub, &registration);
        match stop.run_until_cancelled(creating).await {
            None => return,
            Some(Ok(())) => {
                tracing::info!(repository = NAME, "created the example of GitOps");
                return;
            }
            Some(Err(ExampleError::Repository(CreateError::NoGit))) => {
                tracing::warn!("skipped the example repository, because git is not installed");
                return;
            }
            Some(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    "failed to create the example of GitOps; trying again"
                );
            }
        }
        let pause = tokio::time::sleep(backoff.next_delay());
        stop.run_until_cancelled(pause).await;
    }
}

async fn create(
    repositories: &Repositories,
    hub: &Hub,
    registration: &RegistrationState,
) -> Result<(), ExampleError> {
    create_repository(repositories).await?;
    let (url, authority) = registration.reached_at();
    let token = reader_token(hub).await?;
    let credential = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/basic-auth",
        "metadata": { "name": CREDENTIAL, "namespace": NAMESPACE },
        "data": { "username": k8s_openapi::ByteString(b"git".to_vec()), "password": token },
    });
    let secrets: Api<Secret> = Api::namespaced(hub.client(), NAMESPACE);
    apply(
        "write the credential of the example",
        &secrets,
        CREDENTIAL,
        &credential,
    )
    .await?;
    let repos: Api<GitRepo> = Api::namespaced(hub.client(), NAMESPACE);
    let repo = git_repo(&url, authority.as_deref());
    apply("write the GitRepo of the example", &repos, NAME, &repo).await?;
    Ok(())
}

async fn create_repository(repositories: &Repositories) -> Result<(), CreateError> {
    let name: RepositoryName = NAME.parse().expect("the name of the example is valid");
    let commit = InitialCommit {
        files: FILES,
        author: "Drover demonstration",
        email: "demonstration@drover.invalid",
        message: "Add the example",
    };
    match repositories.create_with(&name, Some(commit)).await {
        Err(CreateError::Exists(_)) => Ok(()),
        created => created,
    }
}

fn git_repo(url: &str, authority: Option<&str>) -> Value {
    let mut spec = json!({
        "repo": format!("{}/git/{NAME}.git", url.trim_end_matches('/')),
        "branch": "main",
        "paths": BUNDLES,
        "targets": [{ "clusterSelector": {} }],
        "clientSecretName": CREDENTIAL,
        "pollingInterval": "15s",
    });
    if let Some(pem) = authority {
        spec["caBundle"] = json!(k8s_openapi::ByteString(pem.as_bytes().to_vec()));
    }
    json!({
        "apiVersion": API_VERSION,
        "kind": "GitRepo",
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "spec": spec,
    })
}

/// Creates the service account that may read the repository. Returns the account's token in base64.
async fn reader_token(hub: &Hub) -> Result<Value, ExampleError> {
    let client = hub.client();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    apply(
        "create the namespace of the example",
        &namespaces,
        NAMESPACE,
        &namespace,
    )
    .await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": { "name": READER, "namespace": NAMESPACE },
    });
    apply(
        "create the account of the example",
        &accounts,
        READER,
        &account,
    )
    .await?;
    let (role, binding) = reader_role();
    let roles: Api<ClusterRole> = Api::all(client.clone());
    apply("create the role of the example", &roles, ROLE, &role).await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    apply(
        "create the binding of the example",
        &bindings,
        ROLE,
        &binding,
    )
    .await?;
    let secrets: Api<Secret> = Api::namespaced(client, NAMESPACE);
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/service-account-token",
        "metadata": {
            "name": READER,
            "namespace": NAMESPACE,
            "annotations": { "kubernetes.io/service-account.name": READER },
        },
    });
    apply("create the token of the example", &secrets, READER, &secret).await?;
    for _ in 0..TOKEN_READS {
        let secret = call("read the token of the example", secrets.get(READER)).await?;
        let token = secret.data.and_then(|mut data| data.remove("token"));
        if let Some(token) = token {
            return Ok(json!(token));
        }
        tokio::time::sleep(TOKEN_INTERVAL).await;
    }
    Err(ExampleError::NoToken)
}

fn reader_role() -> (Value, Value) {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": { "name": ROLE },
        "rules": [{
            "apiGroups": [GROUP],
            "resources": ["gitrepositories"],
            "resourceNames": [NAME],
            "verbs": ["get"],
        }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": { "name": ROLE },
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": ROLE,
        },
        "subjects": [{ "kind": "ServiceAccount", "name": READER, "namespace": NAMESPACE }],
    });
    (role, binding)
}

async fn apply<K>(
    operation: &'static str,
    api: &Api<K>,
    name: &str,
    object: &Value,
) -> Result<(), HubError>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let (params, patch) = (PatchParams::apply(MANAGER).force(), Patch::Apply(object));
    call(operation, api.patch(name, &params, &patch)).await?;
    Ok(())
}
