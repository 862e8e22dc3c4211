//! The dock at the bottom of the page with the terminals.

use drover_ui_core::messages::t;
use drover_ui_core::terminal::TerminalState;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::icon::{Icon, Picture};
use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use web_sys::KeyboardEvent;

use super::module::Screen;
use super::{TerminalTab, Terminals};

const FONT_SIZES: [u32; 7] = [10, 11, 12, 13, 15, 18, 22];
const DEFAULT_FONT: usize = 3;

/// The screen of a terminal, after the browser has loaded xterm.js.
type ScreenSlot = StoredValue<Option<Screen>, LocalStorage>;

/// The choices of the dock.
#[derive(Clone, Copy)]
struct DockChoices {
    /// The index of the font size in [`FONT_SIZES`].
    font: RwSignal<usize>,
    /// The text to search for, and the number and the direction of the search.
    find: RwSignal<String>,
    step: RwSignal<(u32, bool)>,
}

/// Shows the terminals. The frame shows the dock only with terminals.
#[component]
pub(crate) fn Dock() -> impl IntoView {
    let terminals = expect_context::<Terminals>();
    let choices = DockChoices {
        font: RwSignal::new(DEFAULT_FONT),
        find: RwSignal::new(String::new()),
        step: RwSignal::new((0, true)),
    };
    let minimized = terminals.minimized;
    view! {
        <section
            class="dock"
            class:minimized=minimized
            aria-label=t().terminal.terminals()
        >
            <header class="dock-head">
                <div class="dock-tabs" role="tablist" aria-label=t().terminal.terminals()>
                    <For each=move || terminals.tabs.get() key=|tab| tab.id.clone() let:tab>
                        <TabHead tab=tab terminals=terminals/>
                    </For>
                </div>
                <Tools choices=choices minimized=minimized/>
            </header>
            <div class="dock-panels" hidden=minimized>
                <For each=move || terminals.tabs.get() key=|tab| tab.id.clone() let:tab>
                    <Panel tab=tab terminals=terminals choices=choices/>
                </For>
            </div>
        </section>
    }
}

fn is_active(terminals: Terminals, id: &str) -> Memo<bool> {
    let id = id.to_owned();
    Memo::new(move |_| {
        terminals
            .active
            .with(|active| active.as_deref() == Some(&*id))
    })
}

#[component]
fn TabHead(tab: TerminalTab, terminals: Terminals) -> impl IntoView {
    let chosen = is_active(terminals, &tab.id);
    let TerminalTab {
        id, title, state, ..
    } = tab;
    let (choose, close) = (id.clone(), id.clone());
    let tone_state = state.clone();
    let show = move |_| {
        terminals.active.set(Some(choose.clone()));
        terminals.minimized.set(false);
    };
    view! {
        <span class="dock-tab" class:chosen=chosen>
            <button
                type="button"
                role="tab"
                aria-selected=move || chosen.get().to_string()
                aria-controls=format!("terminal-{id}")
                on:click=show
            >
                {title.clone()}
            </button>
            <span
                class="dock-dot"
                class:ended=move || tone_state.with(TerminalState::is_ended)
                title=move || state.with(TerminalState::words)
            ></span>
            <button
                type="button"
                class="button quiet"
                aria-label=t().terminal.close(&title)
                on:click=move |_| terminals.close(&close)
            >
                <Picture icon=Icon::Close/>
            </button>
        </span>
    }
}

/// Shows the search field and the buttons of the dock.
#[component]
fn Tools(choices: DockChoices, minimized: RwSignal<bool>) -> impl IntoView {
    let DockChoices { font, find, step } = choices;
    let keys = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            event.prevent_default();
            step.update(|step| *step = (step.0 + 1, !event.shift_key()));
        }
    };
    let change = move |larger: bool| {
        font.update(|font| {
            *font = if larger {
                (*font + 1).min(FONT_SIZES.len() - 1)
            } else {
                font.saturating_sub(1)
            };
        });
    };
    let label = move || {
        if minimized.get() {
            t().terminal.restore()
        } else {
            t().terminal.minimize()
        }
    };
    view! {
        <div class="dock-tools">
            <input
                type="search"
                aria-label=t().terminal.find()
                placeholder=t().buttons.find()
                autocomplete="off"
                spellcheck="false"
                prop:value=find
                on:input=move |event| find.set(event_target_value(&event))
                on:keydown=keys
            />
            <button type="button" class="button quiet" aria-label=t().terminal.smaller() on:click=move |_| change(false)>{t().terminal.smaller_sign()}</button>
            <button type="button" class="button quiet" aria-label=t().terminal.larger() on:click=move |_| change(true)>{t().terminal.larger_sign()}</button>
            <button
                type="button"
                class="button quiet"
                aria-label=label
                aria-expanded=move || (!minimized.get()).to_string()
                on:click=move |_| minimized.update(|it| *it = !*it)
            >
                <Picture icon=Icon::ChevronDown/>
            </button>
        </div>
    }
}

#[component]
fn Panel(tab: TerminalTab, terminals: Terminals, choices: DockChoices) -> impl IntoView {
    let host = NodeRef::<html::Div>::new();
    let screen: ScreenSlot = StoredValue::new_local(None);
    let active = is_active(terminals, &tab.id);
    let id = tab.id.clone();
    let state = tab.state.clone();
    Effect::new(move || {
        if let Some(host) = host.get() {
            let (id, state) = (id.clone(), state.clone());
            let size = FONT_SIZES[choices.font.get_untracked()];
            spawn_local(async move {
                let reported = state.clone();
                let report = move |name: String, text: String| {
                    reported.set(TerminalState::of(&name, &text));
                };
                match Screen::open(&host, &id, size, report).await {
                    Ok(opened) => {
                        opened.focus();
                        // The user can close the terminal before the module is loaded.
                        if screen.try_set_value(Some(opened.clone())).is_some() {
                            opened.dispose();
                        }
                    }
                    Err(_) => state.set(TerminalState::of("failed", "")),
                }
            });
        }
    });
    react(screen, active, choices);
    on_cleanup(move || {
        if let Some(screen) = screen.try_get_value().flatten() {
            screen.dispose();
        }
    });
    let (severity, words) = (tab.state.clone(), tab.state.clone());
    view! {
        <div class="dock-panel" role="tabpanel" id=format!("terminal-{}", tab.id) hidden=move || !active.get()>
            <p class="dock-state" role="status">
                <Badge
                    tone=Signal::derive(move || severity.with(tone_of))
                    words=Signal::derive(move || words.with(TerminalState::words))
                />
            </p>
            <div class="dock-screen" node_ref=host></div>
        </div>
    }
}

fn tone_of(state: &TerminalState) -> Tone {
    match state {
        TerminalState::Open => Tone::Good,
        TerminalState::Connecting => Tone::Busy,
        TerminalState::Lost | TerminalState::InputDiscarded => Tone::Warning,
        TerminalState::Ended(_) => Tone::Neutral,
    }
}

/// Applies the choices of the dock to the screen of a terminal.
fn react(screen: ScreenSlot, active: Memo<bool>, choices: DockChoices) {
    let with = move |run: &dyn Fn(&Screen)| {
        screen.with_value(|screen| screen.as_ref().map(run));
    };
    Effect::new(move || {
        let size = FONT_SIZES[choices.font.get()];
        with(&|screen| screen.set_font_size(size));
    });
    Effect::new(move || {
        if active.get() {
            with(&Screen::focus);
        }
    });
    Effect::new(move || {
        let (count, forward) = choices.step.get();
        let text = choices.find.get_untracked();
        if count > 0 && active.get_untracked() && !text.is_empty() {
            with(&|screen| screen.find(&text, forward));
        }
    });
}
