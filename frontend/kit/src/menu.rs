//! Menus: popovers with arrow-key navigation.

use drover_ui_core::messages::t;
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::{HtmlElement, KeyboardEvent};

use crate::button::Weight;
use crate::field::unique;
use crate::icon::{Icon, Picture};

/// An item of a menu.
#[derive(Clone, Debug)]
pub struct Item {
    /// An icon before the text.
    pub icon: Icon,
    /// The text of the item.
    pub words: String,
    /// The check mark of an option; `None` for an action.
    pub checked: Option<Signal<bool>>,
    /// The callback that runs when the user chooses the item.
    pub on_choose: Callback<()>,
    /// The visual weight of the item.
    pub weight: Weight,
    /// The text for the permission that the user does not have. The text disables the item and is
    /// shown as the reason.
    pub missing: Option<String>,
    /// The URL path of the page that explains the missing permission.
    pub why: Option<String>,
}

impl Item {
    /// Returns the item of an action.
    pub fn action(
        icon: Icon,
        words: impl Into<String>,
        on_choose: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            icon,
            words: words.into(),
            checked: None,
            on_choose: Callback::new(move |()| on_choose()),
            weight: Weight::Plain,
            missing: None,
            why: None,
        }
    }

    /// Disables the item with the text for a missing permission.
    #[must_use]
    pub fn missing(mut self, missing: Option<String>) -> Self {
        self.missing = missing;
        self
    }

    /// Adds a link to the page that explains the missing permission.
    #[must_use]
    pub fn why(mut self, path: Option<String>) -> Self {
        self.why = path;
        self
    }

    /// Marks the action as destructive.
    #[must_use]
    pub const fn danger(mut self) -> Self {
        self.weight = Weight::Danger;
        self
    }
}

/// Shows a button that opens a menu.
#[component]
pub fn Menu(
    /// The accessible name of the button.
    #[prop(into)]
    label: String,
    /// The items of the menu.
    items: Vec<Item>,
    /// The content of the button.
    children: Children,
) -> impl IntoView {
    let list = NodeRef::<html::Div>::new();
    let id = unique("menu");
    let rows = items
        .into_iter()
        .map(|item| view! { <Row item=item list=list/> })
        .collect_view();
    // The menu focuses the first item when it opens.
    let opened = move |_| {
        if let Some(menu) = list.get_untracked() {
            step(&menu, 0, Step::First);
        }
    };
    view! {
        <div class="menu-anchor">
            <button type="button" class="button quiet menu-button" popovertarget=id.clone() aria-haspopup="menu">
                {children()}
                // The accessible name contains the visible text, for speech control (WCAG 2.5.3).
                <span class="visually-hidden">{label.clone()}</span>
                <Picture icon=Icon::ChevronDown/>
            </button>
            <div
                class="menu"
                id=id
                popover="auto"
                role="menu"
                aria-label=label
                node_ref=list
                on:toggle=opened
                on:keydown=move |event| keys(&event, list)
            >
                {rows}
            </div>
        </div>
    }
}

#[component]
fn Row(item: Item, list: NodeRef<html::Div>) -> impl IntoView {
    let class = match item.weight {
        Weight::Danger => "menu-item danger",
        _ => "menu-item",
    };
    let role = match item.checked {
        Some(_) => "menuitemradio",
        None => "menuitem",
    };
    let checked = item.checked;
    let missing = item.missing;
    let lacks = missing.is_some();
    let why = item.why.map(|path| {
        let action = item.words.clone();
        view! {
            <a class="menu-why" role="menuitem" tabindex="-1" href=path>
                {t().kit.why()}
                <span class="visually-hidden">{action}</span>
            </a>
        }
    });
    let reason = missing
        .clone()
        .map(|cause| view! { <small class="menu-reason">{cause}</small> });
    let choose = move |_| {
        if lacks {
            return;
        }
        if let Some(menu) = list.get_untracked() {
            // The menu can already be closed.
            let _ = menu.hide_popover();
        }
        item.on_choose.run(());
    };
    view! {
        <button
            type="button"
            class=class
            role=role
            tabindex="-1"
            aria-checked=move || checked.map(|checked| checked.get().to_string())
            aria-disabled=lacks.then_some("true")
            title=missing
            on:click=choose
        >
            <Picture icon=item.icon/>
            <span>{item.words}{reason}</span>
            {move || checked.filter(|checked| checked.get()).map(|_| view! { <Picture icon=Icon::Check/> })}
        </button>
        {why}
    }
}

#[derive(Clone, Copy)]
enum Step {
    First,
    Last,
    By(isize),
}

fn keys(event: &KeyboardEvent, list: NodeRef<html::Div>) {
    let step_by = match event.key().as_str() {
        "ArrowDown" => Step::By(1),
        "ArrowUp" => Step::By(-1),
        "Home" => Step::First,
        "End" => Step::Last,
        _ => return,
    };
    if let Some(menu) = list.get_untracked() {
        event.prevent_default();
        step(&menu, focused(&menu), step_by);
    }
}

fn items(menu: &HtmlElement) -> Vec<HtmlElement> {
    let children = menu.children();
    (0..children.length())
        .filter_map(|place| children.item(place)?.dyn_into().ok())
        .collect()
}

fn focused(menu: &HtmlElement) -> usize {
    let active = document().active_element();
    items(menu)
        .iter()
        .position(|item| {
            active
                .as_ref()
                .is_some_and(|active| item.is_same_node(Some(active)))
        })
        .unwrap_or_default()
}

fn step(menu: &HtmlElement, from: usize, step: Step) {
    let items = items(menu);
    let count = items.len();
    if count == 0 {
        return;
    }
    let to = match step {
        Step::First => 0,
        Step::Last => count - 1,
        Step::By(1) => (from + 1) % count,
        Step::By(_) => (from + count - 1) % count,
    };
    // The item can be disposed before the focus moves.
    let _ = items[to].focus();
}
