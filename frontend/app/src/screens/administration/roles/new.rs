//! The screen that creates a role: an empty role, a copy of a role, or a role that inherits a
//! different role.

use drover_api::kinds::RoleContext;
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::role::Kind;
use drover_ui_core::role::draft::Draft;
use drover_ui_core::role::spec::RoleSpec;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::field::{Select, TextField};
use drover_ui_kit::notice::Skeleton;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::components::A;
use leptos_router::hooks::{use_navigate, use_query_map};

use super::load::{RoleError, create, read};
use super::work::{Work, WorkOn};
use crate::screens::address::in_place;
use crate::screens::form::{Refusal, Sending};
use crate::screens::head::{Crumb, PageHead};
use crate::screens::title::title;
use crate::session::Session;
use crate::unsaved::UnsavedGuard;

/// Shows the screen that creates a role for clusters or projects.
#[component]
pub(crate) fn NewRole() -> impl IntoView {
    title(t().roles.create());
    view! { <New kind=Kind::Template heading=t().roles.create()/> }
}

/// Shows the screen that creates a global role.
#[component]
pub(crate) fn NewGlobalRole() -> impl IntoView {
    title(t().roles.create_global());
    view! { <New kind=Kind::Global heading=t().roles.create_global()/> }
}

#[component]
fn New(kind: Kind, heading: &'static str) -> impl IntoView {
    let (session, query) = (expect_context::<Session>(), use_query_map());
    let named = |key: &str| query.with_untracked(|query| query.get(key));
    let (copied, inherited) = (named("copy"), named("inherit"));
    let (is_copy, model) = (copied.is_some(), copied.or(inherited));
    let begin = RwSignal::new(None::<Result<RoleSpec, Problem>>);
    let other = StoredValue::new(model.clone().unwrap_or_default());
    let look = move |()| {
        begin.set(None);
        spawn_local(async move {
            let name = other.get_value();
            let found = read(session, kind, &name).await;
            let found = found.and_then(|role| match role.outdated() {
                Some(problem) if is_copy => Err(problem),
                _ if is_copy => Ok(role.spec.copied()),
                _ => Ok(role.spec.inheriting(&name)),
            });
            // The screen can be disposed before the response arrives.
            let _ = begin.try_set(Some(found));
        });
    };
    if model.is_some() {
        look(());
    } else {
        begin.set(Some(Ok(RoleSpec::nothing(kind))));
    }
    let form = move || match begin.get() {
        None => view! { <Skeleton lines=8/> }.into_any(),
        Some(Err(problem)) => {
            view! { <RoleError problem=problem name=other.get_value() again=look/> }.into_any()
        }
        Some(Ok(spec)) => view! { <Form spec=spec/> }.into_any(),
    };
    view! {
        <div class="page">
            <PageHead crumbs=vec![Crumb::roles()] title=heading/>
            {form}
            <footer class="page-foot"><A href="/roles">{t().roles.all_roles()}</A></footer>
        </div>
    }
}

fn contexts() -> [(&'static str, &'static str); 2] {
    [
        ("Cluster", t().roles.in_clusters()),
        ("Project", t().roles.in_projects()),
    ]
}

#[component]
fn Form(spec: RoleSpec) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let (sending, navigate) = (Sending::new(), use_navigate());
    let name = RwSignal::new(String::new());
    let context = RwSignal::new(match spec.context() {
        Some(RoleContext::Project) => "Project".to_owned(),
        Some(RoleContext::Cluster) | None => "Cluster".to_owned(),
    });
    let (is_template, begun) = (spec.kind() == Kind::Template, spec.clone());
    let work = Work {
        draft: RwSignal::new(Draft::of(spec)),
        open: true,
        busy: sending.busy(),
    };
    let changed = Memo::new(move |_| work.differs(&begun) || name.with(|name| !name.is_empty()));
    expect_context::<UnsavedGuard>().ask_while(changed);
    // Cluster roles have one list of rules. The signal contains rules that moved from the other
    // list.
    let moved = RwSignal::new(Vec::new());
    let summary = move || {
        let words = match moved.with(Vec::len) {
            0 => return None,
            count => t().roles.rules_moved(count),
        };
        let in_clusters = context.with(|it| it == "Cluster");
        in_clusters.then(|| {
            view! { <p class="muted">{words}</p> }
        })
    };
    // The effect keeps the select and the YAML in sync.
    Effect::new(move || {
        let desired = match context.get().as_str() {
            "Project" => RoleContext::Project,
            _ => RoleContext::Cluster,
        };
        work.change(|spec| moved.update(|moved| spec.set_context(desired, moved)));
    });
    Effect::new(move || {
        let spec = work.of(RoleSpec::context);
        let key = spec.map(|context| match context {
            RoleContext::Cluster => "Cluster",
            RoleContext::Project => "Project",
        });
        if let Some(key) = key.filter(|key| context.with_untracked(|it| it != key)) {
            context.set(key.to_owned());
        }
    });
    let unreadable = Signal::derive(move || work.draft.with(|draft| draft.problem().is_some()));
    let disabled = Signal::derive(move || unreadable.get() || name.with(|it| it.trim().is_empty()));
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if disabled.get_untracked() {
            return;
        }
        let (desired, navigate) = (name.get_untracked().trim().to_owned(), navigate.clone());
        let spec = work.draft.with_untracked(|draft| draft.spec().clone());
        let request = async move { create(session, desired, &spec).await };
        sending.send(request, move |created| {
            toasts.say(t().roles.created(&created.listed.title));
            // The page navigates only if the screen still exists.
            if name.try_get_untracked().is_some() {
                let screen = created.listed.kind.screen(&created.listed.name);
                // The navigation replaces the form, so that Back skips it.
                navigate(&screen, in_place());
            }
        });
    };
    let contexts = contexts().map(|(key, words)| (key.to_owned(), words.to_owned()));
    view! {
        <form class="stack" on:submit=submit>
            <TextField label=t().labels.name() value=name focused=true error=sending.of("name")
                help=t().import.name_help()/>
            {is_template.then(|| view! {
                <div>
                    <Select label=t().labels.scope() options=contexts.into() value=context/>
                    <div aria-live="polite">{summary}</div>
                </div>
            })}
            <WorkOn work=work/>
            <Refusal sending=sending fields=&["name"]/>
            <div class="row">
                <Button weight=Weight::Primary role=Role::Submit busy=sending.busy() disabled=disabled>
                    {t().roles.create()}
                </Button>
            </div>
        </form>
    }
}
