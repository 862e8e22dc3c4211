//! The tab with the recorded versions of an object.

mod version;

use std::sync::Arc;
use std::time::Duration;

use drover_api::rest::{HISTORY_KINDS, ObjectHistory, ObjectVersion};
use drover_ui_core::action::Access;
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::manifest::Manifest;
use drover_ui_core::manifest::history::{has_history, history_path, reverted};
use drover_ui_core::messages::t;
use drover_ui_core::object::Object;
use drover_ui_core::problem::Problem;
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use jiff::Timestamp;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::manifest::edit::Edit;
use super::manifest::read_manifest;
use super::permission::missing_right;
use super::words::Refused;
use crate::clock::{sleep, time_of_day};
use crate::session::Session;
use version::{VersionItem, VersionTexts};

/// The pause between two requests for the versions.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows the tab with the versions.
#[component]
pub(super) fn HistoryTab(
    named: KubectlObject,
    object: Signal<Object>,
    gone: RwSignal<Option<Timestamp>>,
) -> impl IntoView {
    if !has_history(named.kind) {
        return view! { <NoHistory/> }.into_any();
    }
    let shown = ShownHistory {
        named: StoredValue::new(named),
        state: RwSignal::new(HistoryState::Loading),
        requests: StoredValue::new(Requests::default()),
        revert: RwSignal::new(None),
        problem: RwSignal::new(None),
        session: expect_context(),
    };
    // The server records the current version with each request.
    Effect::new(move |_| {
        object.with(|object| object.version().to_owned());
        gone.track();
        shown.load();
    });
    view! { <History shown=shown gone=gone/> }.into_any()
}

/// Explains that the kind has no history.
#[component]
fn NoHistory() -> impl IntoView {
    let kinds = HISTORY_KINDS.iter().map(|kind| kind.kind);
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    view! {
        <EmptyState
            reason=EmptyReason::Empty
            title=t().history.no_kind()
            advice=t().history.no_kind_advice(&kinds)
        />
    }
}

/// The result of the request for the versions.
#[derive(Clone, PartialEq)]
enum HistoryState {
    Loading,
    Refused(Problem),
    Loaded(Arc<ObjectHistory>),
}

/// The text of an editor that reverts the object.
#[derive(Clone, PartialEq)]
struct Revert {
    live: String,
    draft: String,
    language: &'static str,
    /// The time of the version.
    seen: Timestamp,
}

/// The state of the requests for the versions.
#[derive(Clone, Copy, Default)]
struct Requests {
    is_pending: bool,
    /// True if the object changed during the pending request.
    is_outdated: bool,
}

/// The versions of the tab, and the open editor.
#[derive(Clone, Copy)]
struct ShownHistory {
    named: StoredValue<KubectlObject>,
    state: RwSignal<HistoryState>,
    requests: StoredValue<Requests>,
    revert: RwSignal<Option<Revert>>,
    problem: RwSignal<Option<String>>,
    session: Session,
}

impl ShownHistory {
    /// Loads the versions. The status of an object can change several times per second, so that
    /// requests follow each other with a pause.
    fn load(self) {
        let mut is_first = false;
        self.requests.update_value(|requests| {
            is_first = !requests.is_pending;
            requests.is_outdated = !is_first;
            requests.is_pending = true;
        });
        if !is_first {
            return;
        }
        let path = self.named.with_value(history_path);
        spawn_local(async move {
            let state = match self.session.get::<ObjectHistory>(&path).await {
                Ok(history) => HistoryState::Loaded(Arc::new(history)),
                Err(problem) => HistoryState::Refused(problem),
            };
            // The tab can be disposed before the response arrives.
            let _ = self.state.try_set(state);
            sleep(PAUSE).await;
            let requests = self.requests.try_update_value(std::mem::take);
            if requests.is_some_and(|requests| requests.is_outdated) {
                self.load();
            }
        });
    }

    /// Opens the editor with a version.
    fn revert(self, version: &ObjectVersion) {
        let (Some(object), seen) = (version.object.clone(), version.seen) else {
            return;
        };
        let path = self.named.with_value(KubectlObject::api_path);
        self.problem.set(None);
        spawn_local(async move {
            let opened = match read_manifest(path).await {
                Ok(live) => revert_of(&live, &object, seen)
                    .ok_or_else(|| t().history.not_reverted().to_owned()),
                Err(problem) => {
                    self.session.handle(&problem);
                    Err(problem.message)
                }
            };
            let _ = match opened {
                Ok(revert) => self.revert.try_set(Some(revert)).is_some(),
                Err(words) => self.problem.try_set(Some(words)).is_some(),
            };
        });
    }
}

fn revert_of(live: &Manifest, object: &serde_json::Value, seen: Timestamp) -> Option<Revert> {
    Some(Revert {
        draft: reverted(live, object)?,
        live: live.text(false),
        language: live.language(),
        seen,
    })
}

/// Shows the versions, or the editor that reverts the object.
#[component]
fn History(shown: ShownHistory, gone: RwSignal<Option<Timestamp>>) -> impl IntoView {
    let close = Callback::new(move |()| {
        shown.revert.set(None);
        shown.load();
    });
    // An equal response must not close the shown changes.
    let state = Memo::new(move |_| shown.state.get());
    let missing = shown
        .named
        .with_value(|it| missing_right(shown.session, it, Access::to_update(it)));
    let content = move || {
        if let Some(revert) = shown.revert.get() {
            let words = t().history.reverting(&time_of_day(revert.seen));
            return view! {
                <Banner mood=BannerKind::Info>{words}</Banner>
                <Edit
                    named=shown.named
                    text=revert.live
                    draft=Some(revert.draft)
                    language=revert.language
                    on_cancel=close
                    on_done=close
                />
            }
            .into_any();
        }
        match state.get() {
            HistoryState::Loading => view! { <Skeleton lines=6/> }.into_any(),
            HistoryState::Refused(problem) => view! {
                <Refused problem=problem of=t().history.the_history()/>
                <div><Button on_press=move |()| shown.load()>{t().buttons.try_again()}</Button></div>
            }
            .into_any(),
            HistoryState::Loaded(history) => {
                view! { <Versions shown=shown history=history missing=missing gone=gone/> }.into_any()
            }
        }
    };
    let problem = move || {
        let problem = shown.problem.get();
        problem.map(|words| view! { <Banner mood=BannerKind::Error>{words}</Banner> })
    };
    view! { <div class="stack log-view">{problem}{content}</div> }
}

#[component]
fn Versions(
    shown: ShownHistory,
    history: Arc<ObjectHistory>,
    missing: RwSignal<Option<String>>,
    gone: RwSignal<Option<Timestamp>>,
) -> impl IntoView {
    let versions = &history.versions;
    let items = versions.iter().enumerate().map(|(index, version)| {
        let previous = versions.get(index + 1);
        let texts = VersionTexts::new(version, previous);
        // The newest version of an object that exists is the live object.
        let can_revert = history.exists && index > 0 && version.object.is_some();
        let reverted = version.clone();
        let revert = can_revert.then(|| Callback::new(move |()| shown.revert(&reverted)));
        view! { <VersionItem texts=texts revert=revert missing=missing gone=gone/> }
    });
    let items = items.collect_view();
    let only_one = (versions.len() == 1).then(|| view! { <p>{t().history.only_one()}</p> });
    view! {
        <p class="muted">{t().history.help()}</p>
        {only_one}
        <ol class="versions" aria-label=t().history.versions()>{items}</ol>
    }
}
