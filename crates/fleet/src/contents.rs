//! Creates Contents, and deletes Contents that no bundle deployment names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::Content;
use drover_gitops::ids::{ContentError, Manifest};
use drover_hub::HubError;
use drover_reconcile::{Action, Attempt, Reconciler};
use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::Instant;

use crate::mirror::Key;
use crate::world::{World, contents_of};
use crate::writes::{create, delete};

/// Time between two searches for unused Contents.
const INTERVAL: Duration = Duration::from_mins(5);
/// Time after which an unused Content is deleted. A rollout can still need the Content before.
const UNUSED: Duration = Duration::from_mins(15);

/// The reason why a Content does not exist.
#[derive(Debug, Error)]
pub(crate) enum ContentsError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("cannot compress the content of the bundle")]
    Compress(#[from] ContentError),
}

/// The writer of Contents.
#[derive(Clone)]
pub(crate) struct Contents {
    client: Client,
    world: World,
    /// The time at which each unused Content became unused or was last requested.
    unused: Arc<Mutex<BTreeMap<String, Instant>>>,
}

impl Contents {
    pub(crate) fn new(client: Client, world: World) -> Self {
        Self {
            client,
            world,
            unused: Arc::default(),
        }
    }

    /// Creates the Content with this name if it does not exist.
    pub(crate) async fn ensure(&self, content: NewContent<'_>) -> Result<(), ContentsError> {
        let NewContent {
            name,
            manifest,
            sha256,
        } = content;
        self.unused.lock().insert(name.to_owned(), Instant::now());
        if self.world.contents.get(&Key::new("", name)).is_some() {
            return Ok(());
        }
        let object = Content {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            content: Some(ByteString(manifest.compress()?)),
            sha256_sum: sha256.to_owned(),
            status: None,
        };
        let contents = Api::all(self.client.clone());
        create("create a Content", &contents, &object).await?;
        Ok(())
    }

    /// Deletes Contents that have been unused for a time.
    async fn collect(&self) -> Result<(), HubError> {
        let deployments = self.world.deployments.all();
        let used: BTreeSet<String> = deployments.iter().flat_map(|it| contents_of(it)).collect();
        let now = Instant::now();
        let expired: Vec<String> = {
            let mut unused = self.unused.lock();
            unused.retain(|name, _| !used.contains(name));
            let all = self.world.contents.all();
            let names = all.iter().map(|content| content.name_any());
            names
                .filter(|name| !used.contains(name))
                .filter(|name| now - *unused.entry(name.clone()).or_insert(now) >= UNUSED)
                .collect()
        };
        let contents = Api::<Content>::all(self.client.clone());
        for name in expired {
            delete("delete an unused Content", &contents, &name).await?;
            self.unused.lock().remove(&name);
        }
        Ok(())
    }
}

/// The data of a Content.
pub(crate) struct NewContent<'a> {
    /// Name of the object.
    pub(crate) name: &'a str,
    pub(crate) manifest: &'a Manifest,
    /// SHA-256 of the manifest, in hexadecimal digits.
    pub(crate) sha256: &'a str,
}

/// The controller that deletes unused Contents.
pub(crate) struct Collection(pub(crate) Contents);

impl Reconciler for Collection {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        self.0.collect().await?;
        Ok(Action::requeue(INTERVAL))
    }
}
