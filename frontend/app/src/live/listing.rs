//! The lists of the `/v1` API. The page polls the lists while the tab is visible.

use std::sync::Arc;
use std::time::Duration;

use drover_api::rest::List;
use drover_ui_core::backoff::Backoff;
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::url::segment;
use futures::channel::oneshot;
use futures::future::select;
use leptos::prelude::*;
use serde::de::DeserializeOwned;

use crate::clock::chance;
use crate::freshness::Freshness;
use crate::network::rest;
use crate::reflector::{Store, until_cleanup};
use crate::session::Session;

/// The interval between two requests of a list.
const POLL: Duration = Duration::from_secs(10);
/// The maximum number of pages of a list. The limit protects the page from an endless list.
const MAX_PAGES: u32 = 200;

/// An item of a list.
pub(crate) trait Listed:
    DeserializeOwned + Clone + PartialEq + Send + Sync + 'static
{
}
impl<T: DeserializeOwned + Clone + PartialEq + Send + Sync + 'static> Listed for T {}

/// A polled list of the `/v1` API. The polling ends when the page removes the screen with the list.
#[derive(Clone, Debug)]
pub(crate) struct Listing<T: Listed> {
    followed: Store<T>,
    wake: StoredValue<Option<oneshot::Sender<()>>>,
    /// True if this page changed an object of the list after the most recent request.
    changed: StoredValue<bool>,
}

impl<T: Listed> Copy for Listing<T> {}

impl<T: Listed> Listing<T> {
    /// Polls the list at a path until the reactive owner is cleaned up.
    pub(crate) fn follow(path: impl Into<String>) -> Self {
        let (session, path) = (expect_context(), path.into());
        Self::ask(session, async move || every_page(session, &path).await)
    }

    /// Polls an object as a list with one item. The list is empty if the object does not exist.
    pub(crate) fn follow_one(path: String) -> Self {
        let session = expect_context::<Session>();
        Self::ask(session, async move || match session.get(&path).await {
            Ok(thing) => Ok(vec![thing]),
            Err(problem) if problem.kind == ProblemKind::NotFound => Ok(Vec::new()),
            Err(problem) => Err(problem),
        })
    }

    fn ask(session: Session, ask: impl AsyncFn() -> Result<Vec<T>, Problem> + 'static) -> Self {
        let listing = Self {
            followed: Store::new(),
            wake: StoredValue::new(None),
            changed: StoredValue::new(false),
        };
        until_cleanup(async move {
            let rest = async |duration| listing.rest(duration).await;
            ask_again(session, ask, listing.followed, |it| it, rest).await;
        });
        listing
    }

    /// Returns the items. Returns `None` before the first response.
    pub(crate) fn items(self) -> Option<Arc<Vec<T>>> {
        self.followed.items()
    }

    /// Returns the freshness of the list.
    pub(crate) fn freshness(self) -> Freshness {
        self.followed.freshness()
    }

    /// Polls immediately, after a change by this page.
    pub(crate) fn again(self) {
        // The pending response can be older than the change.
        let _ = self.changed.try_set_value(true);
        let wake = self.wake.try_update_value(Option::take).flatten();
        if let Some(wake) = wake {
            // No receiver exists while a response is pending.
            let _ = wake.send(());
        }
    }

    /// Sleeps until the next poll is due or requested.
    async fn rest(self, duration: Duration) {
        let changed = || self.changed.try_update_value(std::mem::take);
        if changed() == Some(true) {
            return;
        }
        let (wake, woken) = oneshot::channel();
        if self.wake.try_set_value(Some(wake)).is_none() {
            select(Box::pin(rest(duration)), woken).await;
            changed();
        }
    }
}

/// Polls a list while the tab is visible.
pub(crate) async fn ask_again<T: Listed, S: Clone + Send + Sync + 'static>(
    session: Session,
    ask: impl AsyncFn() -> Result<Vec<T>, Problem>,
    to: Store<S>,
    shown: fn(T) -> S,
    rest: impl AsyncFn(Duration),
) {
    let mut backoff = Backoff::default();
    let mut before = None;
    loop {
        if document().hidden() && to.was_known() {
            rest(POLL).await;
            continue;
        }
        match ask().await {
            Ok(items) => {
                backoff.reset();
                if before.as_ref() != Some(&items) {
                    to.show(items.iter().cloned().map(shown).collect());
                    before = Some(items);
                }
                to.mark_live();
                rest(POLL).await;
            }
            Err(problem) => {
                to.mark_stale(session, problem);
                rest(backoff.after_failure(chance())).await;
            }
        }
    }
}

/// Reads all pages of a `/v1` list. The path can contain a query.
pub(crate) async fn every_page<T: DeserializeOwned>(
    session: Session,
    list: &str,
) -> Result<Vec<T>, Problem> {
    let (mut all, mut path) = (Vec::new(), list.to_owned());
    for _ in 0..MAX_PAGES {
        let page: List<T> = session.get(&path).await?;
        all.extend(page.items);
        let Some(next) = page.continue_token else {
            return Ok(all);
        };
        let join = if list.contains('?') { '&' } else { '?' };
        path = format!("{list}{join}continue={}", segment(&next));
    }
    Err(Problem::strange(t().problems.endless_list()))
}
