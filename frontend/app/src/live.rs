//! What the screens show, kept up to date: the one connection that they share.

use std::sync::Arc;
use std::time::Duration;

use drover_api::rest::{ClusterView, List};
use drover_ui_core::backoff::Backoff;
use drover_ui_core::feed::{Ask, Feed};
use drover_ui_core::hub::{CLUSTERS, SharedCluster};
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::url::segment;
use futures::future::abortable;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::clock::{chance, now, sleep};
use crate::fetch::Request;
use crate::freshness::Freshness;
use crate::gate::Gate;
use crate::stream::LineStream;

/// A watch is begun anew this often, so that a connection that is silently gone is noticed.
const WATCH_SECONDS: u64 = 60;
/// Silence after which a watch that should have ended by itself is taken for gone.
const PATIENCE: Duration = Duration::from_secs(WATCH_SECONDS + 15);
/// How often those ask who may not watch.
const POLL: Duration = Duration::from_secs(10);
/// Clusters in one answer to them.
const PAGE: u32 = 500;
/// More pages than anyone has clusters.
const MOST_PAGES: u32 = 200;

/// All clusters that the person may see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clusters {
    items: RwSignal<Option<Arc<Vec<Arc<ClusterView>>>>>,
    freshness: RwSignal<Freshness>,
}

impl Clusters {
    /// Begins to follow them, for all screens, until the owner is gone.
    pub(crate) fn provide() -> Self {
        let clusters = Self {
            items: RwSignal::new(None),
            freshness: RwSignal::new(Freshness::Connecting),
        };
        let gate = expect_context::<Gate>();
        let watches = gate.is_administrator();
        let (task, handle) = abortable(async move {
            if watches {
                clusters.follow(gate).await;
            } else {
                clusters.poll(gate).await;
            }
        });
        spawn_local(async move {
            // Aborted is how it always ends.
            let _ = task.await;
        });
        on_cleanup(move || handle.abort());
        provide_context(clusters);
        clusters
    }

    /// The clusters by name; `None` while the first answer is on its way.
    pub(crate) fn items(self) -> Option<Arc<Vec<Arc<ClusterView>>>> {
        self.items.get()
    }

    /// How new they are.
    pub(crate) fn freshness(self) -> Freshness {
        self.freshness.get()
    }

    fn show(self, items: Vec<Arc<ClusterView>>) {
        self.items.set(Some(Arc::new(items)));
        self.is_live();
    }

    fn is_live(self) {
        if self.freshness.with_untracked(|it| *it != Freshness::Live) {
            self.freshness.set(Freshness::Live);
        }
    }

    fn is_cut(self, gate: Gate, problem: Problem) {
        gate.heed(&problem);
        self.freshness.update(|it| {
            let since = match it {
                Freshness::Stale { since, .. } => *since,
                _ => now(),
            };
            *it = Freshness::Stale { since, problem };
        });
    }

    /// List and watch, again and again.
    async fn follow(self, gate: Gate) {
        let (mut feed, mut backoff) = (Feed::default(), Backoff::default());
        loop {
            match self.go_on(&mut feed, &mut backoff).await {
                Ok(()) => {}
                // Nothing was lost: the next question is for everything.
                Err(problem) if problem.kind == ProblemKind::Expired => feed.refused(&problem),
                Err(problem) => {
                    self.is_cut(gate, problem);
                    sleep(backoff.after_failure(chance())).await;
                }
            }
        }
    }

    /// One question and its answer, to its end.
    async fn go_on(
        self,
        feed: &mut Feed<SharedCluster>,
        backoff: &mut Backoff,
    ) -> Result<(), Problem> {
        let version = match feed.ask() {
            Ask::List => {
                feed.replace(&Request::get(CLUSTERS).bytes().await?)?;
                backoff.reset();
                self.show(shown(feed));
                return Ok(());
            }
            Ask::Watch(version) => version,
        };
        let path = format!(
            "{CLUSTERS}?watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&resourceVersion={}",
            segment(&version)
        );
        let mut stream = LineStream::open(Request::get(path), PATIENCE).await?;
        self.is_live();
        while let Some(lines) = stream.next().await? {
            backoff.reset();
            let mut changed = false;
            for line in lines {
                changed |= feed.take(&line)?;
            }
            if changed {
                self.show(shown(feed));
            }
        }
        Ok(())
    }

    /// Asks for everything every few seconds, while somebody can see it.
    async fn poll(self, gate: Gate) {
        let mut backoff = Backoff::default();
        loop {
            if document().hidden() && self.items.with_untracked(Option::is_some) {
                sleep(POLL).await;
                continue;
            }
            match every_page(gate).await {
                Ok(items) => {
                    self.show(items);
                    backoff.reset();
                    sleep(POLL).await;
                }
                Err(problem) => {
                    self.is_cut(gate, problem);
                    sleep(backoff.after_failure(chance())).await;
                }
            }
        }
    }
}

fn shown(feed: &Feed<SharedCluster>) -> Vec<Arc<ClusterView>> {
    feed.items().map(SharedCluster::view).collect()
}

async fn every_page(gate: Gate) -> Result<Vec<Arc<ClusterView>>, Problem> {
    let (mut all, mut path) = (Vec::new(), format!("/v1/clusters?limit={PAGE}"));
    for _ in 0..MOST_PAGES {
        let page: List<ClusterView> = gate.get(&path).await?;
        all.extend(page.items.into_iter().map(Arc::new));
        let Some(next) = page.continue_token else {
            return Ok(all);
        };
        path = format!("/v1/clusters?limit={PAGE}&continue={}", segment(&next));
    }
    Err(Problem::strange("a list without end"))
}
