//! The form that writes the manifests of a workload into the editor.

use drover_ui_core::messages::t;
use drover_ui_core::workload_form::{FormField, WorkloadForm, WorkloadKind};
use drover_ui_kit::button::Button;
use drover_ui_kit::field::{Select, TextArea, TextField};
use leptos::prelude::*;

use crate::editor::EditorText;

/// A field of the form, with its text and its error.
#[derive(Clone, Copy)]
struct FieldState {
    field: FormField,
    value: RwSignal<String>,
    error: RwSignal<Option<String>>,
}

/// Shows the form. The button adds the manifests to the text of the editor.
#[component]
pub(super) fn WorkloadFields(editor: EditorText) -> impl IntoView {
    let name = RwSignal::new(WorkloadKind::default().name().to_owned());
    let kind = Memo::new(move |_| name.with(|name| WorkloadKind::of_name(name)));
    let fields = FormField::ALL.map(|field| FieldState {
        field,
        value: RwSignal::new(initial(field).to_owned()),
        error: RwSignal::new(None),
    });
    let kinds = WorkloadKind::ALL.map(|it| (it.name().to_owned(), it.name().to_owned()));
    let is_open = RwSignal::new(false);
    let write = move |()| {
        let value = |field| {
            let state = fields.iter().find(|it| it.field == field);
            state.map(|it| it.value.get_untracked()).unwrap_or_default()
        };
        let form = WorkloadForm::new(kind.get_untracked(), value);
        let errors = form.errors();
        for state in fields {
            let error = errors.iter().find(|(field, _)| *field == state.field);
            state.error.set(error.map(|(_, words)| words.clone()));
        }
        if errors.is_empty() {
            editor.set(&added(&editor.text().get_untracked(), &form.manifests()));
            is_open.set(false);
        }
    };
    let shown = move || {
        let kind = kind.get();
        let fields = fields.iter().filter(|it| it.field.belongs_to(kind));
        fields.map(|state| entry(*state)).collect_view()
    };
    view! {
        <details
            class="workload-form"
            prop:open=is_open
            on:toggle=move |event| is_open.set(event_target::<web_sys::Element>(&event).has_attribute("open"))
        >
            <summary>{t().workload_form.title()}</summary>
            <div class="stack">
                <div class="workload-fields">
                    <Select label=t().labels.kind() options=kinds.to_vec() value=name/>
                    {shown}
                </div>
                <div class="row"><Button on_press=write>{t().workload_form.write()}</Button></div>
            </div>
        </details>
    }
}

/// Returns the initial text of a field.
const fn initial(field: FormField) -> &'static str {
    match field {
        FormField::Replicas => "1",
        _ => "",
    }
}

/// Returns the text of the editor with more manifests.
fn added(text: &str, manifests: &str) -> String {
    match text.trim_end() {
        "" => manifests.to_owned(),
        text => format!("{text}\n---\n{manifests}"),
    }
}

/// Shows the text field of a form field.
fn entry(state: FieldState) -> AnyView {
    let FieldState {
        field,
        value,
        error,
    } = state;
    let (label, help) = words(field);
    match field {
        FormField::Variables => {
            view! { <TextArea label=label value=value help=help.to_owned() error=error/> }
                .into_any()
        }
        _ => view! { <TextField label=label value=value help=help.to_owned() error=error/> }
            .into_any(),
    }
}

/// Returns the label and the help text of a field.
fn words(field: FormField) -> (&'static str, &'static str) {
    let texts = &t().workload_form;
    match field {
        FormField::Name => (t().labels.name(), ""),
        FormField::Namespace => (t().labels.namespace(), ""),
        FormField::Image => (t().object.image(), ""),
        FormField::Replicas => (texts.replicas(), ""),
        FormField::Port => (texts.port(), texts.port_help()),
        FormField::Schedule => (texts.schedule(), texts.schedule_help()),
        FormField::Command => (texts.shell_command(), texts.command_help()),
        FormField::Variables => (texts.variables(), texts.variables_help()),
        FormField::Cpu => (texts.cpu(), texts.cpu_help()),
        FormField::Memory => (texts.memory(), texts.memory_help()),
    }
}
