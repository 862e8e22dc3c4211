//! Downloads of files.

use js_sys::Array;
use leptos::prelude::document;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{Blob, HtmlAnchorElement, Url};

/// Saves a text as a file. Returns false if the browser does not support downloads.
pub(crate) fn save(name: &str, text: &str) -> bool {
    try_save(name, text).is_ok()
}

fn try_save(name: &str, text: &str) -> Result<(), JsValue> {
    let parts = Array::of1(&JsValue::from_str(text));
    let blob = Blob::new_with_str_sequence(&parts)?;
    let url = Url::create_object_url_with_blob(&blob)?;
    let link: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    link.set_href(&url);
    link.set_download(name);
    link.click();
    // The browser has copied the content.
    Url::revoke_object_url(&url)
}
