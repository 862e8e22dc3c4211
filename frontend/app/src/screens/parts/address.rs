//! Stores filters and sort order in the URL, so that a copied link shows the same list.

pub(crate) use drover_ui_core::url::with_query as path;
use drover_ui_core::url::{parse_sort_parameter, sort_parameter};
use drover_ui_kit::table::Sorting;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate, use_query_map};
use wasm_bindgen::JsValue;

/// Calls `read` with the URL query when the screen opens, and after each change of the query.
pub(crate) fn read(screen: &str, read: impl Fn(&dyn Fn(&str) -> String) + Send + Sync + 'static) {
    let (query, pathname) = (use_query_map(), use_location().pathname);
    read(&|name| query.with_untracked(|query| query.get(name).unwrap_or_default()));
    let screen = screen.to_owned();
    Effect::new(move |first: Option<()>| {
        // During a navigation, the previous screen still receives URL changes.
        let here = pathname.with(|pathname| *pathname == screen);
        query.track();
        if here && first.is_some() {
            read(&|name| query.with_untracked(|query| query.get(name).unwrap_or_default()));
        }
    });
}

/// Replaces the URL with `path` after each change of `path`, without new history entries.
pub(crate) fn keep(path: impl Fn() -> String + Send + Sync + 'static) {
    Effect::new(move |earlier: Option<String>| {
        let path = path();
        // A navigation to another screen can be in progress.
        if earlier.is_some_and(|earlier| earlier != path) && is_here(&path) {
            let history = window().history();
            // A browser that limits the rate of history changes keeps the previous URL.
            let _ = history.and_then(|history| {
                history.replace_state_with_url(&JsValue::NULL, "", Some(&path))
            });
        }
        path
    });
}

/// Reports whether the page shows the screen of a path.
fn is_here(path: &str) -> bool {
    let screen = path.split('?').next().unwrap_or_default();
    let here = window().location().pathname().unwrap_or_default();
    let decoded = |text: &str| js_sys::decode_uri_component(text).ok();
    decoded(screen) == decoded(&here)
}

/// Returns a function that navigates to a created object. The function first waits until the dialog
/// has removed its query from the URL, so that Back returns to the list.
pub(crate) fn to_created() -> impl Fn(String) + Clone + 'static {
    let navigate = use_navigate();
    move |path: String| {
        let navigate = navigate.clone();
        request_animation_frame(move || navigate(&path, NavigateOptions::default()));
    }
}

/// Returns options for a navigation that replaces the history entry.
pub(crate) fn in_place() -> NavigateOptions {
    NavigateOptions {
        replace: true,
        scroll: false,
        ..NavigateOptions::default()
    }
}

/// Formats a sort order for the URL: the column, with `-` for descending.
pub(crate) fn sorting_text(sorting: Sorting, by_default: Sorting) -> String {
    if sorting == by_default {
        return String::new();
    }
    sort_parameter(sorting.column, sorting.descending)
}

/// Parses the sort order of a URL. Returns the default order for unknown columns.
pub(crate) fn sorting(text: &str, columns: &[&'static str], by_default: Sorting) -> Sorting {
    let (key, descending) = parse_sort_parameter(text);
    let column = columns.iter().find(|column| **column == key);
    column.map_or(by_default, |column| Sorting { column, descending })
}
