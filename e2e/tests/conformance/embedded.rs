//! Runs the embedded API on the loopback address.

use std::net::SocketAddr;
use std::time::Duration;

use drover_apiserver::access::{Authenticate, AuthenticateError, Authenticated, Caller};
use drover_apiserver::builtin::Kinds;
use drover_apiserver::server::{ApiServer, Options};
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::command::Failure;

/// Issuer of service account tokens. Equals the issuer of a [`drover_e2e::ControlPlane`].
const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// Duration for which clients can read an old version. The test sets the compaction interval of
/// kube-apiserver to the same duration.
const HISTORY: Duration = Duration::from_secs(5);

/// The bearer token of the administrator.
pub(crate) const TOKEN: &str = "conformance";

struct Administrator;

impl Authenticate for Administrator {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Authenticated>, AuthenticateError>> {
        let found = (token == TOKEN).then(|| Authenticated {
            caller: Caller::privileged("admin"),
            audiences: audiences.to_vec(),
        });
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// A running server of the embedded API. Dropping the value stops the server.
pub(crate) struct Embedded {
    pub(crate) address: SocketAddr,
    serving: JoinHandle<()>,
    _end: DropGuard,
    _folder: tempfile::TempDir,
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Embedded {
    /// Opens the embedded API on a new store. Serves the API without TLS.
    pub(crate) async fn start() -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let mut options = Options::new(folder.path().join("hub.db"));
        options.authenticators.push(Box::new(Administrator));
        options.tokens.issuers = vec![ISSUER.to_owned()];
        options.tokens.audiences = vec![ISSUER.to_owned()];
        let authority = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        options.kinds = Kinds::Cluster;
        options.store.history = HISTORY;
        options.lifecycle.root_ca = Some(authority.cert.pem());
        let server = ApiServer::open(options).await?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let end = CancellationToken::new();
        tokio::spawn({
            let (server, end) = (server.clone(), end.clone());
            async move { server.run(end).await }
        });
        let serving = tokio::spawn(async move {
            // The task ends when the handle is dropped. Errors of single connections are ignored.
            let _ = axum::serve(listener, server.router()).await;
        });
        Ok(Self {
            address,
            serving,
            _end: end.drop_guard(),
            _folder: folder,
        })
    }
}
