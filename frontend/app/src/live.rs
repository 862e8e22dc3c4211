//! Live data of the server. This module contains the list of the clusters that the user can see,
//! which all screens share.

pub(crate) mod listing;
pub(crate) mod reflector;
pub(crate) mod rows;
pub(crate) mod saved_views;
pub(crate) mod served_kinds;

use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::feed::Objects;
use drover_ui_core::hub::{CLUSTERS, SharedCluster};
use drover_ui_core::source::Source;
use drover_ui_kit::picker::Choice;
use leptos::prelude::*;

use crate::freshness::Freshness;
use crate::network::rest;
use crate::reflector::{Store, until_cleanup};
use crate::session::Session;
use listing::{ask_again, every_page};

/// The clusters that the user can see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clusters(Store<Arc<ClusterView>>);

impl Clusters {
    /// Starts the live list. The list stops when the reactive owner is cleaned up.
    pub(crate) fn provide() -> Self {
        let clusters = Self(Store::new());
        let session = expect_context::<Session>();
        let watches = session.is_administrator();
        until_cleanup(async move {
            if watches {
                let source = Source::objects(CLUSTERS);
                let shown = SharedCluster::view;
                clusters
                    .0
                    .follow::<_, Objects>(session, source, shown)
                    .await;
            } else {
                let ask = async || every_page(session, "/v1/clusters").await;
                ask_again(session, ask, clusters.0, Arc::new, rest).await;
            }
        });
        provide_context(clusters);
        clusters
    }

    /// Returns the clusters, sorted by name. Returns `None` before the first response.
    pub(crate) fn items(self) -> Option<Arc<Vec<Arc<ClusterView>>>> {
        self.0.items()
    }

    /// Returns the clusters as choices of a picker.
    pub(crate) fn choices(self) -> Signal<Vec<Choice>> {
        Signal::derive(move || {
            let items = self.items().unwrap_or_default();
            let choices = items.iter().map(|cluster| Choice {
                key: cluster.name.clone(),
                words: cluster.name.clone(),
                note: cluster.description.clone().unwrap_or_default(),
            });
            choices.collect()
        })
    }

    /// Returns the freshness of the list.
    pub(crate) fn freshness(self) -> Freshness {
        self.0.freshness()
    }
}
