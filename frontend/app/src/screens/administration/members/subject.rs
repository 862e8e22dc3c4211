//! The subject picker. A search finds users by user name or by login at a provider.

use std::time::Duration;

use drover_api::rest::{List, PersonView};
use drover_ui_core::member::{Scope, may_be_user_name, person};
use drover_ui_core::messages::t;
use drover_ui_core::subject::{SubjectSearch, UserSearchResult};
use drover_ui_kit::picker::Choice;
use drover_ui_kit::suggest::SuggestField;
use leptos::prelude::*;

use crate::clock::sleep;
use crate::screens::form::Sending;
use crate::session::Session;

/// The debounce time of the search.
const DEBOUNCE: Duration = Duration::from_millis(300);

/// The entered subject and the search result.
#[derive(Clone, Copy)]
pub(super) struct SubjectPicker {
    /// The untrimmed text in the field.
    pub(super) text: RwSignal<String>,
    /// The entered text without spaces at both ends.
    typed: Memo<String>,
    answer: RwSignal<Option<UserSearchResult>>,
    search: Memo<SubjectSearch>,
    /// The trimmed text at the time of the most recent submission.
    sent: RwSignal<Option<String>>,
}

impl SubjectPicker {
    /// Creates an empty picker.
    pub(super) fn new() -> Self {
        let (text, answer) = (
            RwSignal::new(String::new()),
            RwSignal::new(None::<UserSearchResult>),
        );
        let typed = Memo::new(move |_| text.with(|text| text.trim().to_owned()));
        let search = Memo::new(move |_| {
            typed.with(|typed| answer.with(|answer| SubjectSearch::of(typed, answer.as_ref())))
        });
        Self {
            text,
            typed,
            answer,
            search,
            sent: RwSignal::new(None),
        }
    }

    /// Reports whether the form can be submitted: the text is not empty, and the search has a
    /// result.
    pub(super) fn is_ready(self) -> bool {
        self.typed
            .with(|typed| self.search.with(|search| search.is_ready(typed)))
    }

    /// Records the submitted text. Returns true if the text identifies one subject.
    pub(super) fn sends(self) -> bool {
        self.sent.set(Some(self.typed.get_untracked()));
        !untrack(move || self.is_one_of_several())
    }

    fn is_one_of_several(self) -> bool {
        self.typed
            .with(|typed| self.search.with(|search| search.is_ambiguous(typed)))
    }

    /// Returns the error of the field. Errors of the server apply only to the submitted text.
    fn error(self, problem: Signal<Option<String>>) -> Signal<Option<String>> {
        Signal::derive(move || {
            let sent = self.sent.get();
            if !self.typed.with(|typed| sent.as_ref() == Some(typed)) {
                None
            } else if self.is_one_of_several() {
                Some(t().members.choose_user().to_owned())
            } else {
                problem.get()
            }
        })
    }

    /// Searches for users when the text changes.
    fn asks(self, scope: StoredValue<Scope>) {
        let (session, asking) = (expect_context::<Session>(), Sending::new());
        Effect::new(move || {
            let name = self.typed.get();
            asking.stop();
            if !may_be_user_name(&name) {
                return;
            }
            let path = scope.with_value(|scope| scope.people(&name));
            let request = async move {
                sleep(DEBOUNCE).await;
                let people = session.get(&path).await;
                let people = people.map(|people: List<PersonView>| people.items);
                Ok(UserSearchResult { name, people })
            };
            asking.send_instead(request, move |answer| {
                // The dialog can be closed before the response arrives.
                let _ = self.answer.try_set(Some(answer));
            });
        });
    }
}

/// Shows the text field, with the matching users as suggestions.
#[component]
pub(super) fn SubjectField(
    picker: SubjectPicker,
    scope: StoredValue<Scope>,
    /// The error of the server.
    error: Signal<Option<String>>,
) -> impl IntoView {
    picker.asks(scope);
    let choices = Signal::derive(move || {
        picker.search.with(|search| {
            let choices = search.people().iter().map(|it| Choice {
                key: it.name.clone(),
                words: it.name.clone(),
                note: person(it),
            });
            choices.collect::<Vec<_>>()
        })
    });
    let help = move || {
        picker
            .typed
            .with(|typed| picker.search.with(|search| search.help(typed)))
    };
    view! {
        <SuggestField label=t().labels.subject() value=picker.text found=choices focused=true
            help=Signal::derive(help) error=picker.error(error)/>
    }
}
