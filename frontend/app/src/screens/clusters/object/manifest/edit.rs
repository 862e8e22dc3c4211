//! The editor of a manifest: edit, review and save.

use drover_ui_core::action::{Access, explain_problem};
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::manifest::{Manifest, manifest_errors};
use drover_ui_core::merge::{has_conflict, merge};
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::read_manifest;
use crate::editor::{Editor, EditorText};
use crate::fetch::Request;
use crate::reflector::until_cleanup;
use crate::screens::object::diff::text_diff;
use crate::screens::object::permission::missing_right;
use crate::session::Session;
use crate::unsaved::UnsavedGuard;

/// The maximum size of a schema document, in bytes.
const MAX_SCHEMA: usize = 8_000_000;

/// Shows the button that opens the editor, disabled without the permission to update the object.
#[component]
pub(super) fn EditButton(
    named: StoredValue<KubectlObject>,
    on_press: Callback<()>,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let missing = named.with_value(|it| missing_right(session, it, Access::to_update(it)));
    view! { <Button missing=missing on_press=on_press>{t().editor.edit()}</Button> }
}

/// The state of an edit.
#[derive(Clone, Copy)]
struct Edited {
    named: StoredValue<KubectlObject>,
    language: &'static str,
    editor: EditorText,
    /// The manifest from the cluster that the user edits.
    base: RwSignal<String>,
    /// The manifest that the cluster would store, while the user reviews the changes.
    reviewed: RwSignal<Option<String>>,
    /// The result of a merge.
    notice: RwSignal<Option<String>>,
    problem: RwSignal<Option<String>>,
    busy: RwSignal<bool>,
    session: Session,
    toasts: Toasts,
}

impl Edited {
    fn path(self) -> String {
        self.named.with_value(KubectlObject::api_path)
    }

    /// Sends the manifest. A dry run validates the manifest without a change.
    async fn send(self, dry_run: bool) -> Result<Manifest, Problem> {
        let media_type = match self.language {
            "yaml" => "application/yaml",
            _ => "application/json",
        };
        let mut path = self.path();
        path.push_str("?fieldManager=drover-ui&fieldValidation=Strict");
        if dry_run {
            path.push_str("&dryRun=All");
        }
        let text = self.editor.text().get_untracked();
        let answer = self.session.send_manifest("PUT", &path, (media_type, text));
        let (media_type, text) = answer.await?;
        Manifest::of_answer(&media_type, text).map_err(|error| Problem::strange(&error.to_string()))
    }

    /// Runs a request unless a request is pending.
    fn run(self, request: impl Future<Output = Result<(), Problem>> + 'static) {
        if self.busy.get_untracked() {
            return;
        }
        self.busy.set(true);
        self.problem.set(None);
        self.notice.set(None);
        self.editor.mark(&[]);
        spawn_local(async move {
            let result = request.await;
            // The user can leave the screen during the request.
            if self.busy.try_set(false).is_some() {
                return;
            }
            if let Err(problem) = result {
                self.reviewed.set(None);
                self.editor.mark(&manifest_errors(&problem));
                let access = self.named.with_value(Access::to_update);
                self.problem.set(Some(explain_problem(&problem, &access)));
            }
        });
    }

    /// Validates the manifest with a dry run, and shows the changes.
    fn review(self) {
        if self.editor.text().with_untracked(|text| has_conflict(text)) {
            self.problem.set(Some(t().editor.unresolved().to_owned()));
            return;
        }
        self.run(async move {
            match self.send(true).await {
                Ok(manifest) => {
                    let _ = self.reviewed.try_set(Some(manifest.text(false)));
                    Ok(())
                }
                Err(problem) if problem.kind == ProblemKind::Conflict => self.merge().await,
                Err(problem) => Err(problem),
            }
        });
    }

    /// Saves the manifest.
    fn save(self, done: Callback<()>) {
        self.run(async move {
            match self.send(false).await {
                Ok(_) => {
                    let name = self.named.try_with_value(|named| named.name.clone());
                    self.toasts.say(t().editor.saved(&name.unwrap_or_default()));
                    done.try_run(());
                    Ok(())
                }
                Err(problem) if problem.kind == ProblemKind::Conflict => {
                    let _ = self.reviewed.try_set(None);
                    self.merge().await
                }
                Err(problem) => Err(problem),
            }
        });
    }

    /// Merges the concurrent changes of the cluster into the text.
    async fn merge(self) -> Result<(), Problem> {
        let theirs = read_manifest(self.path()).await?.text(false);
        let (Some(base), Some(mine)) = (
            self.base.try_get_untracked(),
            self.editor.text().try_get_untracked(),
        ) else {
            return Ok(());
        };
        let merged = merge(&base, &mine, &theirs);
        self.editor.set(&merged.text);
        self.base.set(theirs);
        self.notice.set(Some(match merged.conflicts {
            0 => t().editor.merged().to_owned(),
            count => t().editor.conflicts(count),
        }));
        Ok(())
    }

    /// Loads the schema of the kind from the cluster's OpenAPI document.
    async fn load_schema(self) {
        let source = self.named.try_with_value(|named| {
            let version = named.kind.api_version;
            let root = if version.contains('/') { "apis" } else { "api" };
            let cluster = drover_ui_core::url::segment(&named.cluster);
            let path = format!("/k8s/clusters/{cluster}/openapi/v3/{root}/{version}");
            (path, version, named.kind.name)
        });
        let Some((path, version, kind)) = source else {
            return;
        };
        // Without the schema, the editor has no completion.
        let Ok((_, text)) = Request::get(path).text().await else {
            return;
        };
        if text.len() <= MAX_SCHEMA {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            self.editor
                .set_schema(format!("{group}\n{version}\n{kind}\n{text}"));
        }
    }
}

/// Shows the editor of a manifest.
#[component]
pub(in crate::screens::object) fn Edit(
    named: StoredValue<KubectlObject>,
    /// The manifest without managed fields.
    text: String,
    /// The first text of the editor, if it differs from the manifest.
    #[prop(optional_no_strip)]
    draft: Option<String>,
    /// The format of the manifest, `yaml` or `json`.
    language: &'static str,
    /// Closes the editor without a change.
    on_cancel: Callback<()>,
    /// Closes the editor after the change.
    on_done: Callback<()>,
) -> impl IntoView {
    let edited = Edited {
        named,
        language,
        editor: EditorText::new(draft.unwrap_or_else(|| text.clone())),
        base: RwSignal::new(text),
        reviewed: RwSignal::new(None),
        notice: RwSignal::new(None),
        problem: RwSignal::new(None),
        busy: RwSignal::new(false),
        session: expect_context(),
        toasts: expect_context(),
    };
    until_cleanup(edited.load_schema());
    let changed = Memo::new(move |_| {
        let text = edited.editor.text();
        edited.base.with(|base| text.with(|text| text != base))
    });
    expect_context::<UnsavedGuard>().ask_while(changed);
    let label = named.with_value(|named| t().editor.label(&named.name));
    let is_reviewing = Memo::new(move |_| edited.reviewed.with(Option::is_some));
    let messages = move || {
        let notice = edited.notice.get();
        let notice =
            notice.map(|words| view! { <Banner mood=BannerKind::Warning>{words}</Banner> });
        let problem = edited.problem.get();
        let problem =
            problem.map(|words| view! { <Banner mood=BannerKind::Error>{words}</Banner> });
        view! { {notice}{problem} }
    };
    view! {
        {messages}
        // The editor keeps its state during the review.
        <div class="editor-frame" class:hidden=is_reviewing>
            <Editor editor=edited.editor label=label/>
            <div class="dialog-foot">
                <Button disabled=edited.busy on_press=on_cancel>{t().editor.cancel()}</Button>
                <Button
                    weight=Weight::Primary
                    busy=edited.busy
                    disabled=Signal::derive(move || !changed.get())
                    on_press=move |()| edited.review()
                >
                    {t().editor.review()}
                </Button>
            </div>
        </div>
        {move || edited.reviewed.get().map(|after| view! { <Review edited=edited after=after on_done=on_done/> })}
    }
}

/// Shows the changes that the cluster would store.
#[component]
fn Review(edited: Edited, after: String, on_done: Callback<()>) -> impl IntoView {
    let before = edited.base.get_untracked();
    let is_empty = before.lines().eq(after.lines());
    let command = edited
        .named
        .with_value(|named| named.replace(edited.language));
    view! {
        <h3>{t().editor.review_title()}</h3>
        {is_empty.then(|| view! { <p>{t().editor.no_changes()}</p> })}
        {text_diff(&before, &after)}
        <Code label=t().labels.command() text=command wraps=true/>
        <div class="dialog-foot">
            <Button disabled=edited.busy on_press=move |()| edited.reviewed.set(None)>{t().editor.back()}</Button>
            <Button
                weight=Weight::Primary
                busy=edited.busy
                disabled=is_empty
                on_press=move |()| edited.save(on_done)
            >
                {t().editor.save()}
            </Button>
        </div>
    }
}
