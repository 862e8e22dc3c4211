//! Implements `drover credential`, the exec plug-in of kubectl (client.authentication.k8s.io).
//!
//! kubectl runs the command when it needs a token, and stores the token in memory. The command
//! writes no file.

use drover_api::group::LOCAL_CLUSTER;
use drover_api::kinds::TokenPurpose;
use drover_api::rest::{IssuedToken, TokenCreate, TokenView};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::json;

use crate::args::{CredentialArgs, Format, ServerUrl};
use crate::client::{CallError, Client};
use crate::config::Config;
use crate::environment::{Environment, client_of, selected};
use crate::failure::Failure;
use crate::output::encode;
use crate::terminal::print;

/// The API versions of exec plug-ins, newest first.
const V1: &str = "client.authentication.k8s.io/v1";
const V1BETA1: &str = "client.authentication.k8s.io/v1beta1";
/// Maximum time between kubectl's request for a new token and the expiry of the current token.
const EARLY: SignedDuration = SignedDuration::from_secs(30);
/// Path prefix of clusters on the server.
const CLUSTERS: &str = "/k8s/clusters/";

/// The fields of `$KUBERNETES_EXEC_INFO` that this command uses.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecInfo {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    spec: ExecSpec,
}

#[derive(Debug, Default, Deserialize)]
struct ExecSpec {
    #[serde(default)]
    cluster: Option<ExecCluster>,
}

#[derive(Debug, Deserialize)]
struct ExecCluster {
    server: String,
}

/// The server and the cluster for the requested token.
#[derive(Debug, PartialEq, Eq)]
struct TokenRequest {
    server: Option<ServerUrl>,
    /// Name of the cluster. `None` for the hub, because tokens for the hub are not limited to a
    /// cluster.
    cluster: Option<String>,
    version: &'static str,
}

/// Prints an `ExecCredential` with a short-lived token for one cluster.
pub(crate) async fn run(args: &CredentialArgs, environment: &Environment) -> Result<(), Failure> {
    let token_request = token_request(args, environment.exec_info.as_deref())?;
    let client = client(args, &token_request, environment)?;
    let request = TokenCreate {
        purpose: TokenPurpose::Credential,
        cluster: token_request.cluster.clone(),
        description: None,
        ttl_seconds: args.ttl.map(|ttl| ttl.0.as_secs()),
    };
    let issued: IssuedToken = client
        .post(&["v1", "tokens"], &request)
        .await
        .map_err(|error| login_advice(error, &client))?;
    check_cluster(args, &issued, &token_request)?;
    let credential = json!({
        "apiVersion": token_request.version,
        "kind": "ExecCredential",
        "status": {
            "token": issued.token.expose(),
            "expirationTimestamp": renewal(&issued.metadata),
        },
    });
    Ok(print(&encode(&credential, Format::Json)?)?)
}

/// Returns the server and the cluster of the requested token. Flags take precedence over
/// `$KUBERNETES_EXEC_INFO`.
fn token_request(args: &CredentialArgs, exec_info: Option<&str>) -> Result<TokenRequest, Failure> {
    let info = match exec_info {
        Some(text) => serde_json::from_str::<ExecInfo>(text).map_err(|error| {
            Failure::Usage(format!(
                "cannot parse $KUBERNETES_EXEC_INFO as ExecCredential: {error}; kubectl runs this command"
            ))
        })?,
        None => ExecInfo::default(),
    };
    let version = match info.api_version.as_deref() {
        None | Some(V1) => V1,
        Some(V1BETA1) => V1BETA1,
        Some(version) => {
            return Err(Failure::Usage(format!(
                "kubectl requests the API version {version:?}, but this version of drover \
                 supports {V1}. Get a new kubeconfig: drover cluster kubeconfig --merge"
            )));
        }
    };
    let (server, cluster) = match info.spec.cluster {
        Some(cluster) => from_address(&cluster.server),
        None => (None, None),
    };
    let cluster = args.cluster.clone().or(cluster);
    if cluster.is_none() && args.server.is_none() {
        return Err(Failure::Usage(
            "no cluster is set: use --cluster, or set provideClusterInfo in the kubeconfig"
                .to_owned(),
        ));
    }
    Ok(TokenRequest {
        server: args.server.clone().or(server),
        cluster: cluster.filter(|name| name != LOCAL_CLUSTER),
        version,
    })
}

/// Splits `https://HOST:PORT/k8s/clusters/NAME` into server and cluster.
fn from_address(address: &str) -> (Option<ServerUrl>, Option<String>) {
    let Some((server, rest)) = address.split_once(CLUSTERS) else {
        return (address.parse().ok(), None);
    };
    let name = rest.split('/').next().filter(|name| !name.is_empty());
    (server.parse().ok(), name.map(str::to_owned))
}

fn client(
    args: &CredentialArgs,
    token_request: &TokenRequest,
    environment: &Environment,
) -> Result<Client, Failure> {
    let config = environment.config_file(args.config.as_deref())?.read()?;
    // Never send a token of one server to another server. $DROVER_CONTEXT is a default, so ignore
    // it if its context belongs to another server. The flag --context is an error then.
    let name = args.context.as_deref();
    let named = name.and_then(|name| config.context(name));
    let context = match &token_request.server {
        Some(server) if !environment.is_typed("context") => named
            .filter(|context| context.serves(server))
            .or_else(|| config.for_server(server))
            .ok_or_else(|| not_logged_in(&config, server))?,
        _ => selected(&config, name)?,
    };
    if let Some(server) = token_request
        .server
        .as_ref()
        .filter(|server| !context.serves(server))
    {
        return Err(Failure::Usage(format!(
            "the context {context:?} is for the server {context_server}, not for {server}; run: \
             {login_command}",
            context = context.name,
            context_server = context.server,
            login_command = server.login_command()
        )));
    }
    client_of(context, args.request_timeout.0)
}

/// Returns the error for a server without a stored login. If logins for other servers are stored,
/// the error lists their addresses.
fn not_logged_in(config: &Config, server: &ServerUrl) -> Failure {
    let others: Vec<String> = config
        .contexts
        .iter()
        .map(|c| c.server.to_string())
        .collect();
    let other_servers = if others.is_empty() {
        String::new()
    } else {
        format!(
            ". If {server} is another address of a server with a stored login ({}), run instead: \
             drover --context NAME cluster kubeconfig --merge",
            others.join(", ")
        )
    };
    Failure::NotLoggedIn(format!(
        "not logged in to {server}; run: {login_command}{other_servers}",
        login_command = server.login_command()
    ))
}

/// Adds the login command to the error for an expired or revoked login. kubectl shows the error to
/// the user.
fn login_advice(error: CallError, client: &Client) -> Failure {
    match error {
        CallError::Refused(refusal) if refusal.code == 401 => Failure::NotLoggedIn(format!(
            "the login to {server} has expired or was revoked; run: {login_command}",
            server = client.server(),
            login_command = client.server().login_command()
        )),
        other => other.into(),
    }
}

/// Checks that the token is valid only for the cluster of the kubeconfig. If a cluster is deleted
/// and imported a second time, the name is equal, but the UID is different.
fn check_cluster(
    args: &CredentialArgs,
    issued: &IssuedToken,
    token_request: &TokenRequest,
) -> Result<(), Failure> {
    let Some(name) = &token_request.cluster else {
        return Ok(());
    };
    let scope = issued.metadata.cluster.as_ref();
    let uid = scope.map(|scope| scope.uid.as_str());
    if uid.is_none() {
        return Err(Failure::Other(
            "cannot use the token: the server did not limit the token to the cluster; compare \
             the versions with `drover version`"
                .to_owned(),
        ));
    }
    match &args.cluster_uid {
        Some(known) if uid != Some(known.as_str()) => Err(Failure::Other(format!(
            "the kubeconfig is outdated: the cluster {name:?} was deleted and imported again. \
             Get a new kubeconfig: drover cluster kubeconfig {name} --merge"
        ))),
        _ => Ok(()),
    }
}

/// Returns the time at which kubectl requests a new token. The time precedes the expiry by 30 s or
/// by a tenth of the lifetime. The shorter duration applies.
fn renewal(token: &TokenView) -> Timestamp {
    let end = token.expires_at;
    let tenth = end.duration_since(token.created_at) / 10;
    end.checked_sub(EARLY.min(tenth)).unwrap_or(end)
}

#[cfg(test)]
mod tests;
