//! The query of the audit log.

use drover_ui_core::audit::{ANY, CHANGES, Filter, suggestions};
use drover_ui_core::messages::t;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::picker::Choice;
use drover_ui_kit::suggest::SuggestField;
use leptos::prelude::*;

use super::AuditSearch;

/// The fields of the server's errors about the query.
pub(super) const FIELDS: &[&str] = &["verb", "code", "since", "until"];

/// Shows the query with suggestions.
#[component]
pub(super) fn Filters(looking: AuditSearch) -> impl IntoView {
    let AuditSearch { typed, sending, .. } = looking;
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        looking.look();
    };
    let with = move |change: fn(&mut Filter)| {
        let mut filter = looking.asked.get_untracked();
        change(&mut filter);
        typed.set(filter.text());
        looking.look();
    };
    let changes_only = Memo::new(move |_| looking.asked.with(|filter| filter.verb == CHANGES));
    let found = Signal::derive(move || {
        let found = typed.with(|text| suggestions(text)).into_iter();
        found.map(Choice::from).collect()
    });
    let refused: Vec<_> = FIELDS.iter().map(|field| sending.of(field)).collect();
    let error = Signal::derive(move || {
        let refused = || refused.iter().find_map(|error| error.get());
        looking.invalid.get().or_else(refused)
    });
    view! {
        <form class="audit-query" on:submit=submit>
            <SuggestField label=t().audit.query() value=typed found=found error=error
                help=t().audit.filter_help().to_owned()/>
            <div class="row">
                <Button weight=Weight::Primary role=Role::Submit busy=sending.busy()>{t().audit.search()}</Button>
                <Show
                    when=move || changes_only.get()
                    fallback=move || view! {
                        <Button disabled=sending.busy() on_press=move |()| with(|it| CHANGES.clone_into(&mut it.verb))>
                            {t().audit.changes_only()}
                        </Button>
                    }
                >
                    <Button disabled=sending.busy() on_press=move |()| with(|it| ANY.clone_into(&mut it.verb))>
                        {t().audit.with_reads()}
                    </Button>
                </Show>
                <Show when=move || looking.asked.with(|filter| !filter.is_empty())>
                    <Button disabled=sending.busy() on_press=move |()| with(|it| *it = Filter::all())>
                        {t().audit.show_all()}
                    </Button>
                </Show>
            </div>
        </form>
    }
}
