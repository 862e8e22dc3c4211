//! The filter form of the audit log.

use drover_api::rest::AuditOutcome;
use drover_ui_core::audit::{ANY, CHANGES, Filter, outcome, time_error};
use drover_ui_core::messages::t;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::field::{Select, TextField};
use leptos::prelude::*;

use super::AuditSearch;

/// The names of the form fields that show the server's errors next to their inputs.
pub(super) const FIELDS: &[&str] = &["verb", "code", "since", "until"];

/// The entered filter values.
#[derive(Clone, Copy)]
pub(super) struct Typed {
    user: RwSignal<String>,
    cluster: RwSignal<String>,
    verb: RwSignal<String>,
    outcome: RwSignal<String>,
    code: RwSignal<String>,
    path: RwSignal<String>,
    object: RwSignal<String>,
    since: RwSignal<String>,
    until: RwSignal<String>,
}

impl Typed {
    /// Creates empty filter values.
    pub(super) fn new() -> Self {
        let text = || RwSignal::new(String::new());
        Self {
            user: text(),
            cluster: text(),
            verb: text(),
            outcome: text(),
            code: text(),
            path: text(),
            object: text(),
            since: text(),
            until: text(),
        }
    }

    /// Sets the filter values.
    pub(super) fn set(self, filter: &Filter) {
        self.user.set(filter.user.clone());
        self.cluster.set(filter.cluster.clone());
        self.verb.set(filter.verb.clone());
        self.outcome.set(filter.outcome.clone());
        self.code.set(filter.code.clone());
        self.path.set(filter.path.clone());
        self.object.set(filter.object.clone());
        self.since.set(filter.since.clone());
        self.until.set(filter.until.clone());
    }

    /// Returns the entered filter.
    pub(super) fn filter(self) -> Filter {
        let text = |text: RwSignal<String>| text.with(|text| text.trim().to_owned());
        Filter {
            user: text(self.user),
            cluster: text(self.cluster),
            verb: text(self.verb),
            outcome: text(self.outcome),
            code: text(self.code),
            path: text(self.path),
            object: text(self.object),
            since: text(self.since),
            until: text(self.until),
        }
    }
}

/// Shows the filter form.
#[component]
pub(super) fn Filters(looking: AuditSearch) -> impl IntoView {
    let AuditSearch { typed, sending, .. } = looking;
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        looking.look();
    };
    let show_all = move |()| {
        typed.set(&Filter {
            verb: ANY.to_owned(),
            ..Filter::default()
        });
        looking.look();
    };
    let with_verb = move |verb: &str| {
        typed.verb.set(verb.to_owned());
        looking.look();
    };
    let changes_only = Memo::new(move |_| looking.asked.with(|filter| filter.verb == CHANGES));
    let outcomes = AuditOutcome::ALL.map(|it| (it.as_str().to_owned(), outcome(it).to_owned()));
    let any = (String::new(), t().audit.any().to_owned());
    let outcomes = std::iter::once(any).chain(outcomes).collect();
    let wrong_time = |text: RwSignal<String>, refused: Signal<Option<String>>| {
        Signal::derive(move || {
            text.with(|text| time_error(text.trim()))
                .or_else(|| refused.get())
        })
    };
    let code = sending.of("code");
    let wrong_code = Signal::derive(move || {
        let typed = typed.code.with(|text| text.trim().to_owned());
        let wrong = !typed.is_empty() && typed.parse::<u16>().is_err();
        wrong
            .then(|| t().audit.code_help().to_owned())
            .or_else(|| code.get())
    });
    let ready = move || typed.filter().is_ready();
    view! {
        <form class="card" on:submit=submit>
            <div class="filters">
                <TextField label=t().labels.user() value=typed.user/>
                <TextField label=t().labels.cluster() value=typed.cluster/>
                <TextField label=t().access.verb() value=typed.verb error=sending.of("verb")/>
                <Select label=t().audit.outcome() options=outcomes value=typed.outcome/>
                <TextField label=t().audit.status_code() value=typed.code error=wrong_code/>
                <TextField label=t().audit.path_part() value=typed.path/>
                <TextField label=t().access.object() value=typed.object/>
                <TextField label=t().audit.since() value=typed.since error=wrong_time(typed.since, sending.of("since"))/>
                <TextField label=t().audit.until() value=typed.until error=wrong_time(typed.until, sending.of("until"))/>
            </div>
            <div class="row">
                <Button weight=Weight::Primary role=Role::Submit busy=sending.busy()
                    disabled=Signal::derive(move || !ready())>
                    {t().audit.search()}
                </Button>
                <Show
                    when=move || changes_only.get()
                    fallback=move || view! {
                        <Button disabled=sending.busy() on_press=move |()| with_verb(CHANGES)>
                            {t().audit.changes_only()}
                        </Button>
                    }
                >
                    <Button disabled=sending.busy() on_press=move |()| with_verb(ANY)>
                        {t().audit.with_reads()}
                    </Button>
                </Show>
                <Show when=move || looking.asked.with(|filter| !filter.is_empty())>
                    <Button disabled=sending.busy() on_press=show_all>{t().audit.show_all()}</Button>
                </Show>
                <span class="muted">{t().audit.filter_help()}</span>
            </div>
        </form>
    }
}
