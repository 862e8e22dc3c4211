//! The clusters, which all screens share, kept up to date by one connection.

use std::sync::Arc;
use std::time::Duration;

use drover_api::rest::{ClusterView, List};
use drover_ui_core::backoff::Backoff;
use drover_ui_core::feed::Objects;
use drover_ui_core::hub::{CLUSTERS, SharedCluster};
use drover_ui_core::problem::Problem;
use drover_ui_core::source::Source;
use drover_ui_core::url::segment;
use leptos::prelude::*;

use crate::clock::{chance, sleep};
use crate::follow::{Followed, until_cleanup};
use crate::freshness::Freshness;
use crate::gate::Gate;

/// How often those ask who may not watch.
const POLL: Duration = Duration::from_secs(10);
/// Clusters in one answer to them.
const PAGE: u32 = 500;
/// More pages than anyone has clusters.
const MOST_PAGES: u32 = 200;

/// All clusters that the person may see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clusters(Followed<Arc<ClusterView>>);

impl Clusters {
    /// Begins to follow them, for all screens, until the owner is gone.
    pub(crate) fn provide() -> Self {
        let clusters = Self(Followed::new());
        let gate = expect_context::<Gate>();
        let watches = gate.is_administrator();
        until_cleanup(async move {
            if watches {
                let source = Source::objects(CLUSTERS);
                let shown = SharedCluster::view;
                clusters.0.follow::<_, Objects>(gate, source, shown).await;
            } else {
                clusters.poll(gate).await;
            }
        });
        provide_context(clusters);
        clusters
    }

    /// The clusters by name; `None` while the first answer is on its way.
    pub(crate) fn items(self) -> Option<Arc<Vec<Arc<ClusterView>>>> {
        self.0.items()
    }

    /// How new they are.
    pub(crate) fn freshness(self) -> Freshness {
        self.0.freshness()
    }

    /// Asks for everything every few seconds, while somebody can see it.
    async fn poll(self, gate: Gate) {
        let mut backoff = Backoff::default();
        loop {
            if document().hidden() && self.0.was_known() {
                sleep(POLL).await;
                continue;
            }
            match every_page(gate).await {
                Ok(items) => {
                    self.0.show(items);
                    self.0.is_live();
                    backoff.reset();
                    sleep(POLL).await;
                }
                Err(problem) => {
                    self.0.is_cut(gate, problem);
                    sleep(backoff.after_failure(chance())).await;
                }
            }
        }
    }
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
