//! The form in which a project is made, and in which it is changed.

use drover_api::kinds::PodSecurity;
use drover_api::rest::{ProjectPatch, ProjectView};
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::project::draft::{Draft, level};
use drover_ui_core::project::{path, screen};
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{Select, TextArea, TextField};
use drover_ui_kit::notice::{Banner, Mood};
use drover_ui_kit::picker::Picker;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::PATH;
use super::pairs::PairFields;
use crate::gate::Gate;
use crate::live::Clusters;
use crate::live::listing::Listing;
use crate::screens::address::to_created;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};

/// Fields at which the server's complaints are shown.
const FIELDS: &[&str] = &["name", "cluster", "displayName", "description"];

/// The levels of pod security, strictest last.
const LEVELS: [(PodSecurity, &str); 3] = [
    (PodSecurity::Privileged, "Privileged: every pod"),
    (
        PodSecurity::Baseline,
        "Baseline: nothing that is known to lead out of a container",
    ),
    (PodSecurity::Restricted, "Restricted: hardened pods only"),
];

/// The dialog that makes one.
#[component]
pub(super) fn CreateProject(open: RwSignal<bool>) -> impl IntoView {
    view! {
        <FormDialog open=open title="Make a project" let:sending>
            <CreateForm open=open sending=sending/>
        </FormDialog>
    }
}

#[component]
fn CreateForm(open: RwSignal<bool>, sending: Sending) -> impl IntoView {
    let (gate, toasts) = (expect_context::<Gate>(), expect_context::<Toasts>());
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
        if !draft.with_untracked(Draft::is_whole) {
            return;
        }
        let request = draft.with_untracked(Draft::create);
        let request = async move { gate.send("POST", PATH, &request).await };
        let lead = lead.clone();
        sending.send(request, move |project: ProjectView| {
            toasts.say(format!("The project {} is made.", project.name));
            // Who has closed the dialog is not led elsewhere.
            if open.try_set(false).is_none() {
                lead(screen(&project.name));
            }
        });
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending fields=FIELDS/>
            <TextField label="Name" value=name focused=true error=sending.of("name")
                help="Lower-case letters, digits and “-”. It cannot be changed."/>
            <ClusterPicker value=cluster error=sending.of("cluster")/>
            <Fields draft=draft sending=sending/>
            <Code label="Command" text=Signal::derive(move || draft.with(Draft::command))/>
            <FormFoot open=open verb="Make the project" sending=sending
                disabled=Signal::derive(move || !draft.with(Draft::is_whole))/>
        </form>
    }
}

#[component]
fn ClusterPicker(value: RwSignal<Option<String>>, error: Signal<Option<String>>) -> impl IntoView {
    let choices = expect_context::<Clusters>().choices();
    view! {
        <Picker label="Cluster" choices=choices value=value none="Choose a cluster" error=error
            help="Where its namespaces are. It cannot be changed.".to_owned()/>
    }
}

/// What can be typed of one that is made, and of one that there is.
#[component]
fn Fields(draft: RwSignal<Draft>, sending: Sending) -> impl IntoView {
    let begun = draft.get_untracked();
    let text = |text: String| RwSignal::new(text);
    let (shown, described) = (text(begun.display_name), text(begun.description));
    let (made, adopted) = (text(begun.made), text(begun.adopted));
    let security = text(begun.pod_security.map_or("", level).to_owned());
    let (quota, defaults) = (RwSignal::new(begun.quota), RwSignal::new(begun.defaults));
    let further = [(); 2].map(|()| text(String::new()));
    Effect::new(move || {
        let (shown, described) = (shown.get(), described.get());
        let (made, adopted, security) = (made.get(), adopted.get(), security.get());
        let (quota, defaults) = (quota.get(), defaults.get());
        let further = further.map(|further| further.get()).concat();
        draft.update(|draft| {
            draft.display_name = shown;
            draft.description = described;
            draft.made = made;
            draft.adopted = adopted;
            draft.quota = quota;
            draft.defaults = defaults;
            draft.further = further;
            let chosen = LEVELS
                .into_iter()
                .find(|(known, _)| level(*known) == security);
            draft.pod_security = chosen.map(|(known, _)| known);
        });
    });
    let levels = LEVELS.map(|(known, words)| (level(known).to_owned(), words.to_owned()));
    // A level that was set is changed, and not taken away.
    let unset = begun.pod_security.is_none().then(|| {
        let words = "As the cluster has it".to_owned();
        (String::new(), words)
    });
    let levels = unset.into_iter().chain(levels).collect();
    view! {
        <TextField label="Display name" value=shown error=sending.of("displayName")
            help="What people call it. Empty: its name."/>
        <TextField label="Description" value=described error=sending.of("description")
            help="What it is for; may be empty."/>
        <TextArea label="Namespaces that are made for it" value=made
            help="One a line. One that is taken out of the project stays in the cluster."/>
        <TextArea label="Namespaces that are taken over" value=adopted lines=2
            help="One a line: those that are there already."/>
        <PairFields legend="Quota" heads=["Together", "Each namespace"] pairs=quota further=further[0]/>
        <PairFields legend="What containers get that say nothing" heads=["Request", "Limit"]
            pairs=defaults further=further[1]/>
        <Select label="Pod security" options=levels value=security/>
    }
}

/// The dialog that changes one.
#[component]
pub(super) fn ChangeProject(
    project: Signal<Option<ProjectView>>,
    open: RwSignal<bool>,
    listing: Listing<ProjectView>,
) -> impl IntoView {
    view! {
        <FormDialog open=open title="Change this project" let:sending>
            // The form begins with what there is when it is opened; what is typed stays.
            {project.get_untracked().map(|it| view! {
                <ChangeForm project=it open=open sending=sending listing=listing/>
            })}
        </FormDialog>
    }
}

/// How saving ended.
enum Saved {
    Changed(Box<ProjectView>),
    /// Nothing is saved: somebody else has changed it, and this it is now.
    Meanwhile(Box<ProjectView>),
}

async fn save(gate: Gate, path: &str, wish: &ProjectPatch) -> Result<Saved, Problem> {
    match gate.send("PATCH", path, wish).await {
        Ok(project) => Ok(Saved::Changed(Box::new(project))),
        Err(refused) if refused.kind == ProblemKind::Conflict => {
            let now: ProjectView = gate.get(path).await?;
            if now.generation == wish.generation {
                return Err(refused);
            }
            Ok(Saved::Meanwhile(Box::new(now)))
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
    let (gate, toasts) = (expect_context::<Gate>(), expect_context::<Toasts>());
    let draft = RwSignal::new(Draft::of(&project));
    let before = StoredValue::new(project);
    let meanwhile = RwSignal::new(None::<Vec<String>>);
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if !draft.with_untracked(Draft::is_whole) {
            return;
        }
        let (path, patch) = before.with_value(|before| {
            let patch = draft.with_untracked(|draft| draft.patch(before));
            (path(&before.name), patch)
        });
        let request = async move { save(gate, &path, &patch).await };
        sending.send(request, move |saved| {
            listing.again();
            match saved {
                Saved::Changed(project) => {
                    toasts.say(format!("The project {} is changed.", project.name));
                    // The dialog may be closed by now.
                    let _ = open.try_set(false);
                }
                Saved::Meanwhile(now) => {
                    let merged = before.try_with_value(|before| {
                        draft.try_with_untracked(|it| it.upon(before, &now))
                    });
                    // The dialog may be closed by now.
                    let Some((merged, changes)) = merged.flatten() else {
                        return;
                    };
                    before.set_value(*now);
                    draft.set(merged);
                    meanwhile.set(Some(changes));
                }
            }
        });
    };
    // What both have typed stands in fields that begin anew.
    let fields = move || {
        meanwhile.track();
        view! { <Fields draft=draft sending=sending/> }
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending fields=FIELDS/>
            {move || meanwhile.get().map(told)}
            {fields}
            <FormFoot open=open verb="Save" sending=sending
                disabled=Signal::derive(move || !draft.with(Draft::is_whole))/>
        </form>
    }
}

/// What somebody else has changed while this was typed.
fn told(changes: Vec<String>) -> impl IntoView {
    let items = changes.into_iter();
    let items = items.map(|change| view! { <li>{change}</li> });
    view! {
        <Banner mood=Mood::Warning>
            <p>"Somebody changed the project meanwhile, and nothing of yours is saved yet. Below is both: look at it, and save again."</p>
            <ul>{items.collect_view()}</ul>
        </Banner>
    }
}
