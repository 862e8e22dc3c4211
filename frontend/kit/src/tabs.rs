//! Tabs with arrow-key navigation.

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::{HtmlElement, KeyboardEvent};

use crate::field::unique;

/// A tab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tab {
    /// The key of the tab in URLs.
    pub key: String,
    /// The label of the tab.
    pub words: String,
}

/// Shows tabs above a panel.
#[component]
pub fn Tabs(
    /// The accessible name of the tabs.
    #[prop(into)]
    label: String,
    /// The tabs in their order.
    tabs: Vec<Tab>,
    /// The key of the selected tab.
    #[prop(into)]
    chosen: Signal<String>,
    /// The callback that receives the key of the newly selected tab.
    #[prop(into)]
    on_choose: Callback<String>,
    /// The content of the panel.
    children: Children,
) -> impl IntoView {
    let row = NodeRef::<html::Div>::new();
    let panel = unique("panel");
    let keys: Vec<String> = tabs.iter().map(|tab| tab.key.clone()).collect();
    let buttons = tabs
        .into_iter()
        .map(|tab| {
            let panel = panel.clone();
            view! { <TabButton tab=tab panel=panel chosen=chosen on_choose=on_choose/> }
        })
        .collect_view();
    let on_key = move |event: KeyboardEvent| {
        let at = keys.iter().position(|key| *key == chosen.get_untracked());
        let (Some(at), count) = (at, keys.len()) else {
            return;
        };
        let to = match event.key().as_str() {
            "ArrowRight" => (at + 1) % count,
            "ArrowLeft" => (at + count - 1) % count,
            _ => return,
        };
        on_choose.run(keys[to].clone());
        focus_child(row, to);
    };
    view! {
        <div class="tabs" role="tablist" aria-label=label node_ref=row on:keydown=on_key>
            {buttons}
        </div>
        <div class="panel" role="tabpanel" id=panel>{children()}</div>
    }
}

#[component]
fn TabButton(
    tab: Tab,
    panel: String,
    chosen: Signal<String>,
    on_choose: Callback<String>,
) -> impl IntoView {
    let key = tab.key.clone();
    let is_chosen = Memo::new(move |_| chosen.get() == key);
    let key = tab.key;
    view! {
        <button
            type="button"
            role="tab"
            class="tab"
            aria-controls=panel
            aria-selected=move || is_chosen.get().to_string()
            tabindex=move || if is_chosen.get() { "0" } else { "-1" }
            on:click=move |_| on_choose.run(key.clone())
        >
            {tab.words}
        </button>
    }
}

fn focus_child(row: NodeRef<html::Div>, place: usize) {
    let child = row
        .get_untracked()
        .and_then(|row| {
            row.children()
                .item(u32::try_from(place).unwrap_or(u32::MAX))
        })
        .and_then(|child| child.dyn_into::<HtmlElement>().ok());
    if let Some(child) = child {
        // The tab can be disposed before the focus moves.
        let _ = child.focus();
    }
}
