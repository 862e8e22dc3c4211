//! The import of a cluster: form, import command and status.

use std::collections::BTreeMap;

use drover_api::rest::{ClusterCreate, ClusterView, Import, ImportRequest};
use drover_ui_core::cluster::{Health, state};
use drover_ui_core::label;
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::rights::RequiredRight;
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::field::TextField;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::{use_navigate, use_query_map};

use crate::clock::in_full;
use crate::command::CliCommand;
use crate::file::save;
use crate::live::Clusters;
use crate::screens::address::in_place;
use crate::screens::head::{Crumb, PageHead};
use crate::session::Session;
use drover_ui_core::cluster::screen as cluster_screen;

use crate::screens::home::tone;
use crate::screens::title::title;

/// Shows the form. After the request, shows the import command.
#[component]
pub(crate) fn ImportCluster() -> impl IntoView {
    title(t().home.import());
    let session = expect_context::<Session>();
    let import = Importing::of_url();
    let Importing { token, problem, .. } = import;
    let line = move || {
        let name = token.with(|token| token.as_ref().map(|(name, _)| name.clone()));
        format!(
            "drover cluster import {} | kubectl apply -f -",
            name.as_deref()
                .map_or_else(|| "NAME".to_owned(), shell::word)
        )
    };
    // The import command of an existing cluster requires permission to update the cluster.
    let named = import.made.with_untracked(Option::is_some);
    if !named && !session.rights().may_import_clusters {
        let advice = RequiredRight::ImportClusters.words();
        return view! {
            <div class="page">
                <EmptyState reason=EmptyReason::NoPermission title=t().import.forbidden()
                    advice=t().lists.ask_for_role(advice)/>
            </div>
        }
        .into_any();
    }
    view! {
        <div class="page">
            <PageHead crumbs=vec![Crumb::clusters()] title=t().home.import()/>
            {move || problem.get().map(|it| view! { <Banner mood=BannerKind::Error>{it.message}</Banner> })}
            {move || match token.get() {
                Some((name, import)) => view! { <Command name=name import=import/> }.into_any(),
                None if import.made.with(Option::is_some) => view! { <NextRequest import=import/> }.into_any(),
                None => view! { <Form import=import/> }.into_any(),
            }}
            <footer class="page-foot"><CliCommand line=Signal::derive(line)/></footer>
        </div>
    }
    .into_any()
}

/// The state of the import.
#[derive(Clone, Copy)]
struct Importing {
    /// The name of the created cluster.
    made: RwSignal<Option<String>>,
    token: RwSignal<Option<(String, Import)>>,
    problem: RwSignal<Option<Problem>>,
    /// True while a command is being created.
    busy: RwSignal<bool>,
}

impl Importing {
    fn of_url() -> Self {
        let named = use_query_map().with_untracked(|query| query.get("cluster"));
        Self {
            made: RwSignal::new(named),
            token: RwSignal::new(None),
            problem: RwSignal::new(None),
            busy: RwSignal::new(false),
        }
    }

    /// Requests an import command from the server.
    fn ask(self, session: Session) {
        let Some(name) = self.made.get_untracked() else {
            return;
        };
        self.problem.set(None);
        self.busy.set(true);
        spawn_local(async move {
            let path = format!("/v1/clusters/{}/import", segment(&name));
            let request = ImportRequest { ttl_seconds: None };
            // The screen and its signals can be disposed before the response arrives.
            let answer = session.send("POST", &path, &request).await;
            let _ = self.busy.try_set(false);
            match answer {
                Ok(import) => drop(self.token.try_set(Some((name, import)))),
                Err(refused) => drop(self.problem.try_set(Some(refused))),
            }
        });
    }
}

/// Shows a button that creates the import command of an existing cluster. Each command contains a
/// new token, so the page creates a command only on request.
#[component]
fn NextRequest(import: Importing) -> impl IntoView {
    let session = expect_context::<Session>();
    let name = move || import.made.get().unwrap_or_default();
    view! {
        <Show when=move || !import.busy.get() fallback=|| view! { <Skeleton lines=4/> }>
            <section class="card narrow">
                <p>{move || t().import.purpose(&name())}</p>
                <p class="muted">{t().import.new_token()}</p>
                <div class="row">
                    <Button weight=Weight::Primary on_press=move |()| import.ask(session)>{t().import.create_command()}</Button>
                </div>
            </section>
        </Show>
    }
}

#[component]
fn Form(import: Importing) -> impl IntoView {
    let session = expect_context::<Session>();
    let problem = import.problem;
    let navigate = use_navigate();
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
        let navigate = navigate.clone();
        let wish = wish(&name.get_untracked(), &description.get_untracked(), labels);
        spawn_local(async move {
            let answer = session
                .send::<ClusterView>("POST", "/v1/clusters", &wish)
                .await;
            let _ = busy.try_set(false);
            match answer {
                Ok(_) if import.made.try_set(Some(wish.name.clone())).is_none() => {
                    import.ask(session);
                    // After a reload, the page shows this cluster and does not create another
                    // cluster.
                    navigate(
                        &format!("/import?cluster={}", segment(&wish.name)),
                        in_place(),
                    );
                }
                // The navigation disposed the screen.
                Ok(_) => {}
                Err(refused) => drop(problem.try_set(Some(refused))),
            }
        });
    };
    let of_name = move || problem.with(|it| it.as_ref().and_then(|it| it.of_field("name")));
    let incomplete = move || name.with(String::is_empty) || read.with(Result::is_err);
    view! {
        <form class="card narrow" on:submit=submit>
            <TextField label=t().labels.name() value=name focused=true error=Signal::derive(of_name)
                help=t().import.name_help()/>
            <TextField label=t().labels.description() value=description help=t().cluster.description_help()/>
            <TextField label=t().labels.labels() value=typed error=Signal::derive(move || read.get().err())
                help=t().import.labels_help()/>
            <div class="row">
                <Button weight=Weight::Primary role=Role::Submit busy=busy disabled=Signal::derive(incomplete)>
                    {t().import.next()}
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
    // A leading space keeps the line out of the shell history (`HISTCONTROL=ignorespace`).
    let line = format!(
        " export DROVER_IMPORT_TOKEN={}\n{}",
        shell::quoted(import.registration_token.expose()),
        import.curl
    );
    let (file, manifest) = (format!("{name}-import.yaml"), import.manifest);
    let download = move |()| {
        if !save(&file, manifest.expose()) {
            toasts.warn(t().cluster.cannot_download());
        }
    };
    view! {
        <section class="card">
            <h2>{t().import.run_command()}</h2>
            <Code label=t().labels.command() text=line/>
            <div class="row">
                <Button on_press=download>{t().import.download()}</Button>
                <span class="muted">
                    {t().import.token_note(&in_full(import.expires_at))}
                </span>
            </div>
        </section>
        <ImportStatus name=name/>
    }
}

/// Shows the live status of the import.
#[component]
fn ImportStatus(name: String) -> impl IntoView {
    let clusters = expect_context::<Clusters>();
    let path = cluster_screen(&name);
    let cluster_state = Memo::new(move |_| {
        let items = clusters.items()?;
        let cluster = items.iter().find(|cluster| cluster.name == name)?;
        Some((state(cluster), cluster.hosts_hub))
    });
    let next = move |health| match health {
        Health::Ready | Health::Degraded => t().import.ready(),
        Health::Waiting => t().import.waiting(),
        Health::Disconnected | Health::Failing => t().import.incomplete(),
        Health::Deleting => t().import.deleting(),
    };
    view! {
        <section class="card" aria-live="polite">
            <h2>{t().import.status()}</h2>
            {move || cluster_state.get().map(|(state, hosts_hub)| view! {
                <div class="row">
                    <Badge tone=tone(state.health) words=state.summary/>
                    <span>{next(state.health)}</span>
                </div>
                {state.detail.map(|reason| view! { <p class="muted">{reason}</p> })}
                {hosts_hub.then(|| view! { <Banner mood=BannerKind::Warning>{t().cluster.hosts_hub()}</Banner> })}
            })}
            <div class="row"><a class="button" href=path>{t().import.open_cluster()}</a></div>
        </section>
    }
}
