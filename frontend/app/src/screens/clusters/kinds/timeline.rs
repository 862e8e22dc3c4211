//! The events of a cluster, grouped by object, newest first.

mod group;

use std::sync::Arc;

use drover_ui_core::event::{Event, Group, MAX_EVENTS, Newest, grouped};
use drover_ui_core::kind::Kind;
use drover_ui_core::kubectl;
use drover_ui_core::messages::t;
use drover_ui_core::namespaces::Scope;
use drover_ui_core::quantity::count;
use drover_ui_core::search::Query;
use drover_ui_core::source::Source;
use drover_ui_kit::badge::Tone;
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

use super::filters::Filters;
use super::list::{Cut, ListProgress};
use super::namespaces::{ChooseNamespace, Namespaces};
use super::refused::Refused;
use crate::command::CliCommand;
use crate::freshness::StaleBanner;
use crate::reflector::Store;
use crate::screens::address;
use crate::screens::cluster::CurrentCluster;
use crate::screens::list::ListState;
use group::EventGroup;

/// The number of events that the page shows initially and adds per click.
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

    fn passes(self, query: &Query, event: &Event) -> bool {
        let kind = self.warning.get();
        kind.is_none_or(|warning| event.warning == warning) && query.passes(event)
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
    let path = Kind::EVENTS.list_path(&cluster, namespace.as_deref());
    let live = Store::<Arc<Event>>::begin::<Newest>(Source::objects(path));
    let freshness = Signal::derive(move || live.freshness());
    expect_context::<CurrentCluster>().follows(freshness);
    let groups = Memo::new(move |_| {
        let (items, query) = (
            live.items().unwrap_or_default(),
            Query::read(&view.text.get()),
        );
        let passing = items.iter().filter(|event| view.passes(&query, event));
        Arc::new(grouped(passing.cloned().collect()))
    });
    let list_state = Memo::new(move |_| {
        let (all, some) = (
            live.items().map_or(0, |it| it.len()),
            groups.with(|it| it.len()),
        );
        ListState::of(live.is_known(), live.freshness(), all, some)
    });
    view! {
        <StaleBanner freshness=freshness shown=Signal::derive(move || live.is_known())/>
        <ListProgress progress=Signal::derive(move || live.progress())/>
        <Cut
            cut=Signal::derive(move || live.progress().cut)
            words=t().kinds.cut_events()
        />
        <Tally label=t().kinds.filter_by_type() counts=counts(live) chosen=view.warning/>
        {move || match list_state.get() {
            ListState::Problem(problem) => {
                let namespace = namespace.as_deref().map(str::to_owned);
                view! { <Refused problem=problem kind=Kind::EVENTS namespace=namespace/> }.into_any()
            }
            ListState::Loading => view! { <Skeleton lines=10/> }.into_any(),
            ListState::Empty => view! { <Empty/> }.into_any(),
            ListState::NoMatch => view! { <NoMatch view=view/> }.into_any(),
            ListState::Rows => view! { <Groups cluster=cluster.clone() groups=groups/> }.into_any(),
        }}
    }
}

fn counts(live: Store<Arc<Event>>) -> Signal<Vec<Count<bool>>> {
    let counts = Memo::new(move |_| {
        let items = live.items().unwrap_or_default();
        let of = |warning: bool, words, tone| Count {
            key: warning,
            words,
            tone: Some(tone),
            count: items
                .iter()
                .filter(|it| it.warning == warning)
                .count()
                .min(MAX_EVENTS),
        };
        vec![
            of(true, t().kinds.warnings(), Tone::Warning),
            of(false, t().kinds.normal(), Tone::Neutral),
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

/// Shows the groups up to the selected number of events.
#[component]
fn Groups(cluster: String, groups: Memo<Arc<Vec<Group>>>) -> impl IntoView {
    let most = RwSignal::new(STEP);
    let all = move || groups.with(|groups| groups.iter().map(|it| it.events.len()).sum::<usize>());
    let cluster = StoredValue::new(Arc::<str>::from(cluster));
    let shown = move || {
        let (mut remaining, groups) = (most.get(), groups.get());
        let within = groups.iter().take_while(|group| {
            let fits = remaining > 0;
            remaining = remaining.saturating_sub(group.events.len());
            fits
        });
        within.cloned().collect::<Vec<_>>()
    };
    let words = move || {
        let rest = u64::try_from(all().saturating_sub(most.get())).unwrap_or(u64::MAX);
        t().kinds.show_older(&count(rest))
    };
    view! {
        <ol class="timeline">
            <For each=shown key=Group::key let:group>
                <EventGroup group=group cluster=cluster/>
            </For>
        </ol>
        <Show when=move || { all() > most.get() }>
            <div class="row"><Button on_press=move |()| most.update(|it| *it += STEP)>{words}</Button></div>
        </Show>
    }
}
