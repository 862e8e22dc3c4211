//! Requests to a cluster with a kubeconfig that a user stored on the hub.
//!
//! The user chooses the address. The client therefore checks each address at the connection, limits the
//! time and the size of each response, and follows no redirects.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::client_error::ClientError;
use drover_api::group::{AGENT_NAMESPACE, SERVER_FIELD_MANAGER};
use drover_kubeconfig::{
    Access, Authorization, ForbiddenAddress, HttpsUrl, Loopback, check_address,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::uri::{InvalidUri, PathAndQuery};
use http::{HeaderValue, Request, Uri};
use http_body_util::Limited;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::rt::TokioExecutor;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::client::{Body, ConfigExt as _};
use kube::config::AuthInfo;
use kube::core::{GroupVersionKind, TypeMeta};
use kube::{Client, Config, Error};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use thiserror::Error as ThisError;
use tokio::time::Instant;

/// Timeout of a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Time for all requests of an attempt, so that a slow API server does not occupy a worker for minutes.
const ATTEMPT: Duration = Duration::from_mins(1);
/// Maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 1 << 20;
/// Namespace of Fleet's own agent.
pub(super) const FLEET_AGENT_NAMESPACE: &str = "cattle-fleet-system";
/// Reason of a response that has no Status of Kubernetes.
const NO_STATUS: &str = "Failed to parse error data";

/// The reason why the agent cannot be installed in a cluster.
#[derive(Debug, ThisError)]
pub(in crate::registration) enum TargetError {
    #[error(transparent)]
    Address(#[from] ForbiddenAddress),
    #[error("cannot use the certificates or the token of the kubeconfig")]
    Client,
    #[error("cannot reach the API server {server}: {reason}")]
    Unreachable { server: String, reason: String },
    #[error("the API server {server} rejects the request for {object} ({code}): {message}")]
    Rejected {
        server: String,
        object: String,
        code: u16,
        message: String,
    },
    #[error(
        "an agent of Drover with a tunnel runs in the cluster; use its Cluster, or delete the Cluster first"
    )]
    AgentExists,
    #[error(
        "an agent of Drover that belongs to another Cluster or another hub runs in the cluster; delete the \
         namespace {AGENT_NAMESPACE} in the cluster if the agent is not in use"
    )]
    OtherAgent,
    #[error(
        "Fleet's agent runs in the cluster; delete its Cluster in Fleet, and the namespace \
         {FLEET_AGENT_NAMESPACE} in the cluster"
    )]
    FleetAgent,
    #[error("the agent's manifest is not valid: {0}")]
    Manifest(String),
}

impl TargetError {
    /// Returns the reason of the condition.
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::Address(_) => "AddressRefused",
            Self::Client => "KubeConfigInvalid",
            Self::Unreachable { .. } => "Unreachable",
            Self::Rejected { .. } => "Rejected",
            Self::AgentExists | Self::OtherAgent | Self::FleetAgent => "AgentExists",
            Self::Manifest(_) => "ManifestUnavailable",
        }
    }
}

/// A resolver that returns only permitted addresses.
#[derive(Clone)]
struct CheckedResolver {
    inner: GaiResolver,
    loopback: Loopback,
}

impl tower::Service<Name> for CheckedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (mut resolver, loopback) = (self.inner.clone(), self.loopback);
        async move {
            let found: Vec<SocketAddr> = resolver.call(name).await?.collect();
            for address in &found {
                check_address(address.ip(), loopback).map_err(io::Error::other)?;
            }
            Ok(found.into_iter())
        }
        .boxed()
    }
}

/// A cluster with a kubeconfig.
pub(super) struct Target {
    pub(super) client: Client,
    server: String,
    /// End of the time for all requests.
    deadline: Instant,
}

impl Target {
    /// Creates a client without connections.
    pub(super) fn new(access: &Access, loopback: Loopback) -> Result<Self, TargetError> {
        // The connector asks no resolver for an address.
        if let Ok(address) = access.server.host().parse::<IpAddr>() {
            check_address(address, loopback)?;
        }
        let config = config(access).ok_or(TargetError::Client)?;
        let resolver = CheckedResolver {
            inner: GaiResolver::new(),
            loopback,
        };
        let mut connector = HttpConnector::new_with_resolver(resolver);
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector = config.rustls_https_connector_with_connector(connector);
        let connector = connector.map_err(|_| TargetError::Client)?;
        let http = HttpClient::builder(TokioExecutor::new()).build(connector);
        let authorization = authorization(access)?;
        let base = Arc::new(access.server.clone());
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let (http, base) = (http.clone(), Arc::clone(&base));
            let authorization = authorization.clone();
            async move {
                *request.uri_mut() = url(&base, request.uri())?;
                if let Some(authorization) = authorization {
                    request.headers_mut().insert(AUTHORIZATION, authorization);
                }
                let response = http.request(request).await?;
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(
                    response.map(|body| Limited::new(body, MAX_RESPONSE)),
                )
            }
        });
        Ok(Self {
            client: Client::new(service, AGENT_NAMESPACE),
            server: access.server.to_string(),
            deadline: Instant::now() + ATTEMPT,
        })
    }

    /// Applies the objects of a manifest in order.
    pub(super) async fn apply(&self, objects: &[Value]) -> Result<(), TargetError> {
        let params = PatchParams::apply(SERVER_FIELD_MANAGER).force();
        for object in objects {
            let invalid = |text: &str| TargetError::Manifest(text.to_owned());
            let types: TypeMeta = serde_json::from_value(object.clone())
                .map_err(|_| invalid("an object has no kind"))?;
            let kind = GroupVersionKind::try_from(&types);
            let kind = kind.map_err(|_| invalid("an object has no valid apiVersion"))?;
            let name = object["metadata"]["name"].as_str();
            let name = name.ok_or_else(|| invalid("an object has no name"))?;
            let resource = ApiResource::from_gvk(&kind);
            let client = self.client.clone();
            let api = match object["metadata"]["namespace"].as_str() {
                Some(namespace) => {
                    Api::<DynamicObject>::namespaced_with(client, namespace, &resource)
                }
                None => Api::all_with(client, &resource),
            };
            let patch = Patch::Apply(object);
            let applying = api.patch(name, &params, &patch);
            self.call(&format!("{} {name}", kind.kind), applying)
                .await?;
        }
        Ok(())
    }

    /// Sends a request with a timeout.
    pub(super) async fn call<T>(
        &self,
        object: &str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, TargetError> {
        let server = self.server.clone();
        let end = (Instant::now() + TIMEOUT).min(self.deadline);
        let error = match tokio::time::timeout_at(end, request).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error)) => error,
            Err(_) => {
                let reason = if end == self.deadline {
                    format!("the requests take longer than {} s", ATTEMPT.as_secs())
                } else {
                    format!("no response within {} s", TIMEOUT.as_secs())
                };
                return Err(TargetError::Unreachable { server, reason });
            }
        };
        Err(match error {
            // The text of another server than an API server can be internal.
            Error::Api(status) => TargetError::Rejected {
                server,
                object: object.to_owned(),
                code: status.code,
                message: if status.reason == NO_STATUS {
                    "the response is not from a Kubernetes API".to_owned()
                } else {
                    drover_api::client_error::shortened(&status.message)
                },
            },
            error @ (Error::Service(_) | Error::HyperError(_)) => TargetError::Unreachable {
                server,
                reason: drover_reconcile::error_chain(&ClientError::from(error)),
            },
            _ => TargetError::Unreachable {
                server,
                reason: "the response is not from a Kubernetes API".to_owned(),
            },
        })
    }
}

/// Returns the TLS configuration. Without authorities, the client trusts the authorities of the system.
fn config(access: &Access) -> Option<Config> {
    let mut config = Config::new(access.server.to_string().parse().ok()?);
    config.tls_server_name.clone_from(&access.tls_server_name);
    let authorities = access.authorities.iter().map(|der| der.to_vec());
    let authorities: Vec<_> = authorities.collect();
    config.root_cert = (!authorities.is_empty()).then_some(authorities);
    if let Some(certificate) = &access.certificate {
        let key = STANDARD.encode(certificate.key.expose_secret());
        config.auth_info = AuthInfo {
            client_certificate_data: Some(STANDARD.encode(&certificate.certificate)),
            client_key_data: Some(SecretString::from(key)),
            ..AuthInfo::default()
        };
    }
    Some(config)
}

fn authorization(access: &Access) -> Result<Option<HeaderValue>, TargetError> {
    let text = match &access.authorization {
        None => return Ok(None),
        Some(Authorization::Token(token)) => format!("Bearer {}", token.expose_secret()),
        Some(Authorization::Basic { username, password }) => {
            let pair = SecretString::from(format!("{username}:{}", password.expose_secret()));
            format!("Basic {}", STANDARD.encode(pair.expose_secret()))
        }
    };
    let text = SecretString::from(text);
    let value = HeaderValue::from_str(text.expose_secret());
    let mut value = value.map_err(|_| TargetError::Client)?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn url(base: &HttpsUrl, uri: &Uri) -> Result<Uri, InvalidUri> {
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    format!("{base}{path}").parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(server: &str) -> Access {
        Access {
            server: HttpsUrl::parse(server).unwrap(),
            tls_server_name: None,
            authorities: Vec::new(),
            authorities_pem: String::new(),
            namespace: None,
            authorization: Some(Authorization::Token("secret-token".into())),
            certificate: None,
        }
    }

    async fn error(server: &str, loopback: Loopback) -> String {
        provider();
        match Target::new(&access(server), loopback) {
            Ok(target) => target.check_agent("").await.unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    }

    fn provider() {
        // A second call has no effect.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }

    #[tokio::test]
    async fn link_local_api_server_receives_no_connection() {
        for server in ["https://169.254.169.254", "https://[fe80::1]:6443"] {
            let error = error(server, Loopback::Permitted).await;
            assert!(error.contains("link-local"), "{error}");
        }
    }

    #[tokio::test]
    async fn name_of_a_loopback_address_receives_no_connection() {
        for server in ["https://localhost:1", "https://127.0.0.1:1"] {
            let error = error(server, Loopback::Forbidden).await;
            assert!(error.contains("loopback"), "{error}");
        }
    }

    #[tokio::test]
    async fn error_of_an_unreachable_api_server_has_no_token() {
        let error = error("https://127.0.0.1:1", Loopback::Permitted).await;
        assert!(error.contains("cannot reach"), "{error}");
        assert!(!error.contains("secret-token"), "{error}");
    }
}
