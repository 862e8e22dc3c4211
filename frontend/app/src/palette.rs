//! The palette: every place and every deed, by some of its letters (Ctrl or ⌘ with K).

use drover_ui_core::kind::Kind;
use drover_ui_core::palette::ranked;
use drover_ui_kit::dialog::follow;
use drover_ui_kit::icon::{Icon, Picture};
use drover_ui_kit::theme::{Theme, ThemeChoice};
use drover_ui_kit::toast::Toasts;
use leptos::html;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use web_sys::KeyboardEvent;

use crate::frame::{sign_out, theme_icon};
use crate::gate::Gate;
use crate::live::Clusters;
use crate::screens::cluster::path_of;

/// More would not be read.
const SHOWN: usize = 50;

/// Whether the palette is open, for all of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaletteOpen(RwSignal<bool>);

impl PaletteOpen {
    /// Gives it to the page as a context, and listens for the keys that open it.
    pub(crate) fn provide() -> Self {
        let open = Self(RwSignal::new(false));
        let listening = window_event_listener(leptos::ev::keydown, move |event| {
            let modified = event.ctrl_key() || event.meta_key();
            if modified && !event.alt_key() && event.key().eq_ignore_ascii_case("k") {
                event.prevent_default();
                open.0.update(|open| *open = !*open);
            }
        });
        on_cleanup(move || listening.remove());
        provide_context(open);
        open
    }

    /// Opens it.
    pub(crate) fn open(self) {
        self.0.set(true);
    }
}

/// Something that can be done.
#[derive(Clone)]
struct Deed {
    icon: Icon,
    title: String,
    kind: &'static str,
    run: Callback<()>,
}

/// The palette itself.
#[component]
pub(crate) fn Palette() -> impl IntoView {
    let PaletteOpen(open) = expect_context();
    let node = NodeRef::<html::Dialog>::new();
    follow(node, open);
    view! {
        <dialog
            class="dialog palette"
            aria-label="Go to a place, or do something"
            node_ref=node
            on:close=move |_| open.set(false)
        >
            {move || open.get().then(|| view! { <Choice open=open/> })}
        </dialog>
    }
}

#[component]
fn Choice(open: RwSignal<bool>) -> impl IntoView {
    let (typed, place) = (RwSignal::new(String::new()), RwSignal::new(0_usize));
    let deeds = deeds();
    let found = Memo::new(move |_| {
        deeds.with_value(|deeds| {
            let titles = deeds.iter().map(|deed| deed.title.as_str());
            let mut found = ranked(&typed.get(), titles);
            found.truncate(SHOWN);
            found
        })
    });
    let run = move |place: usize| {
        let deed = found.with_untracked(|found| found.get(place).copied());
        let deed = deed.and_then(|deed| deeds.with_value(|deeds| deeds.get(deed).cloned()));
        if let Some(deed) = deed {
            open.set(false);
            deed.run.run(());
        }
    };
    let keys = move |event: KeyboardEvent| {
        let count = found.with_untracked(Vec::len);
        match event.key().as_str() {
            "ArrowDown" if count > 0 => place.update(|place| *place = (*place + 1) % count),
            "ArrowUp" if count > 0 => place.update(|place| *place = (*place + count - 1) % count),
            "Enter" => run(place.get_untracked()),
            _ => return,
        }
        event.prevent_default();
    };
    let typing = move |event| {
        typed.set(event_target_value(&event));
        place.set(0);
    };
    let input = NodeRef::<html::Input>::new();
    Effect::new(move || {
        if let Some(input) = input.get() {
            // The dialog was just opened; a browser that does not focus it leaves that to the person.
            let _ = input.focus();
        }
    });
    Effect::new(move || {
        let chosen = document().get_element_by_id(&format!("deed-{}", place.get()));
        if let Some(chosen) = chosen.filter(|_| place.get() > 0) {
            chosen.scroll_into_view_with_bool(false);
        }
    });
    let rows = move || {
        let rows = found.get().into_iter().enumerate();
        rows.filter_map(|(row, deed)| {
            let deed = deeds.with_value(|deeds| deeds.get(deed).cloned())?;
            Some(option(row, deed, place, Callback::new(run)))
        })
        .collect_view()
    };
    view! {
        <div class="search">
            <Picture icon=Icon::Search/>
            <input
                node_ref=input
                type="text"
                role="combobox"
                aria-expanded="true"
                aria-controls="palette-list"
                aria-activedescendant=move || format!("deed-{}", place.get())
                aria-label="Search for a cluster, a page or a command"
                placeholder="A cluster, a page or a command"
                autocomplete="off"
                spellcheck="false"
                on:input=typing
                on:keydown=keys
            />
        </div>
        <div class="palette-list" id="palette-list" role="listbox" aria-label="What fits">{rows}</div>
        <Show when=move || found.with(Vec::is_empty)>
            <p class="palette-none" role="status">"Nothing fits. Try fewer letters."</p>
        </Show>
    }
}

fn option(row: usize, deed: Deed, place: RwSignal<usize>, run: Callback<usize>) -> AnyView {
    view! {
        <div
            class="palette-item"
            role="option"
            id=format!("deed-{row}")
            aria-selected=move || (place.get() == row).to_string()
            on:click=move |_| run.run(row)
            on:pointermove=move |_| {
                if place.get_untracked() != row {
                    place.set(row);
                }
            }
        >
            <Picture icon=deed.icon/>
            <span class="cut">{deed.title}</span>
            <span class="soft">{deed.kind}</span>
        </div>
    }
    .into_any()
}

/// Everything that can be done from everywhere.
fn deeds() -> StoredValue<Vec<Deed>> {
    let (gate, toasts) = (expect_context::<Gate>(), expect_context::<Toasts>());
    let themes = expect_context::<ThemeChoice>();
    let mut all = places();
    all.extend(Theme::ALL.into_iter().map(|theme| Deed {
        icon: theme_icon(theme),
        title: format!("Theme: {}", theme.words().to_lowercase()),
        kind: "do",
        run: Callback::new(move |()| themes.choose(theme)),
    }));
    all.push(Deed {
        icon: Icon::SignOut,
        title: "Sign out".to_owned(),
        kind: "do",
        run: Callback::new(move |()| sign_out(gate, toasts, false)),
    });
    all.extend(clusters());
    StoredValue::new(all)
}

fn go(icon: Icon, title: &str, path: String) -> Deed {
    let navigate = use_navigate();
    Deed {
        icon,
        title: title.to_owned(),
        kind: "go",
        run: Callback::new(move |()| navigate(&path, NavigateOptions::default())),
    }
}

fn places() -> Vec<Deed> {
    let mut places = vec![
        go(Icon::Clusters, "All clusters", "/".to_owned()),
        go(Icon::Plus, "Import a cluster", "/import".to_owned()),
        go(Icon::Key, "Tokens", "/tokens".to_owned()),
        go(Icon::Plus, "Make a token", "/tokens?do=make".to_owned()),
        go(Icon::Info, "About this server", "/about".to_owned()),
        go(Icon::Lock, "Change password", "/password".to_owned()),
        go(Icon::Copy, "The kit: every component", "/kit".to_owned()),
    ];
    if expect_context::<Gate>().is_administrator() {
        places.extend([
            go(Icon::Users, "Users", "/users".to_owned()),
            go(Icon::Plus, "Make a user", "/users?do=make".to_owned()),
            go(Icon::Settings, "Settings", "/settings".to_owned()),
        ]);
    }
    places
}

/// What there is of the cluster in sight, and all clusters.
fn clusters() -> Vec<Deed> {
    let clusters = expect_context::<Clusters>().items().unwrap_or_default();
    let here = window().location().pathname().unwrap_or_default();
    let in_sight = clusters
        .iter()
        .filter(|it| is_within(&here, &path_of(&it.name)));
    let kinds = in_sight.flat_map(|cluster| {
        Kind::all().map(|kind| {
            let title = format!("{}: {}", cluster.name, kind.heading);
            go(icon_of(kind), &title, kind.list_screen(&cluster.name))
        })
    });
    let all = clusters
        .iter()
        .map(|cluster| go(Icon::Clusters, &cluster.name, path_of(&cluster.name)));
    kinds.chain(all).collect()
}

/// Whether a path is this one, or below it.
fn is_within(path: &str, place: &str) -> bool {
    let rest = path.strip_prefix(place);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn icon_of(kind: Kind) -> Icon {
    match kind {
        Kind::EVENTS => Icon::Clock,
        _ => Icon::Terminal,
    }
}
