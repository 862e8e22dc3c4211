//! The events of a cluster, grouped by object, newest first.

mod group;

use std::sync::Arc;

use drover_rows::protocol::ViewSpec;
use drover_rows::{Row, Severity};
use drover_ui_core::event::{Event, Group, grouped};
use drover_ui_core::kind::Kind;
use drover_ui_core::kubectl;
use drover_ui_core::list::KnownList;
use drover_ui_core::messages::t;
use drover_ui_core::namespaces::Scope;
use drover_ui_core::quantity::count;
use drover_ui_kit::badge::Tone;
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

use super::filters::Filters;
use super::list::{Cut, ListProgress};
use super::namespaces::{ChooseNamespace, Namespaces};
use super::object_table::{TableState, state};
use super::refused::Refused;
use crate::command::CliCommand;
use crate::freshness::StaleBanner;
use crate::rows::{LiveList, RowConnection};
use crate::screens::address;
use crate::screens::cluster::CurrentCluster;
use group::EventGroup;

/// The number of events that the page shows at the same time.
const STEP: usize = 200;

/// The filters of the list. The URL contains the filters.
#[derive(Clone, Copy, Debug)]
struct View {
    text: RwSignal<String>,
    namespaces: Namespaces,
    warning: RwSignal<Option<bool>>,
}

impl View {
    fn of_url(cluster: &str) -> Self {
        let own = Kind::EVENTS.list_screen(cluster);
        let view = Self {
            text: RwSignal::default(),
            namespaces: Namespaces::of(Kind::EVENTS),
            warning: RwSignal::new(None),
        };
        address::read(&own, move |of| view.read(of));
        address::keep(move || {
            let kind = match view.warning.get() {
                Some(true) => "warning",
                Some(false) => "normal",
                None => "",
            };
            let parts = [
                ("q", view.text.get()),
                ("namespace", view.namespaces.chosen.get()),
                ("type", kind.to_owned()),
            ];
            address::path(&own, &parts)
        });
        view
    }

    fn read(self, of: &dyn Fn(&str) -> String) {
        self.text.set(of("q"));
        self.namespaces.read(of("namespace"));
        self.warning.set(match of("type").as_str() {
            "warning" => Some(true),
            "normal" => Some(false),
            _ => None,
        });
    }

    /// Returns the filter, the order and the window of the events. The newest events are first.
    fn spec(self, first: usize) -> ViewSpec {
        let severity = |warning: bool| {
            if warning {
                Severity::Degraded
            } else {
                Severity::Healthy
            }
        };
        ViewSpec {
            filter: self.text.get(),
            severity: self.warning.get().map(severity),
            sort: "last-seen".to_owned(),
            first,
            count: STEP,
            ..ViewSpec::default()
        }
    }
}

/// Shows the events of a cluster.
#[component]
pub(super) fn Timeline(cluster: String) -> impl IntoView {
    let view = View::of_url(&cluster);
    let scope = view.namespaces.scope();
    let of = cluster.clone();
    let command = Signal::derive(move || {
        let scope = scope.get();
        let namespace = scope.namespace();
        let list = kubectl::list(Kind::EVENTS, &of, namespace.map(|it| &**it), false);
        format!("{list} --sort-by=.lastTimestamp")
    });
    view! {
        <div class="list-bar">
            <Filters
                label=t().kinds.filter_events().to_owned()
                hint=t().kinds.filter_events_hint()
                text=view.text
                namespace=Some(view.namespaces.chosen)
            />
        </div>
        {move || {
            let scope = scope.get();
            if let Scope::Choose(names) = scope {
                return view! { <ChooseNamespace namespaces=view.namespaces names=names/> }.into_any();
            }
            let (cluster, namespace) = (cluster.clone(), scope.namespace().cloned());
            view! { <Events cluster=cluster namespace=namespace view=view/> }.into_any()
        }}
        <footer class="page-foot"><CliCommand line=command/></footer>
    }
}

#[component]
fn Events(cluster: String, namespace: Option<Arc<str>>, view: View) -> impl IntoView {
    let spec = Kind::EVENTS.list_of(
        vec![cluster.clone()],
        namespace.iter().map(ToString::to_string).collect(),
    );
    let first = RwSignal::new(0);
    // Another filter starts at the newest event.
    Effect::new(move |previous: Option<()>| {
        view.text.track();
        view.warning.track();
        if previous.is_some() {
            first.set(0);
        }
    });
    let window = Memo::new(move |_| view.spec(first.get()));
    let live = expect_context::<RowConnection>().subscribe(spec, window.into());
    let known = live.known;
    expect_context::<CurrentCluster>().follows(live.freshness);
    let groups = Memo::new(move |_| {
        let event = |(_, row): (_, &Arc<Row>)| Arc::new(Event::of_row(row));
        Arc::new(grouped(
            known.with(|known| known.window().map(event).collect()),
        ))
    });
    let list_state = Memo::new(move |_| state(live));
    view! {
        <StaleBanner freshness=live.freshness shown=Signal::derive(move || known.with(|known| known.all > 0))/>
        <ListProgress loading=Signal::derive(move || known.with(KnownList::loading))/>
        <Cut known=known/>
        <Tally label=t().kinds.filter_by_type() counts=counts(live) chosen=view.warning/>
        {move || match list_state.get() {
            TableState::Problem(problem) => {
                let namespace = namespace.as_deref().map(str::to_owned);
                view! { <Refused problem=problem kind=Kind::EVENTS namespace=namespace/> }.into_any()
            }
            TableState::Loading => view! { <Skeleton lines=10/> }.into_any(),
            TableState::Empty => view! { <Empty/> }.into_any(),
            TableState::NoMatch => view! { <NoMatch view=view/> }.into_any(),
            TableState::Rows => {
                view! { <Groups cluster=cluster.clone() groups=groups live=live first=first/> }.into_any()
            }
        }}
    }
}

fn counts(live: LiveList) -> Signal<Vec<Count<bool>>> {
    let counts = Memo::new(move |_| {
        let known = live.known.read();
        let of = |warning: bool, severity, words, tone| Count {
            key: warning,
            words,
            tone: Some(tone),
            count: known.count(severity),
        };
        vec![
            of(
                true,
                Severity::Degraded,
                t().kinds.warnings(),
                Tone::Warning,
            ),
            of(false, Severity::Healthy, t().kinds.normal(), Tone::Neutral),
        ]
    });
    counts.into()
}

#[component]
fn Empty() -> impl IntoView {
    view! {
        <EmptyState
            reason=EmptyReason::Empty
            title=t().kinds.no_events()
            advice=t().kinds.no_events_advice()
        />
    }
}

#[component]
fn NoMatch(view: View) -> impl IntoView {
    let show_all = move |()| {
        view.text.set(String::new());
        view.warning.set(None);
    };
    view! {
        <EmptyState reason=EmptyReason::NoMatch title=t().lists.no_match_title() advice=t().kinds.no_match_events()>
            <Button on_press=show_all>{t().kinds.show_all_events()}</Button>
        </EmptyState>
    }
}

/// Shows the groups of the window, and the buttons that move the window.
#[component]
fn Groups(
    cluster: String,
    groups: Memo<Arc<Vec<Group>>>,
    live: LiveList,
    /// The index of the first event of the window.
    first: RwSignal<usize>,
) -> impl IntoView {
    let cluster = StoredValue::new(Arc::<str>::from(cluster));
    let shown = move || groups.get().to_vec();
    let older = Memo::new(move |_| {
        let behind = |known: &KnownList| known.shown.saturating_sub(known.first + STEP);
        live.known.with(behind)
    });
    let newer = Memo::new(move |_| live.known.with(|known| known.first));
    let words = move || t().kinds.show_older(&count(older.get() as u64));
    view! {
        <ol class="timeline">
            <For each=shown key=Group::key let:group>
                <EventGroup group=group cluster=cluster/>
            </For>
        </ol>
        <div class="row">
            <Show when=move || { newer.get() > 0 }>
                <Button on_press=move |()| first.set(newer.get_untracked().saturating_sub(STEP))>
                    {t().kinds.show_newer()}
                </Button>
            </Show>
            <Show when=move || { older.get() > 0 }>
                <Button on_press=move |()| first.set(newer.get_untracked() + STEP)>{words}</Button>
            </Show>
        </div>
    }
}
