//! The view of the lines of a log.

use drover_ui_core::find::{Find, step};
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::log::{Color, Entry, Level, Log, LogRequest, LogSelection, Segment};
use drover_ui_core::messages::t;
use drover_ui_core::problem::ProblemKind;
use drover_ui_core::rows::{self, Layout, height, parts};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::find::FindField;
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::sheet::{RowKey, Scroll, Sheet, look};
use leptos::prelude::*;

use super::bar::Foot;
use super::filter;
use super::reader::{Reader, ReaderState};
use super::view::LogView;
use crate::screens::object::words::Refused;

/// The width in characters of a timestamp and a space, for example `2026-11-22T14:03:59.123Z`.
const TIME_COLUMNS: usize = 25;
/// The width in characters of the container in a log of many containers, as in the style sheet.
const SOURCE_COLUMNS: usize = 25;
/// The width in characters of the cluster and the container, as in the style sheet.
const CLUSTER_COLUMNS: usize = 41;

/// The origin of the lines of a log.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LogOrigin {
    /// A container.
    Container,
    /// All pods of a workload.
    Workload(KubectlObject),
    /// The selected pods of several clusters.
    Selection(LogSelection),
}

impl LogOrigin {
    /// Returns the width in characters of the names before each line.
    const fn columns(&self) -> usize {
        match self {
            Self::Container => 0,
            Self::Workload(_) => SOURCE_COLUMNS,
            Self::Selection(_) => CLUSTER_COLUMNS,
        }
    }

    /// Returns the class of the rows.
    const fn class(&self) -> &'static str {
        match self {
            Self::Selection(_) => "log-scroll several-clusters",
            _ => "log-scroll",
        }
    }
}

/// Shows the lines and the search field.
#[component]
pub(super) fn LogView(
    view: LogView,
    reader: Reader,
    request: Memo<Option<LogRequest>>,
    #[prop(default = StoredValue::new(LogOrigin::Container))] origin: StoredValue<LogOrigin>,
) -> impl IntoView {
    let scroll = Scroll::default();
    let log = reader.log;
    filter::apply(view, reader);
    let (source, class) = origin.with_value(|origin| (origin.columns(), origin.class()));
    let pages = Pages::of(log, view, scroll, source);
    Effect::new(move || {
        // Another request starts at the end of the log.
        request.track();
        scroll.show_end();
    });
    pause_unless_at_end(scroll, log, view);
    let target = Memo::new(move |_| {
        let has_lines = log.with(|log| !log.lines().is_empty());
        if has_lines {
            None
        } else {
            Some(reader.reading.get())
        }
    });
    view! {
        <div class="log-view-bar"><Finding pages=pages view=view scroll=scroll/></div>
        <div class=class>
            {move || match target.get() {
                None => view! { <Lines pages=pages scroll=scroll view=view/> }.into_any(),
                Some(reading) => view! { <Empty reading=reading/> }.into_any(),
            }}
            <Resume scroll=scroll log=log/>
        </div>
        <Foot view=view reader=reader request=request origin=origin/>
    }
}

/// Pauses the log unless the view shows the end of the log, so that the shown lines do not move.
fn pause_unless_at_end(scroll: Scroll, log: RwSignal<Log>, view: LogView) {
    let at_end = Memo::new(move |_| scroll.is_at_end());
    Effect::new(move || {
        let paused = !at_end.get() && view.follow.get();
        if log.with_untracked(|log| log.is_paused() != paused) {
            log.update(|log| log.pause(paused));
        }
    });
    Effect::new(move || {
        log.track();
        if at_end.get() {
            scroll.show_end();
        }
    });
}

/// The visible rows of a log.
#[derive(Clone, Copy)]
struct Pages {
    log: RwSignal<Log>,
    layout: Memo<Layout>,
    /// The number of characters per row, without the gutter.
    columns: Memo<usize>,
    /// The width of the timestamp gutter, in characters.
    gutter: Memo<usize>,
    /// The width of the container, in characters. 0 for the log of a single container.
    source: usize,
    /// The line number of the current match.
    current: RwSignal<Option<u64>>,
    /// A version number that changes when rows must be drawn again.
    look: Memo<u64>,
}

impl Pages {
    fn of(log: RwSignal<Log>, view: LogView, scroll: Scroll, source: usize) -> Self {
        Effect::new(move || {
            let find = Find::new(&view.find.get());
            if log.with_untracked(|log| *log.wanted() != find) {
                log.update(|log| log.find(find));
            }
        });
        let gutter = Memo::new(move |_| if view.times.get() { TIME_COLUMNS } else { 0 });
        let columns = Memo::new(move |_| {
            let room = view.wrap.get().then(|| scroll.columns());
            rows::columns(room, gutter.get() + source)
        });
        let layout = Memo::new(move |_| {
            let columns = columns.get();
            log.with(|log| {
                let lines = log.lines().iter();
                Layout::of(lines.map(|line| {
                    if line.is_hidden {
                        0
                    } else {
                        height(&line.entry.text, columns)
                    }
                }))
            })
        });
        let desired = Memo::new(move |_| log.with(|log| log.wanted().clone()));
        let look = look(move || {
            columns.track();
            gutter.track();
            desired.track();
        });
        let current = RwSignal::new(None);
        Self {
            log,
            layout,
            columns,
            gutter,
            source,
            current,
            look,
        }
    }

    fn key(self, row: usize) -> RowKey {
        let (line, part) = self
            .layout
            .with(|layout| layout.line_at(row))
            .unwrap_or_default();
        let number = self
            .log
            .with(|log| log.lines().get(line).map(|line| line.number));
        let is_current = u64::from(number.is_some() && number == self.current.get());
        (
            number.unwrap_or_default(),
            part,
            self.look.get() * 2 + is_current,
        )
    }

    fn draw(self, row: usize) -> AnyView {
        let place = self.layout.with_untracked(|layout| layout.line_at(row));
        let (line, part) = place.unwrap_or_default();
        self.log
            .with_untracked(|log| {
                let line = log.lines().get(line)?;
                let look = RowStyle {
                    columns: self.columns.get_untracked(),
                    gutter: self.gutter.get_untracked(),
                    is_current: self.current.get_untracked() == Some(line.number),
                };
                Some(row_view(&line.entry, part, look, log.wanted()))
            })
            .into_any()
    }

    /// Returns the number of characters in the longest row; 0 if all rows fit.
    fn widest(self) -> usize {
        rows::widest(self.columns.get(), self.gutter.get() + self.source, || {
            self.log.with(|log| {
                let lines = log.lines().iter();
                lines.map(|line| line.entry.text.len()).max()
            })
        })
    }

    /// Returns the line numbers of the matches.
    fn found(self) -> Vec<u64> {
        self.log.with_untracked(|log| {
            let found = log.lines().iter().filter(|line| line.is_found);
            found.map(|line| line.number).collect()
        })
    }

    fn row_of(self, number: u64) -> Option<usize> {
        let first = self
            .log
            .with_untracked(|log| log.lines().front().map(|line| line.number))?;
        let line = usize::try_from(number.checked_sub(first)?).ok()?;
        self.layout.with_untracked(|layout| layout.row_of(line))
    }
}

#[component]
fn Finding(pages: Pages, view: LogView, scroll: Scroll) -> impl IntoView {
    let go = move |forward: bool| {
        let found = pages.found();
        let current = pages.current.get_untracked();
        let at = current.and_then(|current| found.iter().position(|number| *number == current));
        // The search starts at the end of the log, which contains the newest lines.
        let next = match at {
            None => found.len().checked_sub(1),
            at => step(found.len(), at, forward),
        };
        let number = next.and_then(|next| found.get(next).copied());
        pages.current.set(number);
        if let Some(row) = number.and_then(|number| pages.row_of(number)) {
            scroll.show_row(row);
        }
    };
    let at = Memo::new(move |_| {
        let current = pages.current.get()?;
        pages.log.with(|log| {
            let mut found = log.lines().iter().filter(|line| line.is_found);
            found.position(|line| line.number == current)
        })
    });
    let count = Memo::new(move |_| pages.log.with(Log::found));
    view! { <FindField label=t().log.find() value=view.find count=count at=at on_step=go/> }
}

/// Shows a button when new lines exist. Screen readers do not announce the count, because the count
/// changes with each line.
#[component]
fn Resume(scroll: Scroll, log: RwSignal<Log>) -> impl IntoView {
    let is_paused = Memo::new(move |_| log.with(Log::is_paused));
    let waiting = Memo::new(move |_| log.with(Log::waiting));
    let words = move || t().log.show_new(waiting.get());
    let button = move || {
        is_paused.get().then(|| {
            view! {
                <Button weight=Weight::Primary on_press=move |()| scroll.show_end()>{words}</Button>
            }
        })
    };
    view! {
        <div class="log-resume">
            <span role="status">{move || is_paused.get().then_some(t().log.paused())}</span>
            {button}
        </div>
    }
}

/// Shows the reason why the log has no lines.
#[component]
fn Empty(reading: ReaderState) -> impl IntoView {
    match reading {
        ReaderState::Opening => view! { <Skeleton lines=8/> }.into_any(),
        ReaderState::Following => view! {
            <EmptyState reason=EmptyReason::Empty title=t().log.no_lines_yet() advice=t().log.no_lines_yet_advice()/>
        }
        .into_any(),
        ReaderState::Waiting(words) => view! {
            <EmptyState reason=EmptyReason::Empty title=t().log.not_running() advice=t().problems.retrying(&words)/>
        }
        .into_any(),
        ReaderState::Over(words) => view! {
            <EmptyState reason=EmptyReason::Empty title=t().log.no_lines() advice=words/>
        }
        .into_any(),
        ReaderState::Cut { problem, .. } => view! { <Refused problem=problem of=t().log.the_log()/> }.into_any(),
        ReaderState::Refused(problem) if problem.kind == ProblemKind::Invalid => view! {
            <EmptyState reason=EmptyReason::Empty title=t().log.not_found() advice=problem.message/>
        }
        .into_any(),
        ReaderState::Refused(problem) => view! { <Refused problem=problem of=t().log.the_log()/> }.into_any(),
    }
}

#[component]
fn Lines(pages: Pages, scroll: Scroll, view: LogView) -> impl IntoView {
    let widest = Memo::new(move |_| pages.widest());
    let is_read_out = Signal::derive(move || scroll.is_at_end() && view.follow.get());
    view! {
        <Sheet
            scroll=scroll
            label=t().log.log().to_owned()
            role="log"
            is_read_out=is_read_out
            rows=Signal::derive(move || pages.layout.with(Layout::rows))
            widest=widest
            key=move |row| pages.key(row)
            draw=move |row| pages.draw(row)
        />
    }
}

/// The style of a row.
#[derive(Clone, Copy)]
struct RowStyle {
    columns: usize,
    gutter: usize,
    is_current: bool,
}

fn row_view(entry: &Entry, part: usize, look: RowStyle, find: &Find) -> AnyView {
    let RowStyle {
        columns,
        gutter,
        is_current,
    } = look;
    let range = parts(&entry.text, columns)
        .get(part)
        .cloned()
        .unwrap_or_default();
    let pieces = entry.segments(range, find);
    let pieces = pieces.iter().map(piece).collect_view();
    let level = match entry.level {
        _ if entry.is_note => " note",
        Level::Plain => "",
        Level::Debug => " level-debug",
        Level::Warning => " level-warning",
        Level::Error => " level-error",
    };
    let current = if is_current { " current" } else { "" };
    let time = entry
        .at
        .filter(|_| part == 0 && gutter > 0)
        .map(|at| format!("{at:.3}"));
    let source = entry.source.as_ref().map(|source| {
        let class = format!("log-source source-{}", source.color);
        let label = (part == 0).then(|| source.label.to_string());
        view! { <span class=class title=source.label.to_string()><bdi>{label}</bdi></span> }
    });
    let gutter = (gutter > 0).then(|| {
        view! { <span class="text-gutter time" style:width=format!("{gutter}ch")>{time}</span> }
    });
    view! {
        <div class=format!("text-row{level}{current}")>
            {gutter}
            {source}
            <span class="text-line">{pieces}</span>
        </div>
    }
    .into_any()
}

fn piece(segment: &Segment<'_>) -> AnyView {
    let text = segment.text.to_owned();
    let color = match segment.style.color {
        None => "",
        Some(Color::Black) => "ansi-black",
        Some(Color::Red) => "ansi-red",
        Some(Color::Green) => "ansi-green",
        Some(Color::Yellow) => "ansi-yellow",
        Some(Color::Blue) => "ansi-blue",
        Some(Color::Magenta) => "ansi-magenta",
        Some(Color::Cyan) => "ansi-cyan",
        Some(Color::White) => "ansi-white",
    };
    let class = match (color, segment.style.bold) {
        (color, true) => format!("{color} bold"),
        (color, false) => color.to_owned(),
    };
    match (segment.is_found, class.is_empty()) {
        (true, _) => view! { <mark class=class>{text}</mark> }.into_any(),
        (false, true) => text.into_any(),
        (false, false) => view! { <span class=class>{text}</span> }.into_any(),
    }
}
