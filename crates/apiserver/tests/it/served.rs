//! A server with TLS and running controllers, for external clients.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drover_apiserver::builtin::Kinds;
use drover_apiserver::server::{ApiServer, Options};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

#[path = "../../examples/serve/listener.rs"]
mod listener;

/// A running server with the administrator's kubeconfig.
pub(crate) struct Served {
    folder: tempfile::TempDir,
    end: CancellationToken,
    _serving: tokio::task::JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

impl Served {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = Options::new(folder.path().join("hub.db"));
        options.kinds = Kinds::Cluster;
        let token = secrecy::SecretString::from("secret");
        options
            .authenticators
            .push(Box::new(listener::AdminToken(token.clone())));
        let (tls, pem) = listener::certificate().unwrap();
        options.lifecycle.root_ca = Some(pem.clone());
        let server = ApiServer::open(options).await.unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let config = folder.path().join("kubeconfig");
        listener::write_kubeconfig(&config, address, Some(&pem), &token).unwrap();
        let end = CancellationToken::new();
        let running = (server.clone(), end.clone());
        tokio::spawn(async move { running.0.run(running.1).await });
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let serving = listener::accept(socket, Some(acceptor), server.router());
        Self {
            folder,
            end,
            _serving: tokio::spawn(serving),
        }
    }

    /// Returns the path of the administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Returns a folder that is deleted with the server.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Returns the path of a program that the end-to-end tests build (`e2e/src/tools`).
pub(crate) fn tool(name: &str) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../e2e/kubernetes");
    let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    for file in ["go.mod", "go.sum", "build-flags"] {
        context.update(&std::fs::read(sources.join(file)).unwrap());
    }
    let mut key = String::new();
    for byte in &context.finish().as_ref()[..8] {
        write!(key, "{byte:02x}").unwrap();
    }
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .filter(|folder| !folder.is_empty())
        .map_or_else(
            || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"),
            PathBuf::from,
        );
    let program = cache.join(format!("drover/kubernetes/{key}/bin/{name}"));
    assert!(
        program.is_file(),
        "cannot find {}: build {name} with `xtask kubernetes build`",
        program.display()
    );
    program
}
