//! The tab with the usage of CPU and memory over time.

mod past;
mod present;

use drover_rows::usage::Resource;
use drover_ui_core::chart::{ChartUnit, chart};
use drover_ui_core::kind::Kind;
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::messages::t;
use drover_ui_core::metrics::{History, Span, references};
use drover_ui_core::object::Object;
use drover_ui_kit::chart::{FormatTime, LineChart};
use drover_ui_kit::field::Select;
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use jiff::Timestamp;
use leptos::prelude::*;

use super::words::Refused;
use crate::clock::{Clock, date, in_full, minute};
use crate::command::CliCommand;
use crate::screens::address;
use past::{Past, PastState};
use present::{Present, PresentState};

/// The period of a chart of samples: at least this number of seconds.
const MIN_PERIOD: i64 = 300;

/// The usage that the charts show, with its period.
#[derive(Clone, PartialEq)]
struct Shown {
    history: History,
    period: (Timestamp, Timestamp),
    /// True for the usage from Prometheus, and false for samples.
    is_past: bool,
}

/// Shows the charts. `history` contains the samples since the page was opened.
#[component]
pub(super) fn MetricsTab(
    named: KubectlObject,
    object: Signal<Object>,
    history: RwSignal<History>,
) -> impl IntoView {
    let screen = named
        .kind
        .object_screen(&named.cluster, named.namespace.as_deref(), &named.name);
    let span = RwSignal::new(String::new());
    address::read(&screen, move |of| {
        span.set(Span::of_key(&of("range")).key().to_owned());
    });
    let of_span = Memo::new(move |_| span.with(|key| Span::of_key(key)));
    address::keep(move || {
        let range = match of_span.get() {
            Span::Hour => String::new(),
            span => span.key().to_owned(),
        };
        address::path(&screen, &[("tab", "metrics".to_owned()), ("range", range)])
    });
    let past = Past::follow(&named, of_span);
    let (kind, command) = (named.kind, named.top());
    let present = Present::follow(named, object, history);
    let clock = expect_context::<Clock>();
    let shown = Memo::new(move |_| match past.state() {
        PastState::Known(history) if !history.is_empty() => {
            let now = clock.now();
            let period = (of_span.get().start(now), now);
            Some(Shown {
                history,
                period,
                is_past: true,
            })
        }
        _ => {
            let history = history.get();
            let start = history.cpu.first()?.at;
            let least = start.checked_add(jiff::SignedDuration::from_secs(MIN_PERIOD));
            let now = clock.now();
            let period = (start, least.map_or(now, |least| least.max(now)));
            Some(Shown {
                history,
                period,
                is_past: false,
            })
        }
    });
    let is_past = Memo::new(move |_| shown.with(|it| it.as_ref().is_some_and(|it| it.is_past)));
    let axis = Signal::derive(move || match of_span.get() {
        Span::Week if is_past.get() => date as FormatTime,
        _ => minute as FormatTime,
    });
    let has_charts = Memo::new(move |_| shown.with(Option::is_some));
    let content = move || {
        if has_charts.get() {
            let graph = |resource| {
                view! { <Graph resource=resource kind=kind object=object shown=shown axis=axis/> }
            };
            let (cpu, memory) = (graph(Resource::Cpu), graph(Resource::Memory));
            return view! { <div class="charts">{cpu}{memory}</div> }.into_any();
        }
        match present.state() {
            PresentState::Waiting => view! { <Skeleton lines=8/> }.into_any(),
            PresentState::Missing => view! {
                <EmptyState
                    reason=EmptyReason::Empty
                    title=t().metrics.none()
                    advice=t().metrics.none_advice()
                />
            }
            .into_any(),
            PresentState::Failed(problem) => {
                view! { <Refused problem=problem of=t().metrics.the_usage()/> }.into_any()
            }
        }
    };
    let periods = Span::ALL.map(|it| (it.key().to_owned(), it.words().to_owned()));
    let bar = move || {
        is_past.get().then(|| {
            view! { <Select label=t().metrics.period() options=periods.to_vec() value=span/> }
        })
    };
    view! {
        <div class="stack">
            <div class="row">{bar}<p class="muted">{move || past.note()}</p></div>
            {content}
            <footer class="page-foot">{command.map(|line| view! { <CliCommand line=line/> })}</footer>
        </div>
    }
}

/// Shows the chart of a resource.
#[component]
fn Graph(
    resource: Resource,
    kind: Kind,
    object: Signal<Object>,
    shown: Memo<Option<Shown>>,
    axis: Signal<FormatTime>,
) -> impl IntoView {
    let (title, unit) = match resource {
        Resource::Cpu => (t().labels.cpu(), ChartUnit::Cores),
        Resource::Memory => (t().labels.memory(), ChartUnit::Bytes),
    };
    let references = Memo::new(move |_| object.with(|it| references(kind, it, resource)));
    let drawn = Memo::new(move |_| {
        let references = references.get();
        let drawn = |shown: &Shown| {
            let points = shown.history.of(resource);
            chart(points, &references, unit, shown.period)
        };
        shown.with(|shown| shown.as_ref().and_then(drawn))
    });
    // The selected point of a chart remains while its values change.
    let is_drawn = Memo::new(move |_| drawn.with(Option::is_some));
    let chart = Signal::derive(move || drawn.get().unwrap_or_default());
    move || {
        is_drawn
            .get()
            .then(|| view! { <LineChart title=title chart=chart axis=axis full=in_full/> })
    }
}
