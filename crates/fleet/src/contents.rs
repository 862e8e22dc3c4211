//! Creates Contents, and deletes Contents that no bundle deployment names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::{Bundle, Content};
use drover_gitops::ids::{
    ContentError, Manifest, Separated, content_id, content_objects, part_names, separate_files,
    whole_name,
};
use drover_hub::{HubError, call};
use drover_reconcile::{Action, Attempt, Reconciler};
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::task::{JoinError, spawn_blocking};
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
    #[error(
        "the Content {0} exists with other data, or is being deleted; delete it, and the server creates it \
         again"
    )]
    Different(String),
    #[error("cannot compress the files")]
    Compression(#[source] JoinError),
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
        manifest: Arc<Manifest>,
        sha256: &str,
    ) -> Result<(), ContentsError> {
        let name = content_id(sha256);
        self.unused.lock().insert(name.clone(), Instant::now());
        if self.is_complete(&name) {
            return Ok(());
        }
        let sha256 = sha256.to_owned();
        let objects = spawn_blocking(move || content_objects(&sha256, &manifest));
        for object in objects.await.map_err(ContentsError::Compression)?? {
            self.create(object).await?;
        }
        Ok(())
    }

    /// Reports whether a Content and all its parts exist.
    fn is_complete(&self, name: &str) -> bool {
        let get = |name: &str| self.world.contents.get(&Key::new("", name));
        let parts = get(name).and_then(|whole| part_names(&whole).ok());
        parts.is_some_and(|parts| parts.iter().all(|part| get(part).is_some()))
    }

    async fn create(&self, object: Content) -> Result<(), ContentsError> {
        let contents = Api::all(self.client.clone());
        if let Some(created) = create("create a Content", &contents, &object).await? {
            self.world.contents.observe(created);
            return Ok(());
        }
        let name = object.name_any();
        let present = call("read a Content", contents.get_opt(&name)).await?;
        let same = present.filter(|present| {
            // Other programs compress the same files to other data. Only parts have no hash.
            let is_same = present.sha256_sum == object.sha256_sum
                && (!object.sha256_sum.is_empty() || present.content == object.content);
            is_same && present.metadata.deletion_timestamp.is_none()
        });
        let same = same.ok_or(ContentsError::Different(name))?;
        self.world.contents.observe(same);
        Ok(())
    }

    /// Moves the files of a bundle to a Content if the hub would not accept the bundle with its files.
    pub(crate) async fn separate(&self, mut bundle: Bundle) -> Result<Bundle, ContentsError> {
        let separating = spawn_blocking(move || (separate_files(&mut bundle), bundle));
        let (separated, bundle) = separating.await.map_err(ContentsError::Compression)?;
        if let Some(Separated { manifest, sha256 }) = separated {
            self.ensure(Arc::new(manifest), &sha256).await?;
        }
        Ok(bundle)
    }

    /// Deletes Contents that have been unused for a time.
    async fn collect(&self) -> Result<(), HubError> {
        let deployments = self.world.deployments.all();
        let mut used: BTreeSet<String> =
            deployments.iter().flat_map(|it| contents_of(it)).collect();
        let bundles = self.world.bundles.all();
        used.extend(bundles.iter().map(|bundle| bundle.spec.contents_id.clone()));
        let now = Instant::now();
        let mut expired: Vec<Arc<Content>> = {
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
        // A Content without parts is not usable, so it is deleted before its parts.
        expired.sort_by_key(|content| whole_name(content) != content.name_any());
        let (mut failed, mut result) = (BTreeSet::new(), Ok(()));
        for content in expired {
            let whole = whole_name(&content);
            // A Content with an entry was requested again.
            if failed.contains(&whole) || self.unused.lock().contains_key(&whole) {
                continue;
            }
            if let Err(error) = self.delete(&content).await {
                failed.insert(whole);
                result = Err(error);
            }
        }
        result
    }

    async fn delete(&self, content: &Content) -> Result<(), HubError> {
        let (contents, name) = (Api::<Content>::all(self.client.clone()), content.name_any());
        delete("delete an unused Content", &contents, &name).await?;
        self.world.contents.forget(&Key::new("", name));
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
