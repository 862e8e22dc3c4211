//! The YAML editor, a JavaScript module that the page loads when a user edits a manifest.

use drover_ui_core::manifest::ManifestError;
use drover_ui_core::messages::t;
use drover_ui_kit::notice::{Banner, BannerKind, Skeleton};
use js_sys::{Array, Function, Promise, Reflect};
use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::HtmlElement;

/// The open editor of the JavaScript module `editor.js`.
#[derive(Clone)]
struct Module(JsValue);

impl Module {
    /// Loads the module, and opens an editor in an element.
    async fn open(host: &HtmlElement, text: &str, label: &str, report: Function) -> Option<Self> {
        let modules = Reflect::get(&window(), &"droverModules".into()).ok()?;
        let loading: Promise = call(&modules, "editor", &Array::new())?.dyn_into().ok()?;
        let module = JsFuture::from(loading).await.ok()?;
        let arguments = Array::of4(host, &text.into(), &label.into(), &report);
        call(&module, "open", &arguments).map(Self)
    }

    fn run(&self, name: &str, argument: &str) {
        // A disposed editor ignores calls.
        let _ = call(&self.0, name, &Array::of1(&argument.into()));
    }
}

fn call(object: &JsValue, name: &str, arguments: &Array) -> Option<JsValue> {
    let function = Reflect::get(object, &name.into()).ok()?;
    let function: Function = function.dyn_into().ok()?;
    function.apply(object, arguments).ok()
}

/// The text of an editor, and the connection to the editor.
#[derive(Clone, Copy)]
pub(crate) struct EditorText {
    text: RwSignal<String>,
    /// The schema of the object, as arguments of the module.
    schema: RwSignal<Option<String>>,
    module: StoredValue<Option<Module>, LocalStorage>,
}

impl EditorText {
    /// Creates the state of an editor that is not open yet.
    pub(crate) fn new(text: String) -> Self {
        Self {
            text: RwSignal::new(text),
            schema: RwSignal::new(None),
            module: StoredValue::new_local(None),
        }
    }

    /// Returns the current text, and subscribes the caller to changes.
    pub(crate) fn text(self) -> Signal<String> {
        self.text.into()
    }

    /// Replaces the text.
    pub(crate) fn set(self, text: &str) {
        self.text.set(text.to_owned());
        self.run("setText", text);
    }

    /// Marks the lines of errors.
    pub(crate) fn mark(self, errors: &[ManifestError]) {
        // The errors contain only strings and numbers.
        let errors = serde_json::to_string(errors).unwrap_or_default();
        self.run("setErrors", &errors);
    }

    /// Sets the schema for completion and descriptions.
    pub(crate) fn set_schema(self, schema: String) {
        // The editor can be disposed before the schema is loaded.
        let _ = self.schema.try_set(Some(schema));
    }

    fn run(self, name: &str, argument: &str) {
        let module = self.module.try_get_value().flatten();
        if let Some(module) = module {
            module.run(name, argument);
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum LoadState {
    Loading,
    Open,
    Failed,
}

/// Shows an editor.
#[component]
pub(crate) fn Editor(editor: EditorText, label: String) -> impl IntoView {
    let host = NodeRef::<html::Div>::new();
    let state = RwSignal::new(LoadState::Loading);
    let report = Closure::<dyn Fn(String)>::new(move |text: String| {
        // The module can report a change while the screen is disposed.
        let _ = editor.text.try_set(text);
    });
    let report = StoredValue::new_local(report.into_js_value().unchecked_into::<Function>());
    Effect::new(move || {
        let Some(host) = host.get() else { return };
        let (label, text, report) = (
            label.clone(),
            editor.text.get_untracked(),
            report.get_value(),
        );
        spawn_local(async move {
            let module = Module::open(&host, &text, &label, report).await;
            let opened = match module {
                Some(_) => LoadState::Open,
                None => LoadState::Failed,
            };
            if editor.module.try_set_value(module.clone()).is_some() || state.is_disposed() {
                // The user left the screen during the load.
                dispose(module);
                return;
            }
            let _ = state.try_set(opened);
        });
    });
    Effect::new(move || {
        if let Some(schema) = editor
            .schema
            .get()
            .filter(|_| state.get() == LoadState::Open)
        {
            editor.run("setSchema", &schema);
        }
    });
    on_cleanup(move || dispose(editor.module.try_get_value().flatten()));
    view! {
        <div class="editor" node_ref=host></div>
        {move || match state.get() {
            LoadState::Loading => Some(view! { <Skeleton lines=12/> }.into_any()),
            LoadState::Open => None,
            LoadState::Failed => Some(view! {
                <Banner mood=BannerKind::Error>{t().editor.cannot_load()}</Banner>
            }
            .into_any()),
        }}
        <p class="muted">{t().editor.keyboard()}</p>
    }
}

fn dispose(module: Option<Module>) {
    if let Some(module) = module {
        module.run("dispose", "");
    }
}
