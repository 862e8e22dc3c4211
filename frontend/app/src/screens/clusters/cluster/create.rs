//! The creation of objects from manifests.

mod form;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use drover_ui_core::document::{Document, create_command, documents};
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;

use crate::editor::{Editor, EditorText};
use crate::session::Session;
use crate::unsaved::UnsavedGuard;
use form::WorkloadFields;

/// The result for a document: its name, and the state or the error.
type DocumentResult = (String, Result<&'static str, String>);

/// Shows the dialog that creates objects from manifests.
#[component]
pub(super) fn CreateObjects(name: Memo<String>, open: RwSignal<bool>) -> impl IntoView {
    let busy = RwSignal::new(false);
    view! {
        {move || {
            let name = name.get();
            view! {
                <Dialog open=open title=t().create.title(&name) held=busy>
                    <CreateForm cluster=name.clone() open=open busy=busy/>
                </Dialog>
            }
        }}
    }
}

/// The state of the form.
#[derive(Clone, Copy)]
struct Creation {
    session: Session,
    toasts: Toasts,
    cluster: StoredValue<String>,
    editor: EditorText,
    busy: RwSignal<bool>,
    problem: RwSignal<Option<String>>,
    results: RwSignal<Vec<DocumentResult>>,
}

impl Creation {
    /// Validates all objects with a dry run, and creates the objects if all objects are valid.
    fn create(self, open: RwSignal<bool>) {
        let parsed = self.editor.text().with_untracked(|text| documents(text));
        self.results.set(Vec::new());
        let documents = match parsed {
            Ok(documents) if documents.is_empty() => {
                self.problem.set(Some(t().create.no_objects().to_owned()));
                return;
            }
            Ok(documents) => documents,
            Err(error) => {
                self.problem.set(Some(error.words().to_owned()));
                return;
            }
        };
        self.problem.set(None);
        self.busy.set(true);
        spawn_local(async move {
            let created = self.create_all(&documents).await;
            // The dialog is locked during the requests, but the screen can be disposed.
            let _ = self.busy.try_set(false);
            if created {
                self.toasts.say(t().create.done(documents.len()));
                let _ = open.try_set(false);
            }
        });
    }

    /// Loads the lists of resources that contain the kinds of the documents.
    async fn resources(
        self,
        cluster: &str,
        documents: &[Document],
    ) -> HashMap<String, Result<Value, Problem>> {
        let mut resources = HashMap::new();
        for document in documents {
            if let Entry::Vacant(entry) = resources.entry(document.resources_path(cluster)) {
                let answer = self.session.get::<Value>(entry.key()).await;
                entry.insert(answer);
            }
        }
        resources
    }

    async fn create_all(self, documents: &[Document]) -> bool {
        let Some(cluster) = self.cluster.try_get_value() else {
            return false;
        };
        let resources = self.resources(&cluster, documents).await;
        let path_of = |document: &Document| {
            let found = match &resources[&document.resources_path(&cluster)] {
                Ok(list) => document.create_path(&cluster, list),
                Err(problem) if problem.kind == ProblemKind::NotFound => None,
                Err(problem) => return Err(problem.message.clone()),
            };
            found.ok_or_else(|| t().create.not_served(&document.kind, &document.api_version))
        };
        for (is_dry_run, failure) in [(true, t().create.rejected()), (false, t().create.partial())]
        {
            let mut results = Vec::new();
            for document in documents {
                let result = match path_of(document) {
                    // The namespace of the object does not exist before the creation.
                    Ok(_) if is_dry_run && document.needs_namespace_of(documents) => Ok(()),
                    Ok(path) => self
                        .send(&path, document, is_dry_run)
                        .await
                        .map_err(|problem| problem.message),
                    Err(reason) => Err(reason),
                };
                let word = if is_dry_run {
                    t().create.valid()
                } else {
                    t().create.created()
                };
                results.push((document.words(), result.map(|()| word)));
                let _ = self.results.try_set(results.clone());
            }
            if results.iter().any(|(_, result)| result.is_err()) {
                let _ = self.problem.try_set(Some(failure.to_owned()));
                return false;
            }
        }
        true
    }

    async fn send(self, path: &str, document: &Document, dry_run: bool) -> Result<(), Problem> {
        let mut path = format!("{path}?fieldManager=drover-ui&fieldValidation=Strict");
        if dry_run {
            path.push_str("&dryRun=All");
        }
        let manifest = ("application/yaml", document.text.clone());
        self.session
            .send_manifest("POST", &path, manifest)
            .await
            .map(drop)
    }
}

#[component]
fn CreateForm(cluster: String, open: RwSignal<bool>, busy: RwSignal<bool>) -> impl IntoView {
    let command = create_command(&cluster);
    let creation = Creation {
        session: expect_context(),
        toasts: expect_context(),
        cluster: StoredValue::new(cluster),
        editor: EditorText::new(String::new()),
        busy,
        problem: RwSignal::new(None),
        results: RwSignal::new(Vec::new()),
    };
    let changed = Memo::new(move |_| creation.editor.text().with(|text| !text.is_empty()));
    expect_context::<UnsavedGuard>().ask_while(changed);
    let results = move || {
        let rows = creation.results.get().into_iter().map(|(name, result)| {
            let (class, words) = match result {
                Ok(words) => ("muted", words.to_owned()),
                Err(reason) => ("error", reason),
            };
            view! { <li>{name}" "<span class=class>{words}</span></li> }
        });
        rows.collect_view()
    };
    view! {
        <div class="dialog-body">
            <WorkloadFields editor=creation.editor/>
            <p>{t().create.help()}</p>
            <Editor editor=creation.editor label=t().create.label().to_owned()/>
            {move || creation.problem.get().map(|words| view! { <Banner mood=BannerKind::Error>{words}</Banner> })}
            <ul class="drain-progress" tabindex="0" aria-label=t().create.results()>{results}</ul>
            <Code label=t().labels.command() text=command wraps=true/>
            <div class="dialog-foot">
                <Button disabled=busy on_press=move |()| open.set(false)>{t().buttons.cancel()}</Button>
                <Button weight=Weight::Primary busy=busy on_press=move |()| creation.create(open)>{t().create.create()}</Button>
            </div>
        </div>
    }
}
