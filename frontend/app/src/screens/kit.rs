//! Every component of the kit, in all its states.

mod forms;
mod picks;
mod rows;
mod words;

use drover_ui_kit::tabs::{Tab, Tabs};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_query_map};

use crate::screens::title::title;
use forms::Forms;
use picks::Picks;
use rows::Rows;
use words::Words;

/// The screen.
#[component]
pub(crate) fn Kit() -> impl IntoView {
    title("Kit");
    let query = use_query_map();
    let chosen = Memo::new(move |_| {
        query.with(|query| query.get("part").unwrap_or_else(|| "forms".to_owned()))
    });
    let navigate = use_navigate();
    let choose = Callback::new(move |key: String| {
        let stay = NavigateOptions {
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate(&format!("/kit?part={key}"), stay);
    });
    let tab = |key: &str, words: &str| Tab {
        key: key.to_owned(),
        words: words.to_owned(),
    };
    let tabs = vec![
        tab("forms", "Buttons, forms, dialogs"),
        tab("picks", "Choosing, confirming, secrets"),
        tab("words", "States, notices, code"),
        tab("rows", "Table of 10,000 rows"),
    ];
    view! {
        <div class="page">
            <header class="page-head"><h1>"Kit"</h1></header>
            <div>
                <Tabs label="Parts of the kit" tabs=tabs chosen=chosen on_choose=choose>
                    {move || match chosen.get().as_str() {
                        "picks" => view! { <Picks/> }.into_any(),
                        "words" => view! { <Words/> }.into_any(),
                        "rows" => view! { <Rows/> }.into_any(),
                        _ => view! { <Forms/> }.into_any(),
                    }}
                </Tabs>
            </div>
        </div>
    }
}
