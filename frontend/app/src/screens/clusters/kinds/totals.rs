//! The numbers of rows of a list, and the suggestions for its filter, in the bar above the list.

use drover_rows::Severity;
use drover_ui_core::list::suggestions::{Properties, suggestions};
use drover_ui_core::messages::t;
use drover_ui_kit::picker::Choice;
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

use super::tone_of;
use super::view::View;
use crate::rows::LiveList;
use crate::screens::list::counted;

/// The numbers of rows of the current list.
#[derive(Clone, Copy)]
pub(super) struct Totals {
    rows: RwSignal<String>,
    severities: RwSignal<Vec<Count<Severity>>>,
    list: RwSignal<Option<LiveList>>,
}

impl Totals {
    pub(super) fn new() -> Self {
        Self {
            rows: RwSignal::new(String::new()),
            severities: RwSignal::new(Vec::new()),
            list: RwSignal::new(None),
        }
    }

    /// Shows the numbers of a list. The bar remains when another list replaces the list.
    pub(super) fn follow(self, live: LiveList) {
        let known = live.known;
        let rows = Memo::new(move |_| known.with(|known| counted(known.shown, known.all)));
        let severities = Memo::new(move |_| counts(live));
        Effect::new(move || self.rows.set(rows.get()));
        Effect::new(move || self.severities.set(severities.get()));
        self.list.set(Some(live));
        on_cleanup(move || {
            // The bar can be disposed before the list.
            let _ = self.rows.try_set(String::new());
            let _ = self.severities.try_set(Vec::new());
            let _ = self.list.try_set(None);
        });
    }

    /// Returns the suggestions for the text filter. A change of the rows does not change the
    /// suggestions while the user types.
    pub(super) fn suggestions(self, view: View, properties: Properties) -> Signal<Vec<Choice>> {
        Signal::derive(move || {
            let Some(live) = self.list.get() else {
                return Vec::new();
            };
            let found = view.text.with(|text| {
                let known = live.known.try_read_untracked();
                known.map(|known| suggestions(text, &known, properties))
            });
            let found = found.unwrap_or_default().into_iter();
            found.map(Choice::from).collect()
        })
    }
}

/// Counts the rows per severity.
fn counts(live: LiveList) -> Vec<Count<Severity>> {
    let known = live.known.read();
    let of = |severity: Severity| Count {
        key: severity,
        words: t().states.severity(severity),
        tone: Some(tone_of(severity)),
        count: known.count(severity),
    };
    Severity::ALL.map(of).to_vec()
}

/// Shows the rows per severity as filters, and the number of all rows.
#[component]
pub(super) fn ShownTotals(totals: Totals, view: View) -> impl IntoView {
    view! {
        <Tally label=t().labels.filter_by_state() counts=totals.severities chosen=view.severity/>
        <span class="list-total">{totals.rows}</span>
    }
}
