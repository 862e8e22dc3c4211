//! The browser history.

use js_sys::Reflect;
use leptos::prelude::window;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::prelude::JsValue;
use web_sys::{Event, EventTarget};

/// Returns the Navigation API, if the browser supports it.
pub(super) fn navigation() -> Option<EventTarget> {
    of(&window(), "navigation")?.dyn_into().ok()
}

/// Returns the index of the current history entry, if the browser supports the Navigation API.
pub(super) fn place() -> Option<i32> {
    let entry = of(navigation()?.as_ref(), "currentEntry")?;
    let place = of(&entry, "index")?.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the index is a small whole number"
    )]
    let place = place as i32;
    (place >= 0).then_some(place)
}

/// Reports whether the event is from a new or replaced history entry. Returns false for a step in
/// the history.
pub(super) fn is_new(event: &Event) -> bool {
    let kind = of(event, "navigationType").and_then(|it| it.as_string());
    kind.is_none_or(|kind| kind != "traverse")
}

/// Moves by a number of history entries, asynchronously. Returns true if the browser accepted the
/// move.
pub(super) fn step(by: i32) -> bool {
    let go = |by| window().history()?.go_with_delta(by);
    // A step of 0 would reload the page.
    by != 0 && go(by).is_ok()
}

/// Pushes a history entry. Returns true if the browser accepted the entry.
pub(super) fn push(path: &str) -> bool {
    let push = || {
        let history = window().history()?;
        history.push_state_with_url(&JsValue::NULL, "", Some(path))
    };
    push().is_ok()
}

/// Returns a property of a JavaScript object.
fn of(object: &JsValue, name: &str) -> Option<JsValue> {
    let found = Reflect::get(object, &name.into()).ok()?;
    (!found.is_undefined() && !found.is_null()).then_some(found)
}
