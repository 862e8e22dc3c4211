//! Reads the repositories of GitRepos, and writes their bundles.

mod bundles;
mod charts;
mod fetch;
mod helm;
mod polls;
mod source;
mod state;
mod status;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::go_duration;
use drover_api::fleet::labels::REPO_NAME;
use drover_api::fleet::{Bundle, GitRepo};
use drover_charts::{Charts, Downloads};
use drover_git::{Fetcher, schedule};
use drover_hub::HubError;
use drover_reconcile::{Action, Attempt, Reconciler, Trigger};
use kube::{Api, Client, ResourceExt as _};

use self::charts::RepoCharts;
use self::fetch::FetchError;
use self::polls::Polls;
use self::state::{Failure, States};
use crate::contents::Contents;
use crate::limits;
use crate::limits::concurrency::{ConcurrencyLimits, Permit};
use crate::mirror::Key;
use crate::world::World;
use crate::writes::{UNREADABLE, exists};

pub(crate) use self::bundles::{BundleWriteError, BundleWriter};
pub(crate) use self::state::States as RepoStates;
pub(crate) use self::status::RepoStatuses;

/// Interval of polls without `spec.pollingInterval`.
const INTERVAL: Duration = Duration::from_secs(15);
/// Interval of the checks of a GitRepo without polling, for changes of its bundles.
const WITHOUT_POLLING: Duration = Duration::from_hours(1);

/// The controller of repositories. The key is the namespace and name of a GitRepo.
#[derive(Clone)]
pub(crate) struct Repos {
    client: Client,
    world: World,
    fetcher: Arc<Fetcher>,
    charts: Arc<Charts>,
    polls: Polls,
    writer: BundleWriter,
    contents: Contents,
    states: States,
    statuses: Trigger<Key>,
    limits: ConcurrencyLimits,
}

impl Repos {
    pub(crate) fn new(
        writer: BundleWriter,
        contents: Contents,
        fetcher: Arc<Fetcher>,
        charts: Arc<Charts>,
        states: States,
        statuses: Trigger<Key>,
        limits: ConcurrencyLimits,
    ) -> Self {
        Self {
            client: writer.client.clone(),
            world: writer.world.clone(),
            writer,
            polls: Polls::new(Arc::clone(&fetcher)),
            contents,
            fetcher,
            charts,
            states,
            statuses,
            limits,
        }
    }

    /// Returns the keys of all GitRepos, and of deleted GitRepos with bundles.
    pub(crate) fn keys(world: &World) -> Vec<Key> {
        let repos = world.git_repos.all();
        let bundles = world.bundles.all();
        let keys = repos.iter().map(|repo| Key::of(&**repo));
        let owners = bundles.iter().filter_map(|bundle| owner(bundle));
        keys.chain(owners)
            .collect::<BTreeSet<Key>>()
            .into_iter()
            .collect()
    }

    /// Returns the GitRepo with the defaults of its namespace's limits. A refused GitRepo is not polled.
    fn permitted(&self, key: &Key, repo: &GitRepo) -> Option<GitRepo> {
        match limits::of(&self.world, &key.namespace).git_repo(repo) {
            Ok(resolved) => {
                self.states.permitted(key);
                let mut repo = repo.clone();
                repo.spec.service_account = resolved.service_account;
                repo.spec.client_secret_name = resolved.secret_name;
                Some(repo)
            }
            Err(refusal) => {
                self.states.refused(key, refusal.to_string());
                self.statuses.enqueue(key.clone());
                None
            }
        }
    }

    /// Polls a repository, and writes its bundles after a change.
    async fn poll(&self, key: &Key, repo: &GitRepo, permit: Permit) -> Result<(), FetchError> {
        let source = source::source(&self.client, repo).await?;
        let reference = source::reference(repo);
        let max_age = self.states.max_age(key, interval(repo));
        let commit = self.polls.commit(&source, &reference, max_age).await?;
        self.states.polled(key, &commit);
        let own = self.world.git_repos.get(key);
        let has_default =
            own.is_some_and(|own| own.spec.service_account != repo.spec.service_account);
        if !self.states.must_read(key, repo, &commit, has_default) {
            return Ok(());
        }
        self.states.reading(key);
        self.statuses.enqueue(key.clone());
        let mut repo_at = repo.clone();
        repo_at
            .status
            .get_or_insert_default()
            .commit
            .clone_from(&commit);
        let limits = limits::of(&self.world, &key.namespace);
        let source_of_charts = RepoCharts::new(&self.client, &self.fetcher, repo, limits);
        let downloads = Downloads::new(&self.charts, source_of_charts);
        let present = self.writer.of(key);
        let bundles = fetch::bundles(&self.fetcher, &source, &repo_at, downloads, present).await?;
        // The writes wait only for the hub.
        drop(permit);
        let bundles = self.separate(bundles).await?;
        self.writer.write(key, bundles).await?;
        self.states.read(key, repo, &commit);
        Ok(())
    }

    /// Stores the files of large bundles in Contents.
    async fn separate(&self, bundles: Vec<Bundle>) -> Result<Vec<Bundle>, FetchError> {
        let mut separated = Vec::with_capacity(bundles.len());
        for bundle in bundles {
            let name = bundle.name_any();
            let bundle = self.contents.separate(bundle).await;
            separated.push(bundle.map_err(|source| FetchError::Contents {
                bundle: name,
                source,
            })?);
        }
        Ok(separated)
    }

    async fn reconcile_repo(&self, key: &Key, repo: &GitRepo, permit: Permit) -> Action {
        let interval = interval(repo);
        let result = Box::pin(self.poll(key, repo, permit)).await;
        let delay = match result {
            Ok(()) => {
                self.states.succeeded(key);
                if repo.spec.disable_polling {
                    WITHOUT_POLLING
                } else {
                    schedule::delay_after_success(interval, random())
                }
            }
            Err(error) => {
                let failures = self.states.failures(key);
                let retry_after = error.retry_after();
                self.states.wait(key, retry_after);
                let delay =
                    schedule::delay_after_failure(interval, failures, retry_after, random());
                self.states.failed(key, Failure::new(&error, delay));
                delay
            }
        };
        self.statuses.enqueue(key.clone());
        Action::requeue(delay)
    }
}

impl Reconciler for Repos {
    type Key = Key;
    type Error = HubError;

    async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, HubError> {
        let permit = self.limits.start(key);
        match self.world.git_repos.get(key) {
            Some(repo) if repo.metadata.deletion_timestamp.is_none() => {
                // The end of another poll in the namespace enqueues the key.
                let Some(permit) = permit else {
                    return Ok(Action::await_change());
                };
                let Some(repo) = self.permitted(key, &repo) else {
                    return Ok(Action::await_change());
                };
                Ok(Box::pin(self.reconcile_repo(key, &repo, permit)).await)
            }
            Some(_) => Ok(Action::await_change()),
            None => {
                let (bundles, client) = (self.writer.of(key), self.client.clone());
                let repos = Api::<GitRepo>::namespaced(client, &key.namespace);
                if !bundles.is_empty() && exists("find a GitRepo", &repos, &key.name).await? {
                    return Ok(Action::requeue(UNREADABLE));
                }
                self.states.forget(key);
                for bundle in bundles {
                    self.writer.delete(&bundle).await?;
                }
                Ok(Action::await_change())
            }
        }
    }
}

/// Returns the GitRepo of a bundle.
pub(crate) fn owner(bundle: &Bundle) -> Option<Key> {
    let name = bundle
        .labels()
        .get(REPO_NAME)
        .filter(|name| !name.is_empty())?;
    Some(Key::new(bundle.namespace().unwrap_or_default(), name))
}

/// Returns the interval of polls of a GitRepo.
fn interval(repo: &GitRepo) -> Duration {
    polling_interval(repo.spec.polling_interval.as_deref()).unwrap_or(INTERVAL)
}

/// Returns the positive duration in a field `spec.pollingInterval`.
pub(crate) fn polling_interval(text: Option<&str>) -> Option<Duration> {
    let interval = text.and_then(go_duration::parse);
    interval.filter(|interval| !interval.is_zero())
}

/// Returns a random number in `[0, 1)`. Without random numbers, returns 0.5.
pub(crate) fn random() -> f64 {
    drover_entropy::random::<4>().map_or(0.5, |bytes| {
        f64::from(u32::from_le_bytes(bytes)) / 4_294_967_296.0
    })
}
