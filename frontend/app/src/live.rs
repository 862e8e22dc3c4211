//! The clusters, which all screens share, kept up to date by one connection.

pub(crate) mod listing;

use std::sync::Arc;
use std::time::Duration;

use drover_api::rest::ClusterView;
use drover_ui_core::backoff::Backoff;
use drover_ui_core::feed::Objects;
use drover_ui_core::hub::{CLUSTERS, SharedCluster};
use drover_ui_core::source::Source;
use leptos::prelude::*;

use crate::clock::{chance, sleep};
use crate::follow::{Followed, until_cleanup};
use crate::freshness::Freshness;
use crate::gate::Gate;
use listing::every_page;

/// How often those ask who may not watch.
const POLL: Duration = Duration::from_secs(10);

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
            match every_page(gate, "/v1/clusters").await {
                Ok(items) => {
                    self.0.show(items.into_iter().map(Arc::new).collect());
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
