//! A reflector for the page. Lists objects in pages, watches for changes, and resumes after
//! interruptions.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use drover_ui_core::backoff::Backoff;
use drover_ui_core::feed::{Feed, Form, NextRequest};
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::source::{Source, WATCH_SECONDS};
use futures::future::abortable;
use jiff::SignedDuration;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::clock::{chance, now};
use crate::fetch::Request;
use crate::freshness::Freshness;
use crate::network::rest;
use crate::session::Session;
use crate::stream::LineStream;

/// The watch timeout. The reflector restarts a watch that receives no data within the timeout.
const TIMEOUT: Duration = Duration::from_secs(WATCH_SECONDS + 15);
/// The minimum duration of a watch. The reflector restarts a shorter watch after a backoff.
const MIN_WATCH: SignedDuration = SignedDuration::from_secs(2);
/// The debounce time. The page renders all changes within the debounce time in one update.
const DEBOUNCE: Duration = Duration::from_millis(150);

/// The items of a list, with their freshness.
#[derive(Debug)]
pub(crate) struct Store<T: 'static> {
    items: RwSignal<Option<Arc<Vec<T>>>>,
    freshness: RwSignal<Freshness>,
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Store<T> {}

impl<T: Clone + Send + Sync + 'static> Store<T> {
    /// Creates an empty store.
    pub(crate) fn new() -> Self {
        Self {
            items: RwSignal::new(None),
            freshness: RwSignal::new(Freshness::Connecting),
        }
    }

    /// Reflects a list until the reactive owner is cleaned up.
    pub(crate) fn begin<F: Form<T> + 'static>(source: Source) -> Self {
        let followed = Self::new();
        let session = expect_context::<Session>();
        until_cleanup(async move { followed.follow::<T, F>(session, source, T::clone).await });
        followed
    }

    /// Returns the items, sorted. Returns `None` before the first response.
    pub(crate) fn items(self) -> Option<Arc<Vec<T>>> {
        self.items.get()
    }

    /// Reports whether the first response arrived, and subscribes the caller to changes.
    pub(crate) fn is_known(self) -> bool {
        self.items.with(Option::is_some)
    }

    /// Reports whether the first response arrived, without a subscription.
    pub(crate) fn was_known(self) -> bool {
        self.items.with_untracked(Option::is_some)
    }

    /// Returns the freshness of the items.
    pub(crate) fn freshness(self) -> Freshness {
        self.freshness.get()
    }

    /// Replaces all items of the list.
    pub(crate) fn show(self, items: Vec<T>) {
        // The screen can be disposed before the last response.
        let _ = self.items.try_set(Some(Arc::new(items)));
    }

    /// Marks the items of the list as live.
    pub(crate) fn mark_live(self) {
        let was = self
            .freshness
            .try_with_untracked(|it| *it == Freshness::Live);
        if was == Some(false) {
            let _ = self.freshness.try_set(Freshness::Live);
        }
    }

    /// Marks the items of the list as stale.
    pub(crate) fn mark_stale(self, session: Session, problem: Problem) {
        session.handle(&problem);
        let _ = self.freshness.try_update(|it| {
            let since = match it {
                Freshness::Stale { since, .. } => *since,
                _ => now(),
            };
            *it = Freshness::Stale { since, problem };
        });
    }

    /// Lists and watches a resource until the task is aborted.
    pub(crate) async fn follow<I: 'static, F: Form<I> + 'static>(
        self,
        session: Session,
        source: Source,
        shown: fn(&I) -> T,
    ) {
        let following = Rc::new(Reflector {
            feed: RefCell::new(Feed::<I, F>::default()),
            shown,
            to: self,
            soon: Cell::new(false),
        });
        let mut backoff = Backoff::default();
        loop {
            match following.go_on(&source, &mut backoff).await {
                Ok(()) => {}
                // The next request lists all items, so no data is lost.
                Err(problem) if problem.kind == ProblemKind::Expired => {
                    following.feed.borrow_mut().refused(&problem);
                    rest(backoff.after_failure(chance())).await;
                }
                Err(problem) => {
                    self.mark_stale(session, problem);
                    rest(backoff.after_failure(chance())).await;
                }
            }
        }
    }
}

/// Runs a task until the reactive owner is cleaned up.
pub(crate) fn until_cleanup(task: impl Future<Output = ()> + 'static) {
    let (task, handle) = abortable(task);
    spawn_local(async move {
        // The task always ends by abort.
        let _ = task.await;
    });
    on_cleanup(move || handle.abort());
}

/// A feed, and the store that contains the items of the feed.
struct Reflector<I, F, T: 'static> {
    feed: RefCell<Feed<I, F>>,
    shown: fn(&I) -> T,
    to: Store<T>,
    /// True if a debounced update is scheduled.
    soon: Cell<bool>,
}

impl<I: 'static, F: Form<I> + 'static, T: Clone + Send + Sync + 'static> Reflector<I, F, T> {
    /// Sends the next request and processes its response.
    async fn go_on(self: &Rc<Self>, source: &Source, backoff: &mut Backoff) -> Result<(), Problem> {
        let ask = self.feed.borrow().ask();
        let request = Request::get(source.url(&ask)).accepting(source.accept());
        if matches!(ask, NextRequest::List | NextRequest::More(_)) {
            let body = request.bytes().await?;
            self.taking(|feed| feed.replace(&body))?;
            self.show();
            return Ok(());
        }
        let begun = now();
        let mut stream = LineStream::open(request, TIMEOUT).await?;
        self.to.mark_live();
        while let Some(lines) = stream.next().await? {
            let mut changed = false;
            for line in lines {
                changed |= self.taking(|feed| feed.take(&line))?;
            }
            backoff.reset();
            if changed {
                self.show_soon();
            }
        }
        if now().duration_since(begun) < MIN_WATCH {
            // A proxy that ends responses early would cause many requests, so the reflector waits.
            rest(backoff.after_failure(chance())).await;
        } else {
            backoff.reset();
        }
        Ok(())
    }

    fn taking<R>(&self, take: impl FnOnce(&mut Feed<I, F>) -> R) -> R {
        let mut feed = self.feed.borrow_mut();
        feed.set_time(now());
        take(&mut feed)
    }

    fn show(&self) {
        let feed = self.feed.borrow();
        self.to.show(feed.items().map(self.shown).collect());
        if matches!(feed.ask(), NextRequest::Watch(_)) {
            self.to.mark_live();
        }
    }

    fn show_soon(self: &Rc<Self>) {
        if self.soon.replace(true) {
            return;
        }
        let this = Rc::clone(self);
        set_timeout(
            move || {
                this.soon.set(false);
                this.show();
            },
            DEBOUNCE,
        );
    }
}
