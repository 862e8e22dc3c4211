//! Runs a typical kube-rs controller, which owns objects, has a finalizer, and recovers from a
//! disconnection that outlasts the watch history.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use drover_apiserver::access::Caller;
use drover_apiserver::server::{ApiServer, Options};
use futures::StreamExt as _;
use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller, Error as ControllerError};
use kube::runtime::finalizer::{Error as FinalizerError, Event, finalizer};
use kube::runtime::wait::{Condition, await_condition, conditions};
use kube::runtime::watcher;
use kube::{Api, Client, CustomResource, CustomResourceExt as _, Resource as _, ResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt as _;

const FINALIZER: &str = "example.com/signs";
const LIMIT: Duration = Duration::from_mins(1);

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Shop",
    namespaced,
    status = "ShopStatus"
)]
struct ShopSpec {
    /// A spec field that the test changes.
    sign: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ShopStatus {
    observed_generation: i64,
}

/// A server in this process, with a connection that tests can interrupt.
struct Hub {
    server: ApiServer,
    connected: watch::Sender<bool>,
    _folder: tempfile::TempDir,
    _end: DropGuard,
}

impl Hub {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(folder.path().join("hub.db"));
        let server = ApiServer::open(options).await.unwrap();
        let end = CancellationToken::new();
        let running = (server.clone(), end.clone());
        tokio::spawn(async move { running.0.run(running.1).await });
        Self {
            server,
            connected: watch::Sender::new(true),
            _folder: folder,
            _end: end.drop_guard(),
        }
    }

    /// Returns a client whose requests fail and whose streams end while `connected` is false.
    fn client(&self, connected: &watch::Receiver<bool>) -> Client {
        let (router, connected) = (self.server.router(), connected.clone());
        let service = tower::service_fn(move |mut request: Request<kube::client::Body>| {
            let (router, mut connected) = (router.clone(), connected.clone());
            async move {
                if !*connected.borrow() {
                    return Err("there is no way to the server".into());
                }
                request
                    .extensions_mut()
                    .insert(Caller::privileged("operator"));
                let answer = router.oneshot(request).await?;
                let (head, body) = answer.into_parts();
                let cut = async move { connected.wait_for(|connected| !connected).await.is_ok() };
                let body = body.into_data_stream().take_until(Box::pin(cut));
                Ok::<_, tower::BoxError>(Response::from_parts(head, Body::from_stream(body)))
            }
        });
        Client::new(service, "default")
    }
}

/// The context of the controller. The controller also records here the events that the test checks.
struct Context {
    client: Client,
    /// The names of shops whose finalizer ran.
    taken_down: Mutex<Vec<String>>,
    /// The status codes of rejected watches.
    refusals: Mutex<Vec<u16>>,
}

async fn reconcile(
    shop: Arc<Shop>,
    context: Arc<Context>,
) -> Result<Action, FinalizerError<kube::Error>> {
    let shops: Api<Shop> = Api::default_namespaced(context.client.clone());
    finalizer(&shops, FINALIZER, shop, async |event| match event {
        Event::Apply(shop) => create_sign(&shop, &context.client).await,
        Event::Cleanup(shop) => {
            context.taken_down.lock().unwrap().push(shop.name_any());
            Ok(Action::await_change())
        }
    })
    .await
}

async fn create_sign(shop: &Shop, client: &Client) -> Result<Action, kube::Error> {
    let signs: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let shops: Api<Shop> = Api::default_namespaced(client.clone());
    let name = shop.name_any();
    let sign = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": [shop.controller_owner_ref(&())]},
        "data": {"sign": shop.spec.sign},
    });
    let apply = PatchParams::apply("shops").force();
    signs.patch(&name, &apply, &Patch::Apply(&sign)).await?;
    let status = json!({
        "apiVersion": "example.com/v1", "kind": "Shop",
        "status": {"observedGeneration": shop.meta().generation},
    });
    shops
        .patch_status(&name, &apply, &Patch::Apply(&status))
        .await?;
    Ok(Action::await_change())
}

fn run(client: Client) -> Arc<Context> {
    let context = Arc::new(Context {
        client: client.clone(),
        taken_down: Mutex::default(),
        refusals: Mutex::default(),
    });
    let shops: Api<Shop> = Api::default_namespaced(client.clone());
    let signs: Api<ConfigMap> = Api::default_namespaced(client);
    let controller = Controller::new(shops, watcher::Config::default())
        .owns(signs, watcher::Config::default())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_millis(100)),
            Arc::clone(&context),
        );
    let met = Arc::clone(&context);
    tokio::spawn(controller.for_each(move |outcome| {
        if let Err(ControllerError::QueueError(watcher::Error::WatchError(status))) = outcome {
            met.refusals.lock().unwrap().push(status.code);
        }
        std::future::ready(())
    }));
    context
}

fn shop(name: &str, sign: &str) -> Shop {
    let spec = ShopSpec { sign: sign.into() };
    Shop::new(name, spec)
}

fn reconciled(generation: i64) -> impl Condition<Shop> {
    move |shop: Option<&Shop>| {
        let status = shop.and_then(|shop| shop.status.as_ref());
        status.is_some_and(|status| status.observed_generation == generation)
    }
}

/// Waits until the object meets the condition.
async fn until<K>(api: &Api<K>, name: &str, condition: impl Condition<K>) -> Option<K>
where
    K: Clone + std::fmt::Debug + Send + serde::de::DeserializeOwned + kube::Resource + 'static,
{
    let waiting = await_condition(api.clone(), name, condition);
    let seen = tokio::time::timeout(LIMIT, waiting).await;
    seen.unwrap_or_else(|_| panic!("{name} did not meet the condition before the timeout"))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kube_rs_controller_recovers_after_compacted_history() {
    let hub = Hub::new().await;
    let always = watch::Sender::new(true);
    let client = hub.client(&always.subscribe());
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let apply = PatchParams::apply("tests");
    definitions
        .patch("shops.example.com", &apply, &Patch::Apply(Shop::crd()))
        .await
        .unwrap();
    let established = conditions::is_crd_established();
    until(&definitions, "shops.example.com", established).await;
    let context = run(hub.client(&hub.connected.subscribe()));
    let shops: Api<Shop> = Api::default_namespaced(client.clone());
    let signs: Api<ConfigMap> = Api::default_namespaced(client);
    let sign = async |name: &str| signs.get(name).await.unwrap().data.unwrap()["sign"].clone();
    let post = PostParams::default();

    shops.create(&post, &shop("bakery", "Bread")).await.unwrap();
    let bakery = until(&shops, "bakery", reconciled(1)).await.unwrap();
    assert_eq!(bakery.finalizers(), [FINALIZER]);
    assert_eq!(sign("bakery").await, "Bread");
    let change = Patch::Merge(json!({"spec": {"sign": "Cake"}}));
    shops
        .patch("bakery", &PatchParams::default(), &change)
        .await
        .unwrap();
    until(&shops, "bakery", reconciled(2)).await;
    assert_eq!(sign("bakery").await, "Cake");

    // During the disconnection a shop is created and another is deleted, and the history is
    // compacted.
    hub.connected.send_replace(false);
    shops
        .create(&post, &shop("florist", "Roses"))
        .await
        .unwrap();
    let foreground = DeleteParams::background();
    let closing = shops.delete("bakery", &foreground).await.unwrap();
    assert!(closing.left().unwrap().meta().deletion_timestamp.is_some());
    let store = hub.server.store();
    store.compact(store.revision()).await.unwrap();
    assert!(context.taken_down.lock().unwrap().is_empty());
    hub.connected.send_replace(true);

    until(&shops, "florist", reconciled(1)).await;
    assert_eq!(sign("florist").await, "Roses");
    until(
        &shops,
        "bakery",
        conditions::is_deleted(&bakery.uid().unwrap()),
    )
    .await;
    // kube-rs repeats a cleanup if the removal of the finalizer was in conflict with another write.
    let mut taken_down = context.taken_down.lock().unwrap().clone();
    taken_down.dedup();
    assert_eq!(taken_down, ["bakery"]);
    assert!(
        context.refusals.lock().unwrap().contains(&410),
        "the server rejected no watch with 410"
    );
    let gone = |sign: Option<&ConfigMap>| sign.is_none();
    until(&signs, "bakery", gone).await;
}
