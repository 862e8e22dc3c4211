//! The screen with the server's settings, for administrators.

mod edit;
mod log;

use std::sync::Arc;

use drover_api::rest::SettingView;
use drover_ui_core::messages::Noun;
use drover_ui_core::messages::t;
use drover_ui_core::rights::RequiredRight;
use drover_ui_core::setting::{Section, note};
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{Banner, BannerKind, Skeleton};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::command::CliCommand;
use crate::freshness::{FreshnessMark, StaleBanner};
use crate::live::listing::Listing;
use crate::screens::address;
use crate::screens::head::PageHead;
use crate::screens::list::{ListState, NeedsRight, Refused};
use crate::screens::title::title;
use crate::session::Session;
use edit::EditSetting;
use log::LogFilter;

type Settings = Memo<Arc<Vec<SettingView>>>;

/// The name of the setting that the dialog edits. The URL contains this name.
#[derive(Clone, Copy, Debug)]
struct Editing {
    open: RwSignal<bool>,
    name: RwSignal<String>,
}

impl Editing {
    fn of_url() -> Self {
        let query = use_query_map();
        let editing = Self {
            open: RwSignal::new(false),
            name: RwSignal::new(String::new()),
        };
        Effect::new(move || {
            let name = query.with(|query| query.get("edit").unwrap_or_default());
            editing.open.set(!name.is_empty());
            if !name.is_empty() {
                editing.name.set(name);
            }
        });
        address::keep(move || {
            let name = if editing.open.get() {
                editing.name.get()
            } else {
                String::new()
            };
            address::path("/settings", &[("edit", name)])
        });
        editing
    }

    fn begin(self, name: String) {
        self.name.set(name);
        self.open.set(true);
    }
}

/// Shows the settings of the server in sections.
#[component]
pub(crate) fn SettingsPage() -> impl IntoView {
    title(t().frame.settings());
    if expect_context::<Session>().rights().may_list_settings {
        view! { <Managed/> }.into_any()
    } else {
        view! { <NeedsRight noun=Noun::Settings needs=RequiredRight::ListSettings/> }.into_any()
    }
}

#[component]
fn Managed() -> impl IntoView {
    let listing = Listing::<SettingView>::follow("/v1/settings");
    let editing = Editing::of_url();
    let settings = Memo::new(move |_| listing.items().unwrap_or_default());
    let freshness = Signal::derive(move || listing.freshness());
    let list_state = Memo::new(move |_| {
        let count = settings.with(|it| it.len());
        ListState::of(listing.items().is_some(), freshness.get(), count, count)
    });
    view! {
        <div class="page">
            <PageHead title=t().frame.settings()><FreshnessMark freshness=freshness/></PageHead>
            <StaleBanner freshness=freshness shown=Signal::derive(move || listing.items().is_some())/>
            {move || match list_state.get() {
                ListState::Loading => view! { <Skeleton lines=10/> }.into_any(),
                ListState::Problem(problem) => view! { <Refused problem=problem noun=Noun::Settings/> }.into_any(),
                ListState::Empty | ListState::NoMatch | ListState::Rows => view! { <Parts settings=settings editing=editing/> }.into_any(),
            }}
            <footer class="page-foot"><CliCommand line="drover setting list".to_owned()/></footer>
        </div>
        <EditSetting editing=editing settings=settings listing=listing/>
    }
}

#[component]
fn Parts(settings: Settings, editing: Editing) -> impl IntoView {
    let part = move |part: Section| {
        let names = Memo::new(move |_| {
            let settings = settings.get();
            let names = settings.iter().map(|setting| setting.name.clone());
            let names = names.filter(|name| note(name).part == part);
            names.collect::<Vec<_>>()
        });
        let rows = move || {
            let rows = names.get().into_iter();
            rows.map(|name| view! { <SettingRow name=name settings=settings editing=editing/> })
                .collect_view()
        };
        view! {
            <Show when=move || names.with(|names| !names.is_empty())>
                <section class="card">
                    <h2>{part.words()}</h2>
                    <ul class="settings">{rows}</ul>
                    {(part == Section::Logs).then(|| view! { <LogFilter settings=settings/> })}
                </section>
            </Show>
        }
    };
    Section::ALL.map(part).into_iter().collect_view()
}

#[component]
fn SettingRow(name: String, settings: Settings, editing: Editing) -> impl IntoView {
    let note = note(&name);
    let of = name.clone();
    let setting = Memo::new(move |_| {
        let settings = settings.get();
        settings.iter().find(|setting| setting.name == of).cloned()
    });
    let begin = StoredValue::new(name.clone());
    let label = StoredValue::new(t().settings.edit_named(&name));
    let read_only = Memo::new(move |_| {
        setting.with(|setting| setting.as_ref().and_then(|it| it.read_only.clone()))
    });
    let shown = move || {
        setting.get().map(|setting| {
            let (tone, words) = standing(&setting);
            let value = match setting.in_effect.as_str() {
                "" => view! { <span class="muted">{t().states.not_set()}</span> }.into_any(),
                value => view! { <code>{value.to_owned()}</code> }.into_any(),
            };
            let problem = setting.problem.clone();
            view! {
                <div class="setting-value">{value}<Badge tone=tone words=words/></div>
                {problem.map(|reason| view! { <Banner mood=BannerKind::Warning>{reason}</Banner> })}
            }
        })
    };
    let described =
        move || setting.with(|setting| setting.as_ref().map(|it| it.description.clone()));
    view! {
        <li class="setting">
            <div class="setting-head">
                <h3><code>{name}</code></h3>
                <Show when=move || read_only.with(Option::is_none)>
                    <Button on_press=move |()| editing.begin(begin.get_value())>
                        {t().buttons.edit_menu()}<span class="visually-hidden">{label.get_value()}</span>
                    </Button>
                </Show>
            </div>
            {move || read_only.get().map(|reason| view! { <p class="muted">{t().settings.read_only(&reason)}</p> })}
            {shown}
            <p>{described}</p>
            <p class="muted">{note.concerns}</p>
        </li>
    }
}

/// Returns the color and the text for the badge of a setting.
fn standing(setting: &SettingView) -> (Tone, String) {
    if setting.problem.is_some() {
        (Tone::Warning, t().settings.not_applied().to_owned())
    } else if setting.value.is_empty() {
        (Tone::Neutral, t().settings.by_default().to_owned())
    } else {
        (Tone::Good, "set".to_owned())
    }
}
