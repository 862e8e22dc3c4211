//! The YAML editor of a role.

use drover_ui_core::messages::t;
use drover_ui_core::role::draft::TextProblem;
use leptos::prelude::*;

use super::work::Work;

/// Shows the YAML editor.
#[component]
pub(super) fn AsText(work: Work) -> impl IntoView {
    let wrong = Memo::new(move |_| work.draft.with(|draft| draft.problem().map(problem_text)));
    let note = move || {
        let help = t().roles.yaml_help();
        wrong.get().unwrap_or_else(|| help.to_owned())
    };
    let class = move || {
        if wrong.get().is_some() {
            "field-note error"
        } else {
            "field-note"
        }
    };
    view! {
        <div class="field">
            <label for="role-text">{t().roles.yaml()}</label>
            <textarea
                id="role-text"
                class="role-text"
                rows="24"
                spellcheck="false"
                autocomplete="off"
                wrap="off"
                readonly=move || work.is_closed()
                aria-describedby="role-text-note"
                aria-invalid=move || wrong.get().is_some().to_string()
                prop:value=move || work.draft.with(|draft| draft.text().to_owned())
                on:input=move |event| {
                    let text = event_target_value(&event);
                    work.draft.update(|draft| draft.type_text(text));
                }
            ></textarea>
            <p id="role-text-note" class=class aria-live="polite">{note}</p>
        </div>
    }
}

fn problem_text(problem: &TextProblem) -> String {
    match problem.line {
        Some(line) => t().roles.yaml_error(line, &problem.message),
        None => problem.message.clone(),
    }
}
