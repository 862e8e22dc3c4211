//! The filter of log lines, with the browser's regular expressions.

use std::cell::RefCell;
use std::sync::Arc;

use drover_ui_core::log::{LineFilter, MinLevel};
use drover_ui_core::messages::t;
use js_sys::{Function, Reflect, RegExp};
use leptos::prelude::*;
use wasm_bindgen::{JsCast as _, JsValue};

use super::reader::Reader;
use super::view::LogView;

thread_local! {
    /// The last compiled regular expression, with its text.
    static COMPILED: RefCell<Option<(String, RegExp)>> = const { RefCell::new(None) };
}

/// Compiles a regular expression. The constructor throws an exception for invalid text.
fn compile(text: &str) -> Option<RegExp> {
    let constructor = Reflect::get(&window(), &JsValue::from_str("RegExp")).ok()?;
    let constructor: Function = constructor.dyn_into().ok()?;
    let arguments = js_sys::Array::of2(&text.into(), &"i".into());
    let compiled = Reflect::construct(&constructor, &arguments).ok()?;
    compiled.dyn_into().ok()
}

fn matches(text: &str, line: &str) -> bool {
    COMPILED.with_borrow_mut(|compiled| {
        if compiled.as_ref().is_none_or(|(known, _)| known != text) {
            *compiled = compile(text).map(|compiled| (text.to_owned(), compiled));
        }
        let compiled = compiled.as_ref();
        compiled.is_none_or(|(_, compiled)| compiled.test(line))
    })
}

/// Returns the error text for an invalid regular expression.
pub(super) fn bad_filter(text: &str) -> Option<String> {
    let invalid = compile(text).is_none();
    invalid.then(|| t().log.bad_filter().to_owned())
}

/// Applies the filter of the view to the log.
pub(super) fn apply(view: LogView, reader: Reader) {
    Effect::new(move || {
        let (level, text) = (view.level.get(), view.filter.get());
        let matches = (!text.is_empty()).then(|| {
            let matches = move |line: &str| matches(&text, line);
            Arc::new(matches) as Arc<dyn Fn(&str) -> bool + Send + Sync>
        });
        let filter = LineFilter::new(MinLevel::of_key(&level), matches);
        reader.log.update(|log| log.filter(filter));
    });
}
