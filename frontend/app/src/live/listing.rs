//! Lists that the server gives whole: asked for again every few seconds, while somebody looks.

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

/// How often everything is asked for again.
const POLL: Duration = Duration::from_secs(10);
/// More pages than anyone has things.
const MAX_PAGES: u32 = 200;

/// What can be listed.
pub(crate) trait Listed:
    DeserializeOwned + Clone + PartialEq + Send + Sync + 'static
{
}
impl<T: DeserializeOwned + Clone + PartialEq + Send + Sync + 'static> Listed for T {}

/// A list of `/v1`, as long as its screen is there.
#[derive(Clone, Debug)]
pub(crate) struct Listing<T: Listed> {
    followed: Store<T>,
    wake: StoredValue<Option<oneshot::Sender<()>>>,
    /// Whether something was changed since the last question.
    changed: StoredValue<bool>,
}

impl<T: Listed> Copy for Listing<T> {}

impl<T: Listed> Listing<T> {
    /// Begins to follow the list at a path without a query, until the owner is gone.
    pub(crate) fn follow(path: impl Into<String>) -> Self {
        let (session, path) = (expect_context(), path.into());
        Self::ask(session, async move || every_page(session, &path).await)
    }

    /// The same of one thing at its own path: a list of it, or of nothing if there is no such thing.
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
        // An answer that is on its way may be from before the change.
        let _ = self.changed.try_set_value(true);
        let wake = self.wake.try_update_value(Option::take).flatten();
        if let Some(wake) = wake {
            // Nobody waits while an answer is on its way.
            let _ = wake.send(());
        }
    }

    /// Waits, until somebody wants an answer at once.
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

/// Asks for a whole list every few seconds, while somebody can see it.
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
                to.is_live();
                rest(POLL).await;
            }
            Err(problem) => {
                to.is_cut(session, problem);
                rest(backoff.after_failure(chance())).await;
            }
        }
    }
}

/// A whole list of `/v1`, page by page; the path may have a query.
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
