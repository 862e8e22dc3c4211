//! The JavaScript module with xterm.js. The browser loads the module with the first terminal.

use js_sys::{Array, Function, Promise, Reflect};
use leptos::prelude::window;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::HtmlElement;

/// A terminal screen of xterm.js with its connection.
#[derive(Clone, Debug)]
pub(super) struct Screen(JsValue);

impl Screen {
    /// Loads the module, and opens a terminal in an element. `report` receives the name and the
    /// text of each state.
    pub(super) async fn open(
        host: &HtmlElement,
        id: &str,
        font_size: u32,
        report: impl Fn(String, String) + 'static,
    ) -> Result<Self, JsValue> {
        let modules = Reflect::get(&window(), &"droverModules".into())?;
        let loading: Promise = call(&modules, "terminal", &[])?.dyn_into()?;
        let module = JsFuture::from(loading).await?;
        let report = Closure::<dyn Fn(String, String)>::new(report).into_js_value();
        let arguments = [host.clone().into(), id.into(), font_size.into(), report];
        call(&module, "open", &arguments).map(Self)
    }

    /// Moves the focus to the terminal.
    pub(super) fn focus(&self) {
        self.run("focus", &[]);
    }

    /// Selects the next or previous match.
    pub(super) fn find(&self, text: &str, forward: bool) {
        self.run("find", &[text.into(), forward.into()]);
    }

    /// Sets the size of the text in pixels.
    pub(super) fn set_font_size(&self, size: u32) {
        self.run("setFontSize", &[size.into()]);
    }

    /// Closes the connection, and removes the screen.
    pub(super) fn dispose(&self) {
        self.run("dispose", &[]);
    }

    fn run(&self, method: &str, arguments: &[JsValue]) {
        // The module has the method, and a failed call has no effect on the page.
        let _ = call(&self.0, method, arguments);
    }
}

fn call(target: &JsValue, method: &str, arguments: &[JsValue]) -> Result<JsValue, JsValue> {
    let function: Function = Reflect::get(target, &method.into())?.dyn_into()?;
    let list = Array::new();
    for argument in arguments {
        list.push(argument);
    }
    function.apply(target, &list)
}
