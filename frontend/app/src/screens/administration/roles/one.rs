//! The page of a role: spec, effective permissions and actions.

use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::role::Kind;
use drover_ui_core::role::conflict::changes;
use drover_ui_core::role::draft::Draft;
use drover_ui_core::role::spec::Stored;
use drover_ui_core::url::segment;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Banner, BannerKind, Skeleton};
use drover_ui_kit::toast::Toasts;
use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::components::A;
use leptos_router::hooks::use_params_map;

use super::conflict::Conflict;
use super::delete::DeleteRole;
use super::load::{Outcome, RoleError, read, update};
use super::work::{Work, WorkOn};
use crate::command::CliCommand;
use crate::screens::form::{Refusal, Sending};
use crate::screens::head::{ActionsMenu, Crumb, PageHead};
use crate::screens::title::title;
use crate::session::Session;
use crate::unsaved::UnsavedGuard;
use drover_ui_kit::menu::Item;

/// Shows the page of the role that the URL parameter `role` selects, for clusters or projects.
#[component]
pub(crate) fn RolePage() -> impl IntoView {
    view! { <Page kind=Kind::Template/> }
}

/// Shows the page of a global role.
#[component]
pub(crate) fn GlobalRolePage() -> impl IntoView {
    view! { <Page kind=Kind::Global/> }
}

/// The role; `None` before the first response.
type LoadedRole = RwSignal<Option<Result<Stored, Problem>>>;

#[component]
fn Page(kind: Kind) -> impl IntoView {
    let params = use_params_map();
    let name = Memo::new(move |_| params.with(|params| params.get("role").unwrap_or_default()));
    // Each name has separate signals. The router keeps the component when only the name changes,
    // and a late response must not change another role.
    move || view! { <KubectlObject kind=kind name=name.get()/> }
}

#[component]
fn KubectlObject(kind: Kind, name: String) -> impl IntoView {
    let session = expect_context::<Session>();
    title(&name);
    let found: LoadedRole = RwSignal::new(None);
    let name = StoredValue::new(name);
    let look = move |()| {
        found.set(None);
        let name = name.get_value();
        spawn_local(async move {
            let answer = read(session, kind, &name).await;
            // The screen can be disposed before the response arrives.
            let _ = found.try_set(Some(answer));
        });
    };
    look(());
    view! {
        <div class="page">
            {move || match found.get() {
                None => view! { <Skeleton lines=8/> }.into_any(),
                Some(Ok(role)) => view! { <Known role=role/> }.into_any(),
                Some(Err(problem)) => {
                    view! { <RoleError problem=problem name=name.get_value() again=look/> }.into_any()
                }
            }}
        </div>
    }
}

#[component]
fn Known(role: Stored) -> impl IntoView {
    let command = role.listed.kind.command("get", &role.listed.name);
    let deleting = RwSignal::new(false);
    // The signal contains the stored role. Its changes do not render the form again.
    let role = RwSignal::new(role);
    let listed = Memo::new(move |_| role.with(|role| role.listed.clone()));
    let problem = move || {
        let reason = role.with(|role| role.problem.clone())?;
        Some(view! { <Banner mood=BannerKind::Error>{reason}</Banner> })
    };
    let outdated = move || {
        let reason = role.with(Stored::outdated)?.message;
        Some(view! { <Banner mood=BannerKind::Warning>{reason}</Banner> })
    };
    let built_in = move || {
        listed.with(|listed| listed.built_in).then(|| {
            view! {
                <Banner mood=BannerKind::Info>
                    {t().roles.built_in_help()}
                </Banner>
            }
        })
    };
    let delete = move || {
        let listed = listed.get();
        (listed.rights.may_delete).then(|| view! { <DeleteRole open=deleting listed=listed/> })
    };
    view! {
        {move || view! { <Head role=role.get() deleting=deleting/> }}
        {problem}
        {outdated}
        {built_in}
        {move || view! { <Facts role=role.get()/> }}
        <RoleEditor role=role/>
        {move || view! { <EffectivePermissions role=role.get()/> }}
        <footer class="page-foot">
            <CliCommand line=command/>
            <A href="/roles">{t().roles.all_roles()}</A>
        </footer>
        {delete}
    }
}

#[component]
fn Head(role: Stored, deleting: RwSignal<bool>) -> impl IntoView {
    let inheriting_roles = role.inheriting_roles().into_iter().map(|(_, name)| name);
    let inheriting_roles = inheriting_roles.collect::<Vec<_>>().join(", ");
    let listed = role.listed;
    let (kind, rights, inherited) = (listed.kind, listed.rights, !inheriting_roles.is_empty());
    let inherit = format!("/new-role?inherit={}", segment(&listed.name));
    let copy = kind.create_screen(Some(&listed.name));
    let help = inherited.then(|| t().roles.inherited_help(&inheriting_roles));
    let (subject, guard) = (listed.title.clone(), expect_context::<UnsavedGuard>());
    let actions = move || {
        let extend = (rights.may_copy && kind == Kind::Template).then(|| {
            let path = inherit.clone();
            Item::action(Icon::Plus, t().roles.inherit(), move || guard.go(&path))
        });
        let delete = rights.may_delete.then(|| {
            let open = move || deleting.set(true);
            let item = Item::action(Icon::Trash, t().buttons.delete_menu(), open);
            item.missing(help.clone()).danger()
        });
        let copy = copy.clone();
        view! {
            {rights.may_copy.then(|| view! { <a class="button primary" href=copy>{t().buttons.copy()}</a> })}
            <ActionsMenu of=subject.clone() items=extend.into_iter().chain(delete).collect()/>
        }
    };
    view! {
        <PageHead crumbs=vec![Crumb::roles()] title=listed.title.clone() actions=actions>
            <Badge tone=Tone::Neutral words=listed.origin().to_owned()/>
        </PageHead>
    }
}

#[component]
fn Facts(role: Stored) -> impl IntoView {
    let bound = role
        .listed
        .bound
        .map(|bound| t().roles.binding_count(bound));
    let inheriting_roles = role.inheriting_roles().into_iter();
    let links = inheriting_roles.map(|(kind, name)| {
        view! { <A href=kind.screen(&name)>{name.clone()}</A> }
    });
    let links: Vec<_> = links.collect();
    let rested = (!links.is_empty()).then(|| {
        view! { <dt>{t().roles.inherited_by()}</dt><dd><span class="row">{links}</span></dd> }
    });
    view! {
        <dl class="facts">
            <dt>{t().labels.name()}</dt><dd>{role.listed.name}</dd>
            <dt>{t().labels.scope()}</dt><dd>{role.listed.place}</dd>
            {bound.map(|bound| view! { <dt>{t().roles.bindings()}</dt><dd>{bound}</dd> })}
            {rested}
        </dl>
    }
}

/// Shows the spec and its editor.
#[component]
fn RoleEditor(role: RwSignal<Stored>) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let sending = Sending::new();
    let (open, spec) = role.with_untracked(|role| {
        let open = role.listed.rights.may_change && role.outdated().is_none();
        (open, role.spec.clone())
    });
    let work = Work {
        draft: RwSignal::new(Draft::of(spec)),
        open,
        busy: sending.busy(),
    };
    // The signal contains the version that another user saved after this page loaded the role.
    let conflict = RwSignal::new(None::<Stored>);
    let changed = Memo::new(move |_| role.with(|role| work.differs(&role.spec)));
    expect_context::<UnsavedGuard>().ask_while(changed);
    let unreadable = Signal::derive(move || work.draft.with(|draft| draft.problem().is_some()));
    let foot = NodeRef::<html::Div>::new();
    let save = move |()| {
        // While the YAML is invalid, the last valid spec differs from the text.
        if unreadable.get_untracked() {
            return;
        }
        let from = conflict
            .get_untracked()
            .unwrap_or_else(|| role.get_untracked());
        let spec = work.draft.with_untracked(|draft| draft.spec().clone());
        let request = async move { update(session, from, spec).await };
        sending.send(request, move |outcome| {
            match outcome {
                Outcome::Written(now) => {
                    toasts.say(t().roles.saved(&now.listed.title));
                    work.reset_to(&now.spec);
                    // The screen can be disposed before the response arrives.
                    let _ = conflict.try_set(None);
                    let _ = role.try_set(now);
                }
                Outcome::Conflict(now) => drop(conflict.try_set(Some(now))),
            }
            focus_next(foot);
        });
    };
    let drop_all = move |()| {
        let spec = role.with_untracked(|role| role.spec.clone());
        work.draft.set(Draft::of(spec));
    };
    let conflict_view = move |now: Stored| {
        let changes = role.with_untracked(|role| changes(&role.spec, &now.spec));
        let take = move |()| {
            role.set(now.clone());
            conflict.set(None);
            drop_all(());
            focus_next(foot);
        };
        view! {
            <Conflict changes=changes busy=sending.busy() unreadable=unreadable
                on_overwrite=save on_take=take/>
        }
    };
    let dropped = move |()| {
        drop_all(());
        focus_next(foot);
    };
    let buttons = move || {
        view! {
            <div class="row">
                <Button weight=Weight::Primary busy=sending.busy() on_press=save
                    disabled=Signal::derive(move || unreadable.get() || !changed.get())>
                    {t().buttons.save()}
                </Button>
                <Show when=move || changed.get()>
                    <DropChanges busy=sending.busy() on_drop=dropped/>
                </Show>
            </div>
        }
    };
    let actions = move || match conflict.get() {
        Some(now) => conflict_view(now).into_any(),
        None => buttons().into_any(),
    };
    view! {
        <WorkOn work=work/>
        <Refusal sending=sending/>
        {open.then(|| view! {
            <div node_ref=foot tabindex="-1" role="group" aria-label=t().roles.unsaved_changes()>{actions}</div>
        })}
    }
}

/// Discards the changes after a confirmation.
#[component]
fn DropChanges(busy: Signal<bool>, #[prop(into)] on_drop: Callback<()>) -> impl IntoView {
    let asking = RwSignal::new(false);
    let confirmed = move |()| {
        asking.set(false);
        on_drop.run(());
    };
    view! {
        <Button disabled=busy on_press=move |()| asking.set(true)>{t().buttons.discard()}</Button>
        <Confirm open=asking title=t().roles.discard_title() verb=t().buttons.discard() on_confirm=confirmed>
            <p>{t().roles.discard_effect()}</p>
        </Confirm>
    }
}

/// Focuses the result after rendering, because the pressed button is removed or disabled.
fn focus_next(place: NodeRef<html::Div>) {
    request_animation_frame(move || {
        // The screen can be disposed before the next frame.
        if let Some(place) = place.try_get_untracked().flatten() {
            let _ = place.focus();
        }
    });
}

/// Shows the effective permissions of the stored role.
#[component]
fn EffectivePermissions(role: Stored) -> impl IntoView {
    let places = role.allowed.into_iter().map(|(place, lines)| {
        let lines = lines.into_iter().map(|line| view! { <li>{line}</li> });
        view! { <h3>{place}</h3><ul class="allowed">{lines.collect_view()}</ul> }
    });
    let places: Vec<_> = places.collect();
    (!places.is_empty()).then(|| {
        view! {
            <section class="card"><h2>{t().roles.effective_rules()}</h2>{places}</section>
        }
    })
}
