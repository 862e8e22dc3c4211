//! The page of a user: identities, groups, permissions and actions.

use std::sync::Arc;

use drover_api::rest::{IdentityView, UserView};
use drover_ui_core::messages::Noun;
use drover_ui_core::messages::t;
use drover_ui_core::rights::RequiredRight;
use drover_ui_core::shell;
use drover_ui_core::token::ago;
use drover_ui_core::url::segment;
use drover_ui_core::user::{AccountState, UserGroup, groups, state_words};
use drover_ui_kit::badge::Badge;
use drover_ui_kit::button::Button;
use drover_ui_kit::rich::rich;
use drover_ui_kit::table::{Column, Row, Sorting, Table, sorted};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_params_map;

use super::actions::{ActionDialog, Actions};
use super::columns::{UserRow, actions as menu};
use super::link::{LinkIdentity, UnlinkIdentity};
use super::{PATH, SCREEN, USERS, state_tone, tone};
use crate::clock::{Clock, in_full};
use crate::command::CliCommand;
use crate::freshness::{FreshnessMark, StaleBanner};
use crate::live::listing::Listing;
use crate::screens::cells::time_or_never;
use crate::screens::form::{Refusal, Sending};
use crate::screens::head::{Crumb, PageHead};
use crate::screens::list::{NeedsRight, NotFoundState, OneScreen};
use crate::screens::title::title;
use crate::screens::{access, address, audit};
use crate::session::Session;

const NOTHING: &str = "–";
/// The timeout of a refresh, in milliseconds. The server sends requests to the providers in
/// sequence.
const TIMEOUT_MS: u32 = 70_000;

/// Shows the page of the user that the URL parameter `user` selects.
#[component]
pub(crate) fn UserPage() -> impl IntoView {
    if expect_context::<Session>().rights().may_list_users {
        view! { <Managed/> }.into_any()
    } else {
        view! { <NeedsRight noun=Noun::Users needs=RequiredRight::ListUsers/> }.into_any()
    }
}

#[component]
fn Managed() -> impl IntoView {
    let params = use_params_map();
    let name = Memo::new(move |_| params.with(|params| params.get("user").unwrap_or_default()));
    move || {
        let name = name.get();
        title(&name);
        view! { <Of name=name/> }
    }
}

#[component]
fn Of(name: String) -> impl IntoView {
    let listing = Listing::<UserView>::follow_one(format!("{PATH}/{}", segment(&name)));
    let found = Memo::new(move |_| listing.items()?.first().cloned());
    let actions = Actions::provide();
    let unknown = name.clone();
    view! {
        <OneScreen kind=USERS listing=listing found=found unknown=move || view! {
            <NotFoundState kind=USERS all=SCREEN title=t().users.not_found(&unknown)
                advice=t().users.not_found_advice()/>
        }>
            <Known name=name.clone() found=found listing=listing/>
        </OneScreen>
        <ActionDialog actions=actions listing=listing/>
    }
}

#[component]
fn Known(name: String, found: Memo<Option<UserView>>, listing: Listing<UserView>) -> impl IntoView {
    let session = expect_context::<Session>();
    let freshness = Signal::derive(move || listing.freshness());
    let account_state = move || {
        let account_state = found.with(|it| it.as_ref().map(AccountState::of))?;
        Some(view! { <Badge tone=tone(account_state) words=account_state.words().to_owned()/> })
    };
    let actions = move || {
        let me = session.view().map(|view| view.me.username);
        found.get().map(|user| {
            menu(&UserRow {
                oneself: me.as_ref() == Some(&user.name),
                user,
            })
        })
    };
    let with_groups = Memo::new(move |_| {
        let groups = found.with(|it| it.as_ref().map(groups)).unwrap_or_default();
        Arc::new(groups.into_iter().map(GroupRow).collect::<Vec<_>>())
    });
    let ask = access::path_for(&name);
    let did = audit::path_for(&name);
    let tokens = address::path("/tokens", &[("q", name.clone())]);
    view! {
        <div class="page">
            <PageHead crumbs=vec![Crumb::new(t().frame.users(), SCREEN)] title=name.clone() actions=move || actions>
                {account_state}
                <FreshnessMark freshness=freshness/>
            </PageHead>
            <StaleBanner freshness=freshness shown=Signal::derive(|| true)/>
            <div class="cards">
                {move || found.get().map(|user| view! { <Facts user=user/> })}
                <Identities name=name.clone() found=found listing=listing/>
                <section class="card">
                    <h2>{t().labels.permissions()}</h2>
                    <ul class="stack">
                        <li><A href=ask>{t().users.check_access()}</A></li>
                        <li><A href=tokens>{t().users.tokens_of_user()}</A></li>
                        <li><A href=did>{t().users.audit_of_user()}</A></li>
                    </ul>
                </section>
            </div>
            <h2>{t().users.groups()}</h2>
            <Groups rows=with_groups/>
            <footer class="page-foot">
                <CliCommand line=format!("drover user get {} --output yaml", shell::word(&name))/>
            </footer>
        </div>
    }
}

#[component]
fn Facts(user: UserView) -> impl IntoView {
    let rights = if user.administrator {
        t().about.administrator()
    } else {
        t().users.by_roles()
    };
    let shown = user.display_name.unwrap_or_else(|| NOTHING.to_owned());
    view! {
        <section class="card">
            <h2>{t().cluster.overview()}</h2>
            <dl class="facts">
                <dt>{t().labels.display_name()}</dt><dd>{shown}</dd>
                <dt>{t().labels.permissions()}</dt><dd>{rights}</dd>
                <dt>{t().users.last_sign_in()}</dt><dd>{time_or_never(user.last_login_at)}</dd>
                <dt>{t().labels.created()}</dt><dd>{in_full(user.created_at).to_string()}</dd>
                <dt>{t().about.kubernetes_user()}</dt><dd><code>{format!("drover:user:{}", user.uid)}</code></dd>
            </dl>
        </section>
    }
}

/// Shows the identities and the refresh button.
#[component]
fn Identities(
    name: String,
    found: Memo<Option<UserView>>,
    listing: Listing<UserView>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let (sending, linking) = (Sending::new(), RwSignal::new(false));
    let requested = Unlinking {
        open: RwSignal::new(false),
        identity: RwSignal::new(None),
    };
    let name = StoredValue::new(name);
    let oneself = Memo::new(move |_| {
        let me = session.view().map(|view| view.me.username);
        name.with_value(|name| me.as_ref() == Some(name))
    });
    let identities = Memo::new(move |_| {
        let found = found.get();
        found.map(|user| user.identities).unwrap_or_default()
    });
    let some = Memo::new(move |_| identities.with(|it| !it.is_empty()));
    let rights =
        Memo::new(move |_| found.with(|it| it.as_ref().map(|it| it.rights).unwrap_or_default()));
    let change = Signal::derive(move || RequiredRight::ChangeUser.unless(rights.get().may_change));
    let administer =
        Signal::derive(move || RequiredRight::Administer.unless(rights.get().may_administer));
    let enabled = Memo::new(move |_| found.with(|it| it.as_ref().is_some_and(|it| it.enabled)));
    // The API does not report whether a local password is set.
    let without = move || {
        if enabled.get() {
            t().users.local_only()
        } else {
            t().users.no_sign_in()
        }
    };
    let refresh = move |()| {
        let path = name.with_value(|name| format!("/v1/users/{}/refresh", segment(name)));
        let request = async move { session.send_within(&path, &(), TIMEOUT_MS).await };
        sending.send(request, move |user: UserView| {
            listing.again();
            toasts.say(t().users.refreshed(&user.name));
        });
    };
    let rows = move || {
        let rows = identities.get().into_iter();
        rows.map(
            |identity| view! { <Identity identity=identity oneself=oneself.get() missing=administer requested=requested/> },
        )
        .collect_view()
    };
    let unlink = move || {
        let identity = requested.identity.get()?;
        let name = name.get_value();
        // The polling must not render the dialog again.
        let last = identities.with_untracked(|it| it.len() == 1);
        Some(view! {
            <UnlinkIdentity name=name identity=identity last=last open=requested.open listing=listing/>
        })
    };
    view! {
        <section class="card">
            <h2>{t().users.signs_in_with()}</h2>
            <Refusal sending=sending/>
            <Show when=move || some.get()
                fallback=move || view! { <p>{without}</p> }>
                <ul class="stack">{rows}</ul>
            </Show>
            <div class="row">
                <Show when=move || some.get()>
                    <Button busy=sending.busy() missing=change on_press=refresh>{t().users.refresh()}</Button>
                </Show>
                <Show when=move || enabled.get()>
                    <Button missing=administer on_press=move |()| linking.set(true)>{t().users.link_menu()}</Button>
                </Show>
            </div>
        </section>
        <LinkIdentity name=name.get_value() open=linking listing=listing/>
        {unlink}
    }
}

/// The identity to unlink.
#[derive(Clone, Copy)]
struct Unlinking {
    open: RwSignal<bool>,
    identity: RwSignal<Option<IdentityView>>,
}

#[component]
fn Identity(
    identity: IdentityView,
    /// True if the identity belongs to the current user. Users cannot unlink their own identities.
    oneself: bool,
    /// The text that names the missing permission; `None` if the user has the permission.
    missing: Signal<Option<String>>,
    requested: Unlinking,
) -> impl IntoView {
    let whole = StoredValue::new(identity.clone());
    let unlink = (!oneself).then(|| {
        let press = move |()| {
            requested.identity.set(Some(whole.get_value()));
            requested.open.set(true);
        };
        let label = t().users.unlink_named(&identity.provider);
        view! { <Button missing=missing on_press=press>{t().users.unlink_menu()}<span class="visually-hidden">{label}</span></Button> }
    });
    let clock = expect_context::<Clock>();
    let at = identity.confirmed_at;
    let left_out = (identity.groups_left_out > 0).then(|| {
        let count = identity.groups_left_out;
        view! { <p class="muted">{t().users.ignored_groups(count)}</p> }
    });
    let provider = drover_ui_core::provider::screen(&identity.provider);
    view! {
        <li>
            <div class="row">
                <A href=provider>{identity.provider.clone()}</A>
                <span>{rich(t().users.login(&identity.login))}</span>
                <Badge tone=state_tone(identity.state) words=state_words(identity.state).to_owned()/>
                {unlink}
            </div>
            <p class="muted" title=in_full(at).to_string()>{move || t().users.last_confirmed(&ago(at, clock.now()))}</p>
            {identity.message.map(|reason| view! { <p class="check-message">{reason}</p> })}
            {left_out}
        </li>
    }
}

/// A row of the list of the user's groups.
#[derive(Clone, Debug, PartialEq)]
struct GroupRow(UserGroup);

impl Row for GroupRow {
    fn key(&self) -> String {
        self.0.name.clone()
    }
}

const BY_NAME: Sorting = Sorting {
    column: "group",
    descending: false,
};

fn columns() -> Vec<Column<GroupRow>> {
    vec![
        Column::new("group", t().users.group(), "col-role", group)
            .by(|a, b| a.0.display_name.cmp(&b.0.display_name)),
        Column::new("name", t().labels.subject(), "col-binding", name)
            .by(|a, b| a.0.name.cmp(&b.0.name)),
        Column::new("state", t().users.last_state(), "col-status", state_cell)
            .by(|a, b| state_words(a.0.state).cmp(state_words(b.0.state))),
    ]
}

fn group(row: &GroupRow) -> AnyView {
    cell(&row.0.display_name)
}

fn name(row: &GroupRow) -> AnyView {
    cell(&row.0.name)
}

fn state_cell(row: &GroupRow) -> AnyView {
    let state = row.0.state;
    view! { <Badge tone=state_tone(state) words=state_words(state).to_owned()/> }.into_any()
}

fn cell(text: &str) -> AnyView {
    let text = text.to_owned();
    view! { <span class="truncate" title=text.clone()>{text.clone()}</span> }.into_any()
}

#[component]
fn Groups(rows: Memo<Arc<Vec<GroupRow>>>) -> impl IntoView {
    let sorting = RwSignal::new(BY_NAME);
    let none = Memo::new(move |_| rows.with(|rows| rows.is_empty()));
    let rows = Memo::new(move |_| Arc::new(sorted(rows.get().to_vec(), &columns(), sorting.get())));
    view! {
        <Show when=move || !none.get() fallback=|| view! { <p class="muted">{t().users.no_groups()}</p> }>
            <div class="group-list"><Table label=t().users.groups() columns=columns() rows=rows sorting=sorting/></div>
        </Show>
    }
}
