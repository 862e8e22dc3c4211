//! The forms that create and edit a project.

use drover_api::kinds::PodSecurity;
use drover_api::rest::{ProjectPatch, ProjectView};
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::project::draft::{Draft, level};
use drover_ui_core::project::{path, screen};
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{Select, TextArea, TextField};
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::picker::Picker;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::PATH;
use super::pairs::PairFields;
use crate::live::Clusters;
use crate::live::listing::Listing;
use crate::screens::address::to_created;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// The names of the form fields that show the server's errors next to their inputs.
const FIELDS: &[&str] = &["name", "cluster", "displayName", "description"];

/// The pod security levels, least strict first.
const LEVELS: [PodSecurity; 3] = [
    PodSecurity::Privileged,
    PodSecurity::Baseline,
    PodSecurity::Restricted,
];

/// Shows the dialog that creates a project.
#[component]
pub(super) fn CreateProject(open: RwSignal<bool>) -> impl IntoView {
    view! {
        <FormDialog open=open title=t().projects.create() let:sending>
            <CreateForm open=open sending=sending/>
        </FormDialog>
    }
}

#[component]
fn CreateForm(open: RwSignal<bool>, sending: Sending) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let lead = to_created();
    let draft = RwSignal::new(Draft::new());
    let (name, cluster) = (RwSignal::new(String::new()), RwSignal::new(None::<String>));
    Effect::new(move || {
        let (name, cluster) = (name.get(), cluster.get());
        draft.update(|draft| {
            draft.name = name;
            draft.cluster = cluster.unwrap_or_default();
        });
    });
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if !draft.with_untracked(Draft::is_complete) {
            return;
        }
        let request = draft.with_untracked(Draft::create);
        let request = async move { session.send("POST", PATH, &request).await };
        let lead = lead.clone();
        sending.send(request, move |project: ProjectView| {
            toasts.say(t().projects.created(&project.name));
            // The page navigates only if the dialog still exists.
            if open.try_set(false).is_none() {
                lead(screen(&project.name));
            }
        });
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending fields=FIELDS/>
            <TextField label=t().labels.name() value=name focused=true error=sending.of("name")
                help=t().import.name_help()/>
            <ClusterPicker value=cluster error=sending.of("cluster")/>
            <Fields draft=draft sending=sending/>
            <Code label=t().labels.command() text=Signal::derive(move || draft.with(Draft::command))/>
            <FormFoot open=open verb=t().projects.create() sending=sending
                disabled=Signal::derive(move || !draft.with(Draft::is_complete))/>
        </form>
    }
}

#[component]
fn ClusterPicker(value: RwSignal<Option<String>>, error: Signal<Option<String>>) -> impl IntoView {
    let choices = expect_context::<Clusters>().choices();
    view! {
        <Picker label=t().labels.cluster() choices=choices value=value none=t().labels.choose_cluster() error=error
            help=t().projects.cluster_help().to_owned()/>
    }
}

/// Shows the fields of the create form and the edit form.
#[component]
fn Fields(draft: RwSignal<Draft>, sending: Sending) -> impl IntoView {
    let begun = draft.get_untracked();
    let text = |text: String| RwSignal::new(text);
    let (shown, described) = (text(begun.display_name), text(begun.description));
    let (created, adopted) = (text(begun.made), text(begun.adopted));
    let security = text(begun.pod_security.map_or("", level).to_owned());
    let (quota, defaults) = (RwSignal::new(begun.quota), RwSignal::new(begun.defaults));
    let further = [(); 2].map(|()| text(String::new()));
    Effect::new(move || {
        let (shown, described) = (shown.get(), described.get());
        let (created, adopted, security) = (created.get(), adopted.get(), security.get());
        let (quota, defaults) = (quota.get(), defaults.get());
        let further = further.map(|further| further.get()).concat();
        draft.update(|draft| {
            draft.display_name = shown;
            draft.description = described;
            draft.made = created;
            draft.adopted = adopted;
            draft.quota = quota;
            draft.defaults = defaults;
            draft.further = further;
            draft.pod_security = LEVELS.into_iter().find(|known| level(*known) == security);
        });
    });
    let levels = LEVELS.map(|known| {
        (
            level(known).to_owned(),
            t().projects.pod_security_level(known).to_owned(),
        )
    });
    // A user can change the level of a project but cannot remove the level.
    let unset = begun.pod_security.is_none().then(|| {
        let words = t().projects.pod_security_unset().to_owned();
        (String::new(), words)
    });
    let levels = unset.into_iter().chain(levels).collect();
    view! {
        <TextField label=t().labels.display_name() value=shown error=sending.of("displayName")
            help=t().projects.display_name_help()/>
        <TextField label=t().labels.description() value=described error=sending.of("description")
            help=t().projects.description_help()/>
        <TextArea label=t().projects.created_namespaces() value=created
            help=t().projects.created_namespaces_help()/>
        <TextArea label=t().projects.adopted_namespaces() value=adopted lines=2
            help=t().projects.adopted_namespaces_help()/>
        <PairFields legend=t().projects.quota() heads=[t().projects.project_total(), t().projects.per_namespace()] pairs=quota further=further[0]/>
        <PairFields legend=t().projects.defaults() heads=[t().projects.request(), t().projects.limit()]
            pairs=defaults further=further[1]/>
        <Select label=t().projects.pod_security() options=levels value=security/>
    }
}

/// Shows the dialog that edits a project.
#[component]
pub(super) fn ChangeProject(
    project: Signal<Option<ProjectView>>,
    open: RwSignal<bool>,
    listing: Listing<ProjectView>,
) -> impl IntoView {
    view! {
        <FormDialog open=open title=t().projects.edit_title() let:sending>
            // The form starts with the current values. Later changes of the project do not
            // overwrite the form.
            {project.get_untracked().map(|it| view! {
                <ChangeForm project=it open=open sending=sending listing=listing/>
            })}
        </FormDialog>
    }
}

/// The result of saving a project.
enum Saved {
    Changed(Box<ProjectView>),
    /// The server rejected the change, because a different user changed the project first. The
    /// variant contains the stored project.
    Conflict(Box<ProjectView>),
}

async fn save(session: Session, path: &str, wish: &ProjectPatch) -> Result<Saved, Problem> {
    match session.send("PATCH", path, wish).await {
        Ok(project) => Ok(Saved::Changed(Box::new(project))),
        Err(refused) if refused.kind == ProblemKind::Conflict => {
            let now: ProjectView = session.get(path).await?;
            if now.generation == wish.generation {
                return Err(refused);
            }
            Ok(Saved::Conflict(Box::new(now)))
        }
        Err(refused) => Err(refused),
    }
}

#[component]
fn ChangeForm(
    project: ProjectView,
    open: RwSignal<bool>,
    sending: Sending,
    listing: Listing<ProjectView>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let draft = RwSignal::new(Draft::of(&project));
    let before = StoredValue::new(project);
    let conflict = RwSignal::new(None::<Vec<String>>);
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if !draft.with_untracked(Draft::is_complete) {
            return;
        }
        let (path, patch) = before.with_value(|before| {
            let patch = draft.with_untracked(|draft| draft.patch(before));
            (path(&before.name), patch)
        });
        let request = async move { save(session, &path, &patch).await };
        sending.send(request, move |saved| {
            listing.again();
            match saved {
                Saved::Changed(project) => {
                    toasts.say(t().projects.saved(&project.name));
                    // The dialog can be closed before the response arrives.
                    let _ = open.try_set(false);
                }
                Saved::Conflict(now) => {
                    let merged = before.try_with_value(|before| {
                        draft.try_with_untracked(|it| it.merged_into(before, &now))
                    });
                    // The dialog can be closed before the response arrives.
                    let Some((merged, changes)) = merged.flatten() else {
                        return;
                    };
                    before.set_value(*now);
                    draft.set(merged);
                    conflict.set(Some(changes));
                }
            }
        });
    };
    // The fields are rendered again with the merged values.
    let fields = move || {
        conflict.track();
        view! { <Fields draft=draft sending=sending/> }
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending fields=FIELDS/>
            {move || conflict.get().map(told)}
            {fields}
            <FormFoot open=open verb=t().buttons.save() sending=sending
                disabled=Signal::derive(move || !draft.with(Draft::is_complete))/>
        </form>
    }
}

/// Shows the changes that a different user saved during the edit.
fn told(changes: Vec<String>) -> impl IntoView {
    let items = changes.into_iter();
    let items = items.map(|change| view! { <li>{change}</li> });
    view! {
        <Banner mood=BannerKind::Warning>
            <p>{t().projects.conflict()}</p>
            <ul>{items.collect_view()}</ul>
        </Banner>
    }
}
