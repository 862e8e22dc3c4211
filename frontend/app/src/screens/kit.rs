//! The screen `/kit`, which shows all components of the kit in all states.

mod forms;
mod pickers;
mod states;
mod table;

use drover_ui_kit::tabs::{Tab, Tabs};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_query_map};

use crate::screens::head::PageHead;
use crate::screens::title::title;
use forms::Forms;
use pickers::Pickers;
use states::States;
use table::LongTable;

/// The screen with the components of the kit.
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
        tab("pickers", "Pickers, confirmations, secrets"),
        tab("states", "States, notices, code"),
        tab("table", "Table with 10,000 rows"),
    ];
    view! {
        <div class="page">
            <PageHead title="Kit"/>
            <div>
                <Tabs label="Component groups" tabs=tabs chosen=chosen on_choose=choose>
                    {move || match chosen.get().as_str() {
                        "pickers" => view! { <Pickers/> }.into_any(),
                        "states" => view! { <States/> }.into_any(),
                        "table" => view! { <LongTable/> }.into_any(),
                        _ => view! { <Forms/> }.into_any(),
                    }}
                </Tabs>
            </div>
        </div>
    }
}
