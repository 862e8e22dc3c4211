//! The page of an identity provider: overview, settings, connection test and actions.

use drover_api::rest::AuthProviderView;
use drover_ui_core::messages::Noun;
use drover_ui_core::messages::t;
use drover_ui_core::provider::title as words_of;
use drover_ui_core::provider::{Draft, Entry, Protocol, is_enabled, readiness};
use drover_ui_core::rights::RequiredRight;
use drover_ui_core::shell;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::notice::{Banner, BannerKind};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::actions::{ConfirmStep, Step};
use super::change::ChangeProvider;
use super::columns::door_badge;
use super::connection_test::{ConnectionTest, LastTest};
use super::form::CallbackUrl;
use super::{PATH, PROVIDERS, SCREEN, server_url};
use crate::clock::in_full;
use crate::command::CliCommand;
use crate::freshness::{FreshnessMark, StaleBanner};
use crate::live::listing::Listing;
use crate::screens::cells::{time_or_never, tone};
use crate::screens::head::{ActionsMenu, Crumb, PageHead};
use crate::screens::list::{NeedsRight, NotFoundState, OneScreen};
use crate::screens::title::title;
use crate::session::Session;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::menu::Item;

const NOTHING: &str = "–";

/// Shows the page of the provider that the URL parameter `provider` selects.
#[component]
pub(crate) fn ProviderPage() -> impl IntoView {
    if expect_context::<Session>().rights().may_list_providers {
        view! { <Managed/> }.into_any()
    } else {
        view! { <NeedsRight noun=Noun::IdentityProviders needs=RequiredRight::ListProviders/> }
            .into_any()
    }
}

#[component]
fn Managed() -> impl IntoView {
    let params = use_params_map();
    let name = Memo::new(move |_| params.with(|params| params.get("provider").unwrap_or_default()));
    let listing = Listing::<AuthProviderView>::follow(PATH);
    let found = Memo::new(move |_| {
        let items = listing.items()?;
        let name = name.get();
        items.iter().find(|provider| provider.name == name).cloned()
    });
    move || {
        let name = name.get();
        title(&name);
        let unknown = name.clone();
        view! {
            <OneScreen kind=PROVIDERS listing=listing found=found unknown=move || view! {
                <NotFoundState kind=PROVIDERS all=SCREEN title=t().providers.not_found(&unknown)
                    advice=t().users.not_found_advice()/>
            }>
                <Known name=name.clone() found=found listing=listing/>
            </OneScreen>
        }
    }
}

#[component]
fn Known(
    name: String,
    found: Memo<Option<AuthProviderView>>,
    listing: Listing<AuthProviderView>,
) -> impl IntoView {
    let freshness = Signal::derive(move || listing.freshness());
    let (requested, asking) = (RwSignal::new(None::<Step>), RwSignal::new(false));
    let url = server_url();
    let (changing, tested) = (RwSignal::new(false), LastTest::untested(found));
    let open =
        Memo::new(move |_| found.with(|it| it.as_ref().is_some_and(|it| is_enabled(&it.spec))));
    let door = move || {
        if open.get() {
            Step::Disable
        } else {
            Step::Enable
        }
    };
    let ask = move |step: Step| {
        requested.set(Some(step));
        asking.set(true);
    };
    let heading = Signal::derive(move || {
        let title = found.with(|it| it.as_ref().map(|it| words_of(it).to_owned()));
        title.unwrap_or_default()
    });
    let state = move || {
        let readiness = found.with(|it| it.as_ref().map(readiness))?;
        Some(view! { <Badge tone=tone(readiness.status) words=readiness.words/> })
    };
    let reason = move || {
        let reason = found.with(|it| it.as_ref().and_then(|it| readiness(it).why))?;
        Some(view! { <Banner mood=BannerKind::Warning>{reason}</Banner> })
    };
    let may = expect_context::<Session>().is_administrator();
    let missing = Signal::stored(RequiredRight::Administer.unless(may));
    let protocol = found.with_untracked(|it| it.as_ref().and_then(|it| Protocol::of(&it.spec)));
    let named = StoredValue::new(name.clone());
    let dialog = move || {
        requested.get().map(|step| view! {
            <ConfirmStep step=step name=named.get_value() open=asking listing=listing tested=tested/>
        })
    };
    let subject = name.clone();
    let actions = move || {
        let (right, door) = (missing.get(), door());
        let switch = Item::action(Icon::Offline, door.words(), move || ask(door));
        let delete = Item::action(Icon::Trash, Step::Delete.words(), move || ask(Step::Delete));
        let items = vec![
            switch.missing(right.clone()),
            delete.missing(right).danger(),
        ];
        view! {
            <Button missing=missing on_press=move |()| changing.set(true)>{t().buttons.edit_menu()}</Button>
            <ActionsMenu of=subject.clone() items=items/>
        }
    };
    view! {
        <div class="page">
            <PageHead crumbs=vec![Crumb::new(t().frame.providers(), SCREEN)] title=heading actions=actions>
                {move || door_badge(open.get())}
                {state}
                <FreshnessMark freshness=freshness/>
            </PageHead>
            <StaleBanner freshness=freshness shown=Signal::derive(|| true)/>
            {reason}
            {move || found.get().map(|provider| view! { <Facts provider=provider url=url/> })}
            {may.then(|| view! {
                <ConnectionTest name=name.clone() protocol=protocol tested=tested>
                    <Show when=move || !open.get()>
                        <div class="row">
                            <Button weight=Weight::Primary on_press=move |()| ask(Step::Enable)>{t().buttons.enable_menu()}</Button>
                        </div>
                    </Show>
                </ConnectionTest>
            })}
            <footer class="page-foot">
                <CliCommand line=format!("drover provider get {}", shell::word(&name))/>
            </footer>
        </div>
        <ChangeProvider provider=Signal::derive(move || found.get()) open=changing listing=listing
            on_secret=move |()| tested.secret_changed()/>
        {dialog}
    }
}

#[component]
fn Facts(provider: AuthProviderView, url: RwSignal<String>) -> impl IntoView {
    let protocol = Protocol::of(&provider.spec);
    let draft = Draft::of(&provider.spec);
    let secret = if provider.has_secret {
        t().providers.secret_stored()
    } else {
        t().providers.no_secret()
    };
    let onward = draft.as_ref().filter(|it| it.sign_out_there);
    let out = match onward.map(|it| it.protocol.sign_out_there()) {
        Some(there) => t().providers.sign_out_both(there),
        None => t().providers.sign_out_drover().to_owned(),
    };
    let name = StoredValue::new(provider.name.clone());
    let back = protocol.filter(|it| it.comes_back()).map(|protocol| {
        view! {
            <section class="card">
                <h2>{t().providers.callback_url()}</h2>
                <CallbackUrl protocol=Signal::stored(protocol) url=url name=Signal::derive(move || name.get_value())/>
            </section>
        }
    });
    let settings = draft.clone().map(|draft| view! { <Settings draft=draft/> });
    let allowed = draft.map(|draft| view! { <Allowed draft=draft/> });
    view! {
        <div class="cards">
            <section class="card">
                <h2>{t().cluster.overview()}</h2>
                <dl class="facts">
                    <dt>{t().labels.name()}</dt><dd>{provider.name.clone()}</dd>
                    <dt>{t().providers.protocol()}</dt><dd>{protocol.map_or(NOTHING, Protocol::words)}</dd>
                    <dt>{t().providers.secret()}</dt><dd>{secret}</dd>
                    <dt>{t().providers.sign_out()}</dt><dd>{out}</dd>
                    <dt>{t().providers.last_answer()}</dt><dd>{time_or_never(provider.last_answer_at)}</dd>
                    <dt>{t().labels.created()}</dt><dd>{in_full(provider.created_at).to_string()}</dd>
                    <dt>{t().labels.uid()}</dt><dd><code>{provider.uid}</code></dd>
                </dl>
            </section>
            {settings}
            {allowed}
            {back}
        </div>
    }
}

#[component]
fn Settings(draft: Draft) -> impl IntoView {
    let facts = draft.protocol.fields().iter().filter_map(|field| {
        let value = draft.value(field).to_owned();
        let shown = match field.entry {
            _ if value.is_empty() => return None,
            Entry::Text => view! { {t().providers.is_set()} }.into_any(),
            Entry::Flag => view! { {t().states.yes()} }.into_any(),
            _ => view! { <code class="pre-line">{value}</code> }.into_any(),
        };
        Some(view! { <dt>{field.label()}</dt><dd>{shown}</dd> })
    });
    let facts = facts.collect_view();
    view! { <section class="card"><h2>{t().frame.settings()}</h2><dl class="facts">{facts}</dl></section> }
}

#[component]
fn Allowed(draft: Draft) -> impl IntoView {
    let list = |heading: &'static str, text: &str| {
        let lines = text
            .lines()
            .map(|line| view! { <li><code>{line.to_owned()}</code></li> });
        let lines = lines.collect_view();
        (!text.is_empty()).then(|| view! { <h3>{heading}</h3><ul class="stack">{lines}</ul> })
    };
    let summary = if !draft.limited {
        view! { <p>{t().providers.all_allowed()}</p> }.into_any()
    } else if draft.users.is_empty() && draft.groups.is_empty() {
        view! { <p>{t().providers.none_allowed()}</p> }.into_any()
    } else {
        view! { {list(t().providers.users(), &draft.users)}{list(t().providers.group_members(), &draft.groups)} }
            .into_any()
    };
    view! { <section class="card"><h2>{t().providers.allowed()}</h2>{summary}</section> }
}
