//! A list as a screen, or as a section of a screen.

use drover_ui_core::messages::{Noun, t};
use drover_ui_core::selection::Selection;
use drover_ui_kit::button::Button;
use drover_ui_kit::field::SearchField;
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::table::{Row, Table};
use leptos::prelude::*;

use super::contents::Contents;
use super::{ListState, Refused};
use crate::command::CliCommand;
use crate::freshness::{FreshnessMark, StaleBanner};
use crate::screens::head::PageHead;
use crate::screens::views::ViewsMenu;

/// The kind of the listed objects, and the number of placeholder lines during loading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListKind {
    /// The kind of the listed objects.
    pub(crate) noun: Noun,
    /// The number of placeholder lines while the list loads.
    pub(crate) lines: usize,
}

/// Shows a list as a screen, with heading, filter and command.
#[component]
pub(crate) fn ListScreen<R: Row>(
    /// The kind of the listed objects.
    kind: ListKind,
    contents: Contents<R>,
    /// The shell command that is equivalent to the list.
    command: &'static str,
    /// The empty state. The default is a text about the filter.
    #[prop(optional, into)]
    empty: Option<ViewFn>,
    /// The selected rows; `None` if rows cannot be selected.
    #[prop(optional_no_strip, into)]
    selection: Option<RwSignal<Selection>>,
    /// The actions next to the filter.
    #[prop(optional, into)]
    action: Option<ViewFn>,
    /// The content above the list.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let status = contents.status;
    let actions = move || {
        let action = action.as_ref().map(ViewFn::run);
        view! { <ListFilter kind=kind contents=contents/><ViewsMenu/>{action} }
    };
    view! {
        <div class="page">
            <PageHead title=t().lists.heading(kind.noun) actions=actions>
                <FreshnessMark freshness=status.freshness/>
            </PageHead>
            <StaleBanner freshness=status.freshness shown=status.known/>
            {children.map(|children| children())}
            <ListBody kind=kind contents=contents empty=empty selection=selection/>
            <footer class="page-foot">
                <CliCommand line=command.to_owned()/>
                <span>{move || contents.counted()}</span>
            </footer>
        </div>
    }
}

/// Shows the text filter of a list.
#[component]
pub(crate) fn ListFilter<R: Row>(
    /// The kind of the listed objects.
    kind: ListKind,
    contents: Contents<R>,
) -> impl IntoView {
    view! {
        <div class="home-filter">
            <SearchField label=t().lists.filter(kind.noun) hint=t().lists.filter_hint(kind.noun) value=contents.view.text/>
        </div>
    }
}

/// Shows the table, or the state of the list.
#[component]
pub(crate) fn ListBody<R: Row>(
    /// The kind of the listed objects.
    kind: ListKind,
    contents: Contents<R>,
    /// The empty state. The default is a text about the filter.
    empty: Option<ViewFn>,
    /// The selected rows; `None` if rows cannot be selected.
    #[prop(optional_no_strip)]
    selection: Option<RwSignal<Selection>>,
) -> impl IntoView {
    let view = contents.view;
    let no_match = move || view! { <NoMatch kind=kind on_all=move |()| view.show_all()/> };
    view! {
        <div class="home-list">
            {move || match contents.state.get() {
                ListState::Loading => view! { <Skeleton lines=kind.lines/> }.into_any(),
                ListState::Problem(problem) => view! { <Refused problem=problem noun=kind.noun/> }.into_any(),
                ListState::Empty => match &empty {
                    Some(empty) => empty.run(),
                    None => no_match().into_any(),
                },
                ListState::NoMatch => no_match().into_any(),
                ListState::Rows => view! {
                    <Table
                        label=t().lists.heading(kind.noun)
                        columns=contents.columns.get_value()
                        rows=contents.shown
                        sorting=view.sorting
                        selection=selection
                        tall=true
                    />
                }.into_any(),
            }}
        </div>
    }
}

#[component]
fn NoMatch(kind: ListKind, #[prop(into)] on_all: Callback<()>) -> impl IntoView {
    let noun = kind.noun;
    view! {
        <EmptyState reason=EmptyReason::NoMatch title=t().lists.no_match_title() advice=t().lists.no_match(noun)>
            <Button on_press=move |()| on_all.run(())>{t().lists.show_all(noun)}</Button>
        </EmptyState>
    }
}
