//! The command palette (Ctrl or ⌘ with K): fuzzy search over pages and commands.

mod objects;
mod page_actions;

use drover_api::rest::ViewView;
use drover_ui_core::kind::Kind;
use drover_ui_core::list::searched::SkippedCluster;
use drover_ui_core::messages::t;
use drover_ui_core::palette::ranked_matches;
use drover_ui_core::view::title;
use drover_ui_kit::choice::{InMenu as _, Stored as _};
use drover_ui_kit::dialog::follow;
use drover_ui_kit::icon::{Icon, Picture};
use drover_ui_kit::language::PageLanguage;
use drover_ui_kit::theme::{Theme, ThemeChoice};
use drover_ui_kit::toast::Toasts;
use leptos::html;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use crate::chunk::LazyParts;
use crate::live::Clusters;
use crate::pages::pages;
use crate::saved_views::SavedViews;
use crate::session::preferences::PreferenceSync;
use crate::session::{Session, sign_out};
use crate::unsaved::UnsavedGuard;
use drover_ui_core::cluster::{is_connected, members_screen, screen as cluster_screen};
use objects::FoundObjects;
pub(crate) use page_actions::{ClusterDialog, PageAction, PageActions};

/// The maximum number of entries in the result list.
const MAX_SHOWN: usize = 50;

/// True while the palette is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaletteOpen {
    open: RwSignal<bool>,
    /// The entered text. The user can type before the text field of the palette is loaded.
    typed: RwSignal<String>,
}

impl PaletteOpen {
    /// Provides the palette's open state as a context, and listens for the keyboard shortcut.
    pub(crate) fn provide() -> Self {
        let palette = Self {
            open: RwSignal::new(false),
            typed: RwSignal::default(),
        };
        let listening = window_event_listener(leptos::ev::keydown, move |event| {
            let modified = event.ctrl_key() || event.meta_key();
            if modified && !event.alt_key() && event.key().eq_ignore_ascii_case("k") {
                event.prevent_default();
                palette.open.update(|open| *open = !*open);
            }
        });
        on_cleanup(move || listening.remove());
        provide_context(palette);
        palette
    }

    pub(crate) fn open(self) {
        self.open.set(true);
    }
}

/// An entry of the palette.
#[derive(Clone)]
struct Command {
    icon: Icon,
    title: String,
    /// The kind of the entry, or the kind and the place of an object.
    kind: String,
    run: Callback<()>,
}

/// Shows the palette while it is open.
#[component]
pub(crate) fn Palette() -> impl IntoView {
    let PaletteOpen { open, typed } = expect_context();
    let types = move |event: KeyboardEvent| {
        let modified = event.ctrl_key() || event.meta_key() || event.alt_key();
        let is_character = event.key().chars().count() == 1;
        let field = document().query_selector(".palette input");
        if is_character && !modified && matches!(field, Ok(None)) {
            typed.update(|text| text.push_str(&event.key()));
        }
    };
    let content = expect_context::<LazyParts>().palette;
    let node = NodeRef::<html::Dialog>::new();
    follow(node, open);
    view! {
        <dialog
            class="dialog palette"
            aria-label=t().palette.title()
            node_ref=node
            on:close=move |_| {
                open.set(false);
                typed.set(String::new());
            }
            on:keydown=types
        >
            {move || open.get().then(content)}
        </dialog>
    }
}

/// The entered text, the matches and the selected match.
#[derive(Clone, Copy)]
struct PaletteSearch {
    open: RwSignal<bool>,
    typed: RwSignal<String>,
    place: RwSignal<usize>,
    commands: Memo<Vec<Command>>,
    /// The indexes of matching entries in `commands`, best match first.
    found: Memo<Vec<usize>>,
    /// The matching objects of all clusters, after the matches of `commands`.
    objects: FoundObjects,
}

impl PaletteSearch {
    fn new(open: RwSignal<bool>, typed: RwSignal<String>) -> Self {
        let commands = commands();
        let found = Memo::new(move |_| {
            commands.with(|commands| {
                let titles = commands.iter().map(|command| command.title.as_str());
                let mut found = ranked_matches(&typed.get(), titles);
                found.truncate(MAX_SHOWN);
                found
            })
        });
        Self {
            open,
            typed,
            place: RwSignal::new(0),
            commands,
            found,
            objects: objects::objects(typed),
        }
    }

    fn types(self, text: String) {
        self.typed.set(text);
        self.place.set(0);
    }

    fn key(self, event: &KeyboardEvent) {
        let (place, count) = (self.place, untrack(|| self.count()));
        match event.key().as_str() {
            "ArrowDown" if count > 0 => place.update(|place| *place = (*place + 1) % count),
            "ArrowUp" if count > 0 => place.update(|place| *place = (*place + count - 1) % count),
            "Enter" => self.run(place.get_untracked()),
            _ => return,
        }
        event.prevent_default();
    }

    /// Returns the number of matches.
    fn count(self) -> usize {
        self.found.with(Vec::len) + self.objects.entries.with(Vec::len)
    }

    /// Returns the entry of a row: first the commands, and then the objects.
    fn entry(self, row: usize) -> Option<Command> {
        let found = self.found.with(Vec::len);
        if let Some(object) = row.checked_sub(found) {
            let objects = self.objects.entries;
            return objects.with(|objects| objects.get(object).cloned());
        }
        let command = self.found.with(|found| found.get(row).copied())?;
        self.commands
            .with(|commands| commands.get(command).cloned())
    }

    fn run(self, row: usize) {
        if let Some(command) = untrack(|| self.entry(row)) {
            self.open.set(false);
            command.run.run(());
        }
    }

    /// Renders the matches as rows.
    fn rows(self) -> impl IntoView {
        let run = Callback::new(move |row| self.run(row));
        let rows = (0..self.count())
            .filter_map(|row| Some(option(row, self.entry(row)?, self.place, run)));
        rows.collect_view()
    }

    /// Scrolls the list so that the selected row is visible.
    fn scrolls(self) {
        Effect::new(move || {
            let place = self.place.get();
            let chosen = document().get_element_by_id(&format!("command-{place}"));
            if let Some(chosen) = chosen.filter(|_| place > 0) {
                chosen.scroll_into_view_with_bool(false);
            }
        });
    }
}

/// Shows the text field and the results.
#[component]
pub(crate) fn PaletteContent() -> impl IntoView {
    let PaletteOpen { open, typed } = expect_context();
    let choosing = PaletteSearch::new(open, typed);
    choosing.scrolls();
    let input = NodeRef::<html::Input>::new();
    Effect::new(move || {
        if let Some(input) = input.get() {
            // A failed focus has no effect.
            let _ = input.focus();
        }
    });
    view! {
        <div class="search">
            <Picture icon=Icon::Search/>
            <input
                node_ref=input
                type="text"
                role="combobox"
                aria-expanded="true"
                aria-controls="palette-list"
                aria-activedescendant=move || format!("command-{}", choosing.place.get())
                aria-label=t().palette.search()
                placeholder=t().palette.hint()
                autocomplete="off"
                spellcheck="false"
                prop:value=choosing.typed
                on:input=move |event| choosing.types(event_target_value(&event))
                on:keydown=move |event| choosing.key(&event)
            />
        </div>
        <div class="palette-list" id="palette-list" role="listbox" aria-label=t().kit.results()>
            {move || choosing.rows()}
        </div>
        <Show when=move || choosing.count() == 0>
            <p class="palette-empty" role="status">{t().kit.no_results()}</p>
        </Show>
        {move || skipped(&choosing.objects.skipped.get())}
    }
}

/// Names the clusters whose objects are not all searched.
fn skipped(clusters: &[SkippedCluster]) -> Option<AnyView> {
    if clusters.is_empty() {
        return None;
    }
    let line = |it: &SkippedCluster| view! { <li>{it.line()}</li> };
    Some(
        view! {
            <details class="palette-skipped muted">
                <summary>{t().palette.skipped(clusters.len())}</summary>
                <ul>{clusters.iter().map(line).collect_view()}</ul>
            </details>
        }
        .into_any(),
    )
}

fn option(row: usize, command: Command, place: RwSignal<usize>, run: Callback<usize>) -> AnyView {
    view! {
        <div
            class="palette-item"
            role="option"
            id=format!("command-{row}")
            aria-selected=move || (place.get() == row).to_string()
            on:click=move |_| run.run(row)
            on:pointermove=move |_| {
                if place.get_untracked() != row {
                    place.set(row);
                }
            }
        >
            <Picture icon=command.icon/>
            <span class="truncate">{command.title}</span>
            <span class="muted">{command.kind}</span>
        </div>
    }
    .into_any()
}

/// Returns all entries. The result includes entries for clusters and saved views after the clusters
/// and views are loaded.
fn commands() -> Memo<Vec<Command>> {
    let clusters = expect_context::<Clusters>();
    let views = expect_context::<SavedViews>();
    views.refresh();
    let names = Memo::new(move |_| {
        let clusters = clusters.items().unwrap_or_default();
        let known = clusters.iter().map(|it| KnownCluster {
            name: it.name.clone(),
            is_connected: is_connected(it),
        });
        known.collect::<Vec<_>>()
    });
    let actions = expect_context::<PageActions>();
    Memo::new_with_compare(
        move |_| {
            let mut all = actions.commands();
            all.extend(commands_of(&names.get(), &views.all()));
            all
        },
        |_, _| true,
    )
}

/// A cluster of the palette.
#[derive(Clone, PartialEq)]
struct KnownCluster {
    name: String,
    is_connected: bool,
}

fn commands_of(clusters: &[KnownCluster], views: &[ViewView]) -> Vec<Command> {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let (themes, guard) = (
        expect_context::<ThemeChoice>(),
        expect_context::<UnsavedGuard>(),
    );
    let mut all = places();
    all.extend(views.iter().map(saved_view));
    all.extend(Theme::ALL.iter().map(|theme| Command {
        icon: theme.icon(),
        title: t().palette.theme(theme.words()),
        kind: t().palette.kind_command().to_owned(),
        run: Callback::new(move |()| themes.choose(*theme)),
    }));
    all.extend(languages(guard));
    all.push(Command {
        icon: Icon::SignOut,
        title: t().frame.sign_out().to_owned(),
        kind: t().palette.kind_command().to_owned(),
        run: Callback::new(move |()| guard.before(move || sign_out(session, toasts, false))),
    });
    all.extend(of_clusters(clusters));
    all
}

/// Returns the entries that change the language. The change loads the page again.
fn languages(guard: UnsavedGuard) -> impl Iterator<Item = Command> {
    let preferences = expect_context::<PreferenceSync>();
    PageLanguage::ALL.iter().map(move |language| Command {
        icon: language.icon(),
        title: t().palette.language(language.words()),
        kind: t().palette.kind_command().to_owned(),
        run: Callback::new(move |()| guard.before(move || preferences.choose_language(*language))),
    })
}

fn go(icon: Icon, title: &str, path: String) -> Command {
    let guard = expect_context::<UnsavedGuard>();
    Command {
        icon,
        title: title.to_owned(),
        kind: t().palette.kind_page().to_owned(),
        run: Callback::new(move |()| guard.go(&path)),
    }
}

fn saved_view(view: &ViewView) -> Command {
    Command {
        kind: t().views.kind().to_owned(),
        ..go(Icon::Lines, &title(view), view.path.clone())
    }
}

fn places() -> Vec<Command> {
    let pages = pages(expect_context::<Session>()).into_iter();
    pages
        .map(|page| go(page.icon, page.title, page.path.to_owned()))
        .collect()
}

/// Returns the entries for the screens of the current cluster and for all clusters.
fn of_clusters(clusters: &[KnownCluster]) -> Vec<Command> {
    let here = window().location().pathname().unwrap_or_default();
    let names = clusters.iter().map(|cluster| &cluster.name);
    let in_sight = names
        .clone()
        .filter(|name| is_within(&here, &cluster_screen(name)));
    let screens = in_sight.flat_map(|cluster| {
        let kinds = Kind::all().map(move |kind| {
            let title = t().palette.of_cluster(cluster, kind.heading);
            go(icon_of(kind), &title, kind.list_screen(cluster))
        });
        let members = t().palette.of_cluster(cluster, t().palette.members());
        kinds.chain([go(Icon::Users, &members, members_screen(cluster))])
    });
    let all = names.map(|name| go(Icon::Clusters, name, cluster_screen(name)));
    let actions = expect_context::<PageActions>();
    let connected = clusters.iter().filter(|cluster| cluster.is_connected);
    let dialogs = connected.flat_map(|cluster| {
        let name = &cluster.name;
        let is_here = is_within(&here, &cluster_screen(name));
        let shell = is_here.then_some(ClusterDialog::KubectlShell);
        let dialogs = [ClusterDialog::Create].into_iter().chain(shell);
        dialogs.map(move |dialog| actions.dialog(dialog, name))
    });
    screens.chain(all).chain(dialogs).collect()
}

/// Reports whether `path` is equal to `place` or is below `place`.
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
