//! Hubs for tests: a real kube-apiserver, or the embedded hub.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use drover_e2e::{CommandError, CommandLine, ControlPlane, Output, SharedControlPlane, Tool};
use drover_hub::connect::{Connection, HubOptions, connect};
use drover_hub::embedded::data_dir::DataDir;
use http::StatusCode;
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Maximum size of a request body of kubectl in these tests, in bytes.
const BODY: usize = 16 << 20;

/// Creates one test per kind of hub from each test function.
macro_rules! on_both_hubs {
    ($($test:ident),* $(,)?) => {
        mod on_kubernetes {
            $(#[tokio::test]
            async fn $test() {
                super::$test($crate::place::TestHub::kubernetes().await).await;
            })*
        }
        mod on_the_embedded_hub {
            $(#[tokio::test]
            async fn $test() {
                super::$test($crate::place::TestHub::embedded()).await;
            })*
        }
    };
}
pub(crate) use on_both_hubs;

/// A hub for one test, without objects of other tests.
pub(crate) enum TestHub {
    Kubernetes(Box<SharedControlPlane>),
    Embedded(Embedded),
}

/// The folder of an embedded hub, and the client of the server that has the hub open.
pub(crate) struct Embedded {
    folder: TempDir,
    open: Arc<Mutex<Option<kube::Client>>>,
}

/// A guard that marks the hub as open. While the guard exists, kubectl connects through the server
/// that has the hub open.
pub(crate) struct OpenMark(Arc<Mutex<Option<kube::Client>>>);

impl Drop for OpenMark {
    fn drop(&mut self) {
        self.0.lock().take();
    }
}

impl TestHub {
    /// Creates the hub that `DROVER_TEST_HUB` selects: an external hub for `kubernetes`, otherwise
    /// an embedded hub.
    pub(crate) async fn chosen() -> Self {
        match std::env::var("DROVER_TEST_HUB").as_deref() {
            Ok("kubernetes") => Self::kubernetes().await,
            _ => Self::embedded(),
        }
    }

    pub(crate) async fn kubernetes() -> Self {
        let hub = SharedControlPlane::lease("cluster").await.unwrap();
        Self::Kubernetes(Box::new(hub))
    }

    pub(crate) fn embedded() -> Self {
        Self::Embedded(Embedded {
            folder: tempfile::tempdir().unwrap(),
            open: Arc::default(),
        })
    }

    /// Returns the hub options of a server.
    pub(crate) fn options(&self) -> HubOptions {
        match self {
            Self::Kubernetes(hub) => HubOptions::Kubeconfig {
                file: hub.kubeconfig_path().to_owned(),
                context: None,
            },
            Self::Embedded(hub) => HubOptions::Embedded(DataDir::new(hub.folder.path())),
        }
    }

    /// Returns the programs of an external hub. Panics for an embedded hub.
    pub(crate) fn control_plane(&mut self) -> &mut ControlPlane {
        match self {
            Self::Kubernetes(hub) => hub,
            Self::Embedded(_) => panic!("the embedded hub has no separate programs"),
        }
    }

    /// Returns a folder for files of the test.
    pub(crate) fn folder(&self) -> &Path {
        match self {
            Self::Kubernetes(hub) => hub.folder(),
            Self::Embedded(hub) => hub.folder.path(),
        }
    }

    /// Marks the embedded hub as open in a server until the guard is dropped.
    pub(crate) fn opened(&self, client: kube::Client) -> Option<OpenMark> {
        let Self::Embedded(hub) = self else {
            return None;
        };
        *hub.open.lock() = Some(client);
        Some(OpenMark(Arc::clone(&hub.open)))
    }

    /// Returns kubectl. For an embedded hub, also returns the HTTP endpoint of kubectl. The caller
    /// must not drop the endpoint while kubectl runs.
    pub(crate) async fn command_line(&self) -> (CommandLine, Option<Counter>) {
        match self {
            Self::Kubernetes(hub) => (hub.command_line(), None),
            Self::Embedded(hub) => {
                let counter = hub.counter().await;
                let program = Tool::Kubectl.locate().await.unwrap();
                let line = CommandLine::new(&program, &counter.kubeconfig, hub.folder.path());
                (line, Some(counter))
            }
        }
    }

    /// Runs kubectl with all permissions on the hub, also while a server has the hub open.
    pub(crate) async fn kubectl<A: AsRef<str>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Output, CommandError> {
        let (line, counter) = self.command_line().await;
        let done = line.run(arguments).await;
        if let Some(counter) = counter {
            counter.close().await;
        }
        done
    }
}

impl Embedded {
    async fn counter(&self) -> Counter {
        let open = self.open.lock().clone();
        let (client, connection) = if let Some(client) = open {
            (client, None)
        } else {
            let place = DataDir::new(self.folder.path());
            let opened = connect(&HubOptions::Embedded(place)).await.unwrap();
            (opened.client(), Some(opened))
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kubeconfig = self.folder.path().join(format!("{}.yaml", address.port()));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: hub\n\
             clusters: [{{name: hub, cluster: {{server: \"http://{address}\"}}}}]\n\
             contexts: [{{name: hub, context: {{cluster: hub}}}}]\n"
        );
        std::fs::write(&kubeconfig, text).unwrap();
        let stop = CancellationToken::new();
        let router = Router::new().fallback(forward).with_state(client);
        let ended = stop.clone().cancelled_owned();
        tokio::spawn(async move {
            let serving = axum::serve(listener, router).with_graceful_shutdown(ended);
            serving.await.unwrap();
        });
        Counter {
            kubeconfig,
            connection,
            _stop: stop.drop_guard(),
        }
    }
}

/// An HTTP endpoint that connects kubectl to an embedded hub.
pub(crate) struct Counter {
    kubeconfig: PathBuf,
    connection: Option<Connection>,
    _stop: DropGuard,
}

impl Counter {
    pub(crate) async fn close(self) {
        if let Some(connection) = self.connection {
            connection.close().await;
        }
    }
}

async fn forward(State(client): State<kube::Client>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    head.extensions.clear();
    let body = to_bytes(body, BODY).await.unwrap();
    let request = http::Request::from_parts(head, KubeBody::from(body.to_vec()));
    match client.send(request).await {
        Ok(answer) => answer.map(Body::new),
        Err(error) => {
            let mut response = Response::new(Body::from(error.to_string()));
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        }
    }
}
