//! Tests of the server's controllers through the API.

mod account_secrets;
mod collection;
mod definitions;
mod namespaces;
mod start;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use drover_apiserver::access::{Admission, Caller, Operation, Review};
use drover_apiserver::builtin::Kinds;
use drover_apiserver::lifecycle::LifecycleOptions;
use drover_apiserver::server::{ApiServer, Options, StartError};
use drover_apiserver::status::ApiError;
use drover_apiserver::store::OpenError;
use futures::future::BoxFuture;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// Reads of an object every 10 ms while a test waits for a change. A slow disk delays 1,200 writes by more
/// than 10 s.
const POLLS: u32 = 6000;

/// Admission that blocks the creation of one object until the test allows the creation.
pub(crate) struct Pause {
    name: &'static str,
    reached: Semaphore,
    end: CancellationToken,
}

impl Pause {
    pub(crate) fn before(name: &'static str) -> Self {
        Self {
            name,
            reached: Semaphore::new(0),
            end: CancellationToken::new(),
        }
    }

    pub(crate) async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    pub(crate) fn end(&self) {
        self.end.cancel();
    }
}

impl Admission for Pause {
    fn admit<'a>(&'a self, review: Review<'a>) -> BoxFuture<'a, Result<(), ApiError>> {
        Box::pin(async move {
            if review.operation == Operation::Create && review.name == self.name {
                self.reached.add_permits(1);
                self.end.cancelled().await;
            }
            Ok(())
        })
    }
}

/// A server with running controllers.
pub(crate) struct World {
    router: Router,
    shutdown: CancellationToken,
    running: Option<JoinHandle<()>>,
    folder: Option<tempfile::TempDir>,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(LifecycleOptions::default()).await
    }

    pub(crate) async fn with(options: LifecycleOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut world = Self::at(folder.path(), options).await;
        world.folder = Some(folder);
        world
    }

    /// Opens a server with controllers on the store in `folder`. Creates the store if it does not
    /// exist.
    pub(crate) async fn at(folder: &Path, options: LifecycleOptions) -> Self {
        let server = open(folder, &options).await;
        Self::run(&server)
    }

    fn run(server: &ApiServer) -> Self {
        let shutdown = CancellationToken::new();
        let router = server.router();
        let (server, ended) = (server.clone(), shutdown.clone());
        let running = tokio::spawn(async move { server.run(ended).await });
        Self {
            router,
            running: Some(running),
            shutdown,
            folder: None,
        }
    }

    /// Creates a server with blocking admission.
    pub(crate) async fn paused(pause: Arc<Pause>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = Options::new(folder.path().join("hub.db"));
        options.kinds = Kinds::Cluster;
        options.admission = pause;
        let server = ApiServer::open(options).await.unwrap();
        let mut world = Self::run(&server);
        world.folder = Some(folder);
        world
    }

    /// Creates a test client for an open server, without running its controllers.
    pub(crate) fn bare(server: &ApiServer) -> Self {
        Self {
            router: server.router(),
            shutdown: CancellationToken::new(),
            running: None,
            folder: None,
        }
    }

    pub(crate) async fn stop(mut self) {
        self.shutdown.cancel();
        let running = self.running.take().expect("the controllers are running");
        tokio::time::timeout(Duration::from_secs(10), running)
            .await
            .expect("the controllers end after the shutdown")
            .unwrap();
    }

    /// Sends a request as a user.
    pub(crate) async fn ask_as(
        &self,
        caller: Caller,
        method: Method,
        path: &str,
        body: &Value,
    ) -> (StatusCode, Value) {
        let mut request = Request::builder().method(method.clone()).uri(path);
        let body = if body.is_null() {
            Body::empty()
        } else {
            let kind = if method == Method::PATCH {
                "application/merge-patch+json"
            } else {
                "application/json"
            };
            request = request.header("content-type", kind);
            Body::from(body.to_string())
        };
        let mut request = request.body(body).unwrap();
        request.extensions_mut().insert(caller);
        let response = self.router.clone().oneshot(request).await.unwrap();
        let code = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> (StatusCode, Value) {
        let root = Caller::privileged("root");
        self.ask_as(root, method, path, body).await
    }

    /// Creates an object, and returns the created object.
    pub(crate) async fn create(&self, path: &str, object: &Value) -> Value {
        let (code, created) = self.ask(Method::POST, path, object).await;
        assert_eq!(code, StatusCode::CREATED, "{created}");
        created
    }

    pub(crate) async fn patch(&self, path: &str, change: &Value) -> Value {
        let (code, object) = self.ask(Method::PATCH, path, change).await;
        assert!(code.is_success(), "{object}");
        object
    }

    pub(crate) async fn delete(&self, path: &str, propagation: &str) {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions",
                             "propagationPolicy": propagation});
        let (code, answer) = self.ask(Method::DELETE, path, &options).await;
        assert!(code.is_success(), "{answer}");
    }

    /// Reads an object; `None` if it does not exist.
    pub(crate) async fn find(&self, path: &str) -> Option<Value> {
        let (code, object) = self.ask(Method::GET, path, &Value::Null).await;
        match code {
            StatusCode::NOT_FOUND => None,
            code => {
                assert_eq!(code, StatusCode::OK, "{object}");
                Some(object)
            }
        }
    }

    /// Waits until an object meets the condition, and returns the object.
    pub(crate) async fn until(&self, path: &str, is: impl Fn(&Value) -> bool) -> Value {
        let mut last = None;
        for _ in 0..POLLS {
            last = self.find(path).await;
            if let Some(object) = last.as_ref().filter(|object| is(object)) {
                return object.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{path} did not meet the condition: {last:?}");
    }

    pub(crate) async fn until_gone(&self, path: &str) {
        for _ in 0..POLLS {
            if self.find(path).await.is_none() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{path} was not deleted: {:?}", self.find(path).await);
    }

    /// Waits long enough for an incorrect controller to make an unwanted change.
    pub(crate) async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Opens a server; waits while a previous server on the same store holds the lock.
async fn open(folder: &Path, options: &LifecycleOptions) -> ApiServer {
    for _ in 0..500 {
        let mut setup = Options::new(folder.join("hub.db"));
        setup.kinds = Kinds::Cluster;
        setup.lifecycle = options.clone();
        match ApiServer::open(setup).await {
            Ok(server) => return server,
            Err(StartError::Store {
                source: OpenError::Locked { .. },
                ..
            }) => tokio::time::sleep(Duration::from_millis(10)).await,
            Err(error) => panic!("cannot open the server: {error:?}"),
        }
    }
    panic!("the lock of the store is not released");
}

impl Drop for World {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// Returns a ConfigMap with these owners.
pub(crate) fn map(name: &str, owners: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
           "metadata": {"name": name, "ownerReferences": owners}})
}

/// Returns an owner reference to a ConfigMap.
pub(crate) fn owner(object: &Value, blocks: bool) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": object["metadata"]["name"],
           "uid": object["metadata"]["uid"], "blockOwnerDeletion": blocks})
}
