//! Serves TLS and HTTP for the server's router, and writes the kubeconfig of the administrator.

use std::error::Error;
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_apiserver::access::{Authenticate, AuthenticateError, Authenticated, Caller};
use futures::future::BoxFuture;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use subtle::ConstantTimeEq as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// An error of the example program.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The authenticator of the administrator's token.
pub(crate) struct AdminToken(pub(crate) SecretString);

impl Authenticate for AdminToken {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Authenticated>, AuthenticateError>> {
        let known = self.0.expose_secret().as_bytes();
        let same: bool = known.ct_eq(token.as_bytes()).into();
        let caller = same.then(|| Authenticated {
            caller: Caller::privileged("admin"),
            audiences: audiences.to_vec(),
        });
        Box::pin(std::future::ready(Ok(caller)))
    }
}

/// Accepts connections until the returned future is dropped.
pub(crate) async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, router: Router) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The likely cause is a temporary one: too many open files.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (acceptor, router) = (acceptor.clone(), router.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            match acceptor {
                None => converse(stream, router).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        converse(stream, router).await;
                    }
                }
            }
        });
    }
}

async fn converse<S>(stream: S, router: Router)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = TowerToHyperService::new(router);
    // A broken connection is not an error of the server.
    let _ = Builder::new(TokioExecutor::new())
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .await;
}

/// Returns the TLS configuration with a new self-signed certificate, and the certificate as PEM.
pub(crate) fn certificate() -> Result<(ServerConfig, String), Failure> {
    let names = ["localhost", "127.0.0.1", "kubernetes.default.svc"].map(str::to_owned);
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((config, cert.pem()))
}

/// Writes a kubeconfig that only the owner can read.
pub(crate) fn write_kubeconfig(
    path: &Path,
    address: SocketAddr,
    certificate: Option<&str>,
    token: &SecretString,
) -> Result<(), Failure> {
    let scheme = if certificate.is_some() {
        "https"
    } else {
        "http"
    };
    let mut cluster = json!({"server": format!("{scheme}://{address}")});
    if let Some(pem) = certificate {
        cluster["certificate-authority-data"] = STANDARD.encode(pem).into();
    }
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "hub",
        "clusters": [{"name": "hub", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token.expose_secret()}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "admin"}}],
    });
    let mut file = File::create(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(config.to_string().as_bytes())?;
    Ok(())
}
