//! The way of a cluster into Drover: its name, the command, and its arrival.

use std::collections::BTreeMap;

use drover_api::rest::{ClusterCreate, ClusterView, Import, ImportRequest};
use drover_ui_core::cluster::{Health, state};
use drover_ui_core::label;
use drover_ui_core::problem::Problem;
use drover_ui_core::url::segment;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::field::TextField;
use drover_ui_kit::notice::{Absence, Banner, Mood, Nothing};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_query_map;

use crate::clock::in_full;
use crate::command::SameCommand;
use crate::file::save;
use crate::gate::Gate;
use crate::live::Clusters;
use crate::screens::cluster::path_of;
use crate::screens::home::tone;
use crate::title::title;

/// The screen: the form first, then the command.
#[component]
pub(crate) fn ImportCluster() -> impl IntoView {
    title("Import a cluster");
    let gate = expect_context::<Gate>();
    let named = use_query_map().with_untracked(|query| query.get("cluster"));
    let token = RwSignal::new(None::<(String, Import)>);
    let problem = RwSignal::new(None::<Problem>);
    if let Some(name) = named.clone() {
        // The cluster is there already, and waits.
        spawn_local(async move {
            let answer = ask_token(gate, &name).await;
            keep(answer.map(|import| (name, import)), token, problem);
        });
    }
    let line = move || {
        let name = token.with(|token| token.as_ref().map(|(name, _)| name.clone()));
        format!(
            "drover cluster import {} | kubectl apply -f -",
            name.as_deref().unwrap_or("NAME")
        )
    };
    if !gate.is_administrator() {
        return view! {
            <div class="page">
                <Nothing why=Absence::NoPermission title="Only administrators import clusters"
                    advice="Ask one to import yours, or to make you an administrator."/>
            </div>
        }
        .into_any();
    }
    view! {
        <div class="page">
            <header class="page-head"><h1>"Import a cluster"</h1></header>
            {move || problem.get().map(|it| view! { <Banner mood=Mood::Error>{it.message}</Banner> })}
            {move || match token.get() {
                Some((name, import)) => view! { <Command name=name import=import/> }.into_any(),
                None if named.is_some() => ().into_any(),
                None => view! { <Form token=token problem=problem/> }.into_any(),
            }}
            <footer class="page-foot"><SameCommand line=Signal::derive(line)/></footer>
        </div>
    }
    .into_any()
}

type Token = RwSignal<Option<(String, Import)>>;

/// Shows the command, or why there is none.
fn keep(
    answer: Result<(String, Import), Problem>,
    token: Token,
    problem: RwSignal<Option<Problem>>,
) {
    // Somebody may have gone on already, and the signals are gone.
    match answer {
        Ok(import) => drop(token.try_set(Some(import))),
        Err(refused) => drop(problem.try_set(Some(refused))),
    }
}

async fn ask_token(gate: Gate, name: &str) -> Result<Import, Problem> {
    let path = format!("/v1/clusters/{}/import", segment(name));
    gate.send("POST", &path, &ImportRequest { ttl_seconds: None })
        .await
}

async fn create(gate: Gate, wish: ClusterCreate) -> Result<(String, Import), Problem> {
    let name = wish.name.clone();
    let _: ClusterView = gate.send("POST", "/v1/clusters", &wish).await?;
    let import = ask_token(gate, &name).await?;
    Ok((name, import))
}

#[component]
fn Form(token: Token, problem: RwSignal<Option<Problem>>) -> impl IntoView {
    let gate = expect_context::<Gate>();
    let name = RwSignal::new(String::new());
    let (description, typed) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let busy = RwSignal::new(false);
    let read = Memo::new(move |_| label::read(&typed.get()));
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let Ok(labels) = read.get_untracked() else {
            return;
        };
        if busy.get_untracked() || name.with_untracked(String::is_empty) {
            return;
        }
        busy.set(true);
        problem.set(None);
        let wish = wish(&name.get_untracked(), &description.get_untracked(), labels);
        spawn_local(async move {
            let answer = create(gate, wish).await;
            let _ = busy.try_set(false);
            keep(answer, token, problem);
        });
    };
    let of_name = move || problem.with(|it| it.as_ref().and_then(|it| it.of_field("name")));
    let incomplete = move || name.with(String::is_empty) || read.with(Result::is_err);
    view! {
        <form class="card narrow" on:submit=submit>
            <TextField label="Name" value=name focused=true error=Signal::derive(of_name)
                help="What people will type: lower-case letters, digits and “-”."/>
            <TextField label="Description" value=description help="Shown beside the name; may be empty."/>
            <TextField label="Labels" value=typed error=Signal::derive(move || read.get().err())
                help="For example env=prod team=shop; may be empty."/>
            <div class="row">
                <Button weight=Weight::Primary role=Role::Submit busy=busy disabled=Signal::derive(incomplete)>
                    "Next: the command"
                </Button>
            </div>
        </form>
    }
}

fn wish(name: &str, description: &str, labels: BTreeMap<String, String>) -> ClusterCreate {
    let description = description.trim();
    ClusterCreate {
        name: name.trim().to_owned(),
        description: (!description.is_empty()).then(|| description.to_owned()),
        labels,
    }
}

#[component]
fn Command(name: String, import: Import) -> impl IntoView {
    let toasts = expect_context::<Toasts>();
    // The space keeps shells that are set so from writing the line into their history.
    let line = format!(
        " export DROVER_IMPORT_TOKEN='{}'\n{}",
        import.registration_token.expose(),
        import.curl
    );
    let (file, manifest) = (format!("{name}-import.yaml"), import.manifest);
    let download = move |()| {
        if !save(&file, manifest.expose()) {
            toasts.warn("The browser does not save files; use the command.");
        }
    };
    view! {
        <section class="card">
            <h2>"Run this where kubectl reaches the cluster"</h2>
            <Code label="Command" text=line/>
            <div class="row">
                <Button on_press=download>"Download the manifest instead"</Button>
                <span class="soft">
                    "Both hold a token that registers this one cluster, once, until "
                    {in_full(import.expires_at)} ". It is shown this once."
                </span>
            </div>
        </section>
        <Arrival name=name/>
    }
}

/// What has come of it, live.
#[component]
fn Arrival(name: String) -> impl IntoView {
    let clusters = expect_context::<Clusters>();
    let path = path_of(&name);
    let told = Memo::new(move |_| {
        let items = clusters.items()?;
        let cluster = items.iter().find(|cluster| cluster.name == name)?;
        Some(state(cluster))
    });
    let next = move |health| match health {
        Health::Ready | Health::Degraded => "It has arrived, and can be used.",
        Health::Waiting => "Nothing has come yet. The page notices when the agent registers.",
        Health::Disconnected | Health::Failing => "It has registered, and something is missing:",
        Health::Leaving => "It is being deleted.",
    };
    view! {
        <section class="card" aria-live="polite">
            <h2>"Its arrival"</h2>
            {move || told.get().map(|state| view! {
                <div class="row">
                    <Badge tone=tone(state.health) words=state.words/>
                    <span>{next(state.health)}</span>
                </div>
                {state.why.map(|why| view! { <p class="soft">{why}</p> })}
            })}
            <div class="row"><a class="button" href=path>"Go to the cluster"</a></div>
        </section>
    }
}
