//! Going on to an identity provider, to sign out there as well.

use drover_api::rest::ProviderSignOut;
use leptos::prelude::document;
use wasm_bindgen::JsCast as _;
use web_sys::{HtmlFormElement, HtmlInputElement};

/// Posts the form; this page is left, and the provider leads back to it. Where the page may not post
/// there, the browser tells the page later; the person is signed out here in any case.
pub(crate) fn post_sign_out(onward: &ProviderSignOut) -> Option<()> {
    let document = document();
    let form: HtmlFormElement = document.create_element("form").ok()?.dyn_into().ok()?;
    form.set_method("post");
    form.set_action(&onward.url);
    form.set_hidden(true);
    for (name, value) in &onward.fields {
        let field: HtmlInputElement = document.create_element("input").ok()?.dyn_into().ok()?;
        field.set_type("hidden");
        field.set_name(name);
        field.set_value(value.expose());
        form.append_child(&field).ok()?;
    }
    document.body()?.append_child(&form).ok()?;
    let sent = form.submit().ok();
    // The ID token stays in the page no longer than it takes.
    form.remove();
    sent
}
