//! Creates Contents, and deletes Contents that no bundle deployment names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::{Bundle, Content};
use drover_gitops::ids::{
    ContentError, Manifest, Separated, content_id, content_objects, separate_files, whole_name,
};
use drover_hub::HubError;
use drover_reconcile::{Action, Attempt, Reconciler};
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
    #[error(transparent)]
    Files(#[from] ContentError),
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

    /// Creates the Content of a manifest, and its parts, if it does not exist. `sha256` is the hash of the
    /// manifest.
    pub(crate) async fn ensure(
        &self,
        manifest: &Manifest,
        sha256: &str,
    ) -> Result<(), ContentsError> {
        let name = content_id(sha256);
        self.unused.lock().insert(name.clone(), Instant::now());
        if self.world.contents.get(&Key::new("", name)).is_some() {
            return Ok(());
        }
        let contents = Api::all(self.client.clone());
        for object in content_objects(sha256, manifest)? {
            let created = create("create a Content", &contents, &object).await?;
            self.world.contents.observe(created.unwrap_or(object));
        }
        Ok(())
    }

    /// Moves the files of a bundle to a Content if the hub would not accept the bundle with its files.
    pub(crate) async fn separate(&self, bundle: &mut Bundle) -> Result<(), ContentsError> {
        if let Some(Separated { manifest, sha256 }) = separate_files(bundle) {
            self.ensure(&manifest, &sha256).await?;
        }
        Ok(())
    }

    /// Deletes Contents that have been unused for a time.
    async fn collect(&self) -> Result<(), HubError> {
        let deployments = self.world.deployments.all();
        let mut used: BTreeSet<String> =
            deployments.iter().flat_map(|it| contents_of(it)).collect();
        let bundles = self.world.bundles.all();
        used.extend(bundles.iter().map(|bundle| bundle.spec.contents_id.clone()));
        let now = Instant::now();
        let expired: Vec<Arc<Content>> = {
            let mut unused = self.unused.lock();
            let mut expired = self.world.contents.all();
            // A part is unused as long as its Content.
            expired.retain(|content| {
                let whole = whole_name(content);
                !used.contains(&whole) && now - *unused.entry(whole).or_insert(now) >= UNUSED
            });
            unused.retain(|name, since| !used.contains(name) && now - *since < UNUSED);
            expired
        };
        let contents = Api::<Content>::all(self.client.clone());
        for content in expired {
            // A Content with an entry was requested again.
            if !self.unused.lock().contains_key(&whole_name(&content)) {
                delete("delete an unused Content", &contents, &content.name_any()).await?;
            }
        }
        Ok(())
    }
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
