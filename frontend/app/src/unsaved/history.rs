//! The browser's history: which of its entries is in sight, and steps to others.

use js_sys::Reflect;
use leptos::prelude::window;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::prelude::JsValue;
use web_sys::{Event, EventTarget};

/// The browser's Navigation API, where there is one.
pub(super) fn navigation() -> Option<EventTarget> {
    of(&window(), "navigation")?.dyn_into().ok()
}

/// The place of the entry in sight, among those of this page; nothing where the browser does not tell.
pub(super) fn place() -> Option<i32> {
    let entry = of(navigation()?.as_ref(), "currentEntry")?;
    let place = of(&entry, "index")?.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "browsers keep some dozens of entries, and count in whole numbers"
    )]
    let place = place as i32;
    (place >= 0).then_some(place)
}

/// Whether another entry came in sight because one was made or took its place, and not by a step.
pub(super) fn is_new(event: &Event) -> bool {
    let kind = of(event, "navigationType").and_then(|it| it.as_string());
    kind.is_none_or(|kind| kind != "traverse")
}

/// Goes so many entries forward, or back if it is negative; the browser tells of it later. Whether
/// there will be such a step.
pub(super) fn step(by: i32) -> bool {
    let go = |by| window().history()?.go_with_delta(by);
    // A step by none loads the page anew.
    by != 0 && go(by).is_ok()
}

/// Makes an entry after the one in sight, with this path; whether the browser did.
pub(super) fn push(path: &str) -> bool {
    let push = || {
        let history = window().history()?;
        history.push_state_with_url(&JsValue::NULL, "", Some(path))
    };
    push().is_ok()
}

/// What an object has by this name, if it has any.
fn of(object: &JsValue, name: &str) -> Option<JsValue> {
    let found = Reflect::get(object, &name.into()).ok()?;
    (!found.is_undefined() && !found.is_null()).then_some(found)
}
