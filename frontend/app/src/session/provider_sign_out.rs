//! The sign-out at an identity provider.

use drover_api::rest::ProviderSignOut;
use leptos::prelude::document;
use wasm_bindgen::JsCast as _;
use web_sys::{HtmlFormElement, HtmlInputElement};

/// Posts the sign-out form to the provider. The provider then redirects the browser to Drover.
/// Drover's session is already closed.
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
    // The form contains the ID token, so the code removes the form.
    form.remove();
    sent
}
