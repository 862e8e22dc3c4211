//! The view of the text of a manifest.

use std::ops::Range;
use std::sync::Arc;

use drover_ui_core::find::{Find, step};
use drover_ui_core::manifest::Manifest;
use drover_ui_core::messages::t;
use drover_ui_core::rows::{self, Layout, height, parts};
use drover_ui_kit::button::Button;
use drover_ui_kit::code::copy;
use drover_ui_kit::field::Checkbox;
use drover_ui_kit::find::FindField;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::sheet::{RowKey, Scroll, Sheet, look};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::View;
use super::owners::{LineOwners, OWNERS_COLUMNS};
use crate::file::save;

/// Shows the text, the search field and the actions.
#[component]
pub(super) fn Text(manifest: Arc<Manifest>, file: String, view: View) -> impl IntoView {
    let language = manifest.language();
    let shown = manifest.clone();
    let text = Memo::new(move |_| Arc::new(manifest.text(view.managed.get())));
    let scroll = Scroll::default();
    // The owners need time to parse, so the page parses them only when they are shown.
    let owners = Memo::new(move |_| {
        let owners = view
            .owners
            .get()
            .then(|| text.with(|text| LineOwners::of(&shown, text)));
        owners.flatten().map(Arc::new)
    });
    let text_view = TextView::of(text, owners, view, scroll);
    let toggle = (language == "yaml").then(|| {
        view! { <Checkbox label=t().ownership.show() checked=view.owners/> }
    });
    let managers = move || {
        let are_shown = view.owners.get();
        are_shown.then(|| owners.get().map(|owners| owners.managers()))
    };
    let note = match language {
        "yaml" => t().object.yaml_note(),
        _ => t().object.json_note(),
    };
    view! {
        <div class="log-view-bar">
            <Finding text_view=text_view view=view scroll=scroll/>
            <Checkbox label=t().object.managed_fields() checked=view.managed/>
            {toggle}
            <Checkbox label=t().log.wrap() checked=view.wrap/>
            <span class="grow muted">{note}</span>
            <CopyAndDownload text=text file=file/>
        </div>
        {managers}
        <Rows text_view=text_view scroll=scroll/>
    }
}

/// Shows the buttons that copy and download the manifest.
#[component]
fn CopyAndDownload(text: Memo<Arc<String>>, file: String) -> impl IntoView {
    let toasts = expect_context::<Toasts>();
    let download = move |()| {
        if !save(&file, &text.get_untracked()) {
            toasts.warn(t().log.cannot_download());
        }
    };
    let copy_it = move |()| copy(text.get_untracked().to_string(), toasts);
    view! {
        <Button icon=Icon::Copy on_press=copy_it>{t().buttons.copy()}</Button>
        <Button on_press=download>{t().buttons.download()}</Button>
    }
}

/// The visible rows of a text.
#[derive(Clone, Copy)]
struct TextView {
    lines: Memo<Arc<Vec<String>>>,
    /// The owners of the lines; `None` if they are not shown.
    owners: Memo<Option<Arc<LineOwners>>>,
    layout: Memo<Layout>,
    /// The number of characters per row, without the gutter.
    columns: Memo<usize>,
    /// The width of the line number gutter, in characters.
    gutter: Memo<usize>,
    /// The width of the gutter and the owners, in characters.
    start: Memo<usize>,
    find: Memo<Find>,
    /// The indexes of the matching lines.
    found: Memo<Vec<usize>>,
    /// The index of the current match.
    at: RwSignal<Option<usize>>,
    /// The line of the current match.
    current: Memo<Option<usize>>,
    /// A version number that changes when rows must be drawn again.
    look: Memo<u64>,
}

impl TextView {
    fn of(
        text: Memo<Arc<String>>,
        owners: Memo<Option<Arc<LineOwners>>>,
        view: View,
        scroll: Scroll,
    ) -> Self {
        let lines = Memo::new(move |_| {
            let lines = text.with(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
            Arc::new(lines)
        });
        let gutter = Memo::new(move |_| lines.with(|lines| lines.len().to_string().len() + 2));
        let start = Memo::new(move |_| {
            let owners = owners.with(Option::is_some);
            gutter.get() + if owners { OWNERS_COLUMNS } else { 0 }
        });
        let columns = Memo::new(move |_| {
            let room = view.wrap.get().then(|| scroll.columns());
            rows::columns(room, start.get())
        });
        let layout = Memo::new(move |_| {
            let columns = columns.get();
            lines.with(|lines| Layout::of(lines.iter().map(|line| height(line, columns))))
        });
        let find = Memo::new(move |_| Find::new(&view.find.get()));
        let found = Memo::new(move |_| {
            let (lines, find) = (lines.get(), find.get());
            let all = lines.iter().enumerate();
            all.filter(|(_, line)| find.is_in(line))
                .map(|(at, _)| at)
                .collect::<Vec<_>>()
        });
        let at = RwSignal::new(None::<usize>);
        Effect::new(move || {
            found.track();
            at.set(None);
        });
        let current = Memo::new(move |_| {
            let at = at.get()?;
            found.with(|found| found.get(at).copied())
        });
        let look = look(move || {
            lines.track();
            columns.track();
            find.track();
            owners.track();
        });
        Self {
            lines,
            owners,
            layout,
            columns,
            gutter,
            start,
            find,
            found,
            at,
            current,
            look,
        }
    }

    fn key(self, row: usize) -> RowKey {
        let (line, part) = self
            .layout
            .with(|layout| layout.line_at(row))
            .unwrap_or_default();
        let is_current = u64::from(self.current.get() == Some(line));
        (line as u64, part, self.look.get() * 2 + is_current)
    }

    fn draw(self, row: usize) -> AnyView {
        let place = self.layout.with_untracked(|layout| layout.line_at(row));
        let (line, part) = place.unwrap_or_default();
        let pieces = self.lines.with_untracked(|lines| {
            let text = lines.get(line).map_or("", String::as_str);
            let part = parts(text, self.columns.get_untracked()).get(part).cloned();
            self.find
                .with_untracked(|find| marked(text, &part.unwrap_or_default(), find))
        });
        let number = (part == 0).then(|| (line + 1).to_string());
        let wide = format!("{}ch", self.gutter.get_untracked());
        let owners = self.owners.get_untracked();
        let owners = owners.map(|owners| owners.view((part == 0).then_some(line)));
        let class = if self.current.get_untracked() == Some(line) {
            "text-row current"
        } else {
            "text-row"
        };
        view! {
            <div class=class>
                <span class="text-gutter" aria-hidden="true" style:width=wide>{number}</span>
                {owners}
                <span class="text-line">{pieces}</span>
            </div>
        }
        .into_any()
    }

    /// Returns the number of characters in the longest row; 0 if all rows fit.
    fn widest(self) -> usize {
        rows::widest(self.columns.get(), self.start.get(), || {
            self.lines.with(|lines| lines.iter().map(String::len).max())
        })
    }
}

#[component]
fn Finding(text_view: TextView, view: View, scroll: Scroll) -> impl IntoView {
    let TextView {
        layout, found, at, ..
    } = text_view;
    let go = move |forward: bool| {
        let next = step(found.with_untracked(Vec::len), at.get_untracked(), forward);
        at.set(next);
        let line = next.and_then(|next| found.with_untracked(|found| found.get(next).copied()));
        let row = line.and_then(|line| layout.with_untracked(|layout| layout.row_of(line)));
        if let Some(row) = row {
            scroll.show_row(row);
        }
    };
    let count = Signal::derive(move || found.with(Vec::len));
    view! { <FindField label=t().object.find() value=view.find count=count at=at on_step=go/> }
}

#[component]
fn Rows(text_view: TextView, scroll: Scroll) -> impl IntoView {
    let widest = Memo::new(move |_| text_view.widest());
    view! {
        <Sheet
            scroll=scroll
            label=t().object.manifest().to_owned()
            rows=Signal::derive(move || text_view.layout.with(Layout::rows))
            widest=widest
            key=move |row| text_view.key(row)
            draw=move |row| text_view.draw(row)
        />
    }
}

/// Renders a part of a line with marked matches.
fn marked(text: &str, part: &Range<usize>, find: &Find) -> Vec<AnyView> {
    let mut pieces = Vec::new();
    let mut from = part.start;
    for place in find.places(text) {
        let (start, end) = (place.start.max(part.start), place.end.min(part.end));
        if start >= end {
            continue;
        }
        pieces.push(text[from..start].to_owned().into_any());
        let found = text[start..end].to_owned();
        pieces.push(view! { <mark>{found}</mark> }.into_any());
        from = end;
    }
    pieces.push(text[from..part.end].to_owned().into_any());
    pieces
}
