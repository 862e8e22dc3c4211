//! Lists that the server gives whole: asked for again every few seconds, while somebody looks.

use std::sync::Arc;
use std::time::Duration;

use drover_api::rest::List;
use drover_ui_core::backoff::Backoff;
use drover_ui_core::problem::Problem;
use drover_ui_core::url::segment;
use futures::channel::oneshot;
use futures::future::select;
use leptos::prelude::*;
use serde::de::DeserializeOwned;

use crate::clock::{chance, sleep};
use crate::follow::{Followed, until_cleanup};
use crate::freshness::Freshness;
use crate::gate::Gate;

/// How often everything is asked for again.
const POLL: Duration = Duration::from_secs(15);
/// More pages than anyone has things.
const MOST_PAGES: u32 = 200;

/// What can be listed.
pub(crate) trait Listed:
    DeserializeOwned + Clone + PartialEq + Send + Sync + 'static
{
}
impl<T: DeserializeOwned + Clone + PartialEq + Send + Sync + 'static> Listed for T {}

/// A list of `/v1`, as long as its screen is there.
#[derive(Clone, Debug)]
pub(crate) struct Listing<T: Listed> {
    path: &'static str,
    gate: Gate,
    followed: Followed<T>,
    wake: StoredValue<Option<oneshot::Sender<()>>>,
}

impl<T: Listed> Copy for Listing<T> {}

impl<T: Listed> Listing<T> {
    /// Begins to follow the list at a path without a query, until the owner is gone.
    pub(crate) fn follow(path: &'static str) -> Self {
        let listing = Self {
            path,
            gate: expect_context(),
            followed: Followed::new(),
            wake: StoredValue::new(None),
        };
        until_cleanup(listing.keep());
        listing
    }

    /// The things; `None` while the first answer is on its way.
    pub(crate) fn items(self) -> Option<Arc<Vec<T>>> {
        self.followed.items()
    }

    /// How new they are.
    pub(crate) fn freshness(self) -> Freshness {
        self.followed.freshness()
    }

    /// Asks again now: something was changed here.
    pub(crate) fn again(self) {
        let wake = self.wake.try_update_value(Option::take).flatten();
        if let Some(wake) = wake {
            // Nobody waits while an answer is on its way; the next question comes by itself.
            let _ = wake.send(());
        }
    }

    async fn keep(self) {
        let mut backoff = Backoff::default();
        let mut before = None;
        loop {
            if document().hidden() && self.followed.was_known() {
                self.rest(POLL).await;
                continue;
            }
            match every_page(self.gate, self.path).await {
                Ok(items) => {
                    backoff.reset();
                    if before.as_ref() != Some(&items) {
                        self.followed.show(items.clone());
                        before = Some(items);
                    }
                    self.followed.is_live();
                    self.rest(POLL).await;
                }
                Err(problem) => {
                    self.followed.is_cut(self.gate, problem);
                    self.rest(backoff.after_failure(chance())).await;
                }
            }
        }
    }

    /// Waits, until somebody wants an answer at once.
    async fn rest(self, duration: Duration) {
        let (wake, woken) = oneshot::channel();
        if self.wake.try_set_value(Some(wake)).is_none() {
            select(Box::pin(sleep(duration)), woken).await;
        }
    }
}

/// A whole list of `/v1`, page by page.
pub(super) async fn every_page<T: DeserializeOwned>(
    gate: Gate,
    list: &str,
) -> Result<Vec<T>, Problem> {
    let (mut all, mut path) = (Vec::new(), list.to_owned());
    for _ in 0..MOST_PAGES {
        let page: List<T> = gate.get(&path).await?;
        all.extend(page.items);
        let Some(next) = page.continue_token else {
            return Ok(all);
        };
        path = format!("{list}?continue={}", segment(&next));
    }
    Err(Problem::strange("a list without end"))
}
