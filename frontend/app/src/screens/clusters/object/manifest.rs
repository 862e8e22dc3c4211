//! The tab with the manifest of an object.

pub(super) mod edit;
mod owners;
mod secret;
mod text;

use std::sync::Arc;

use drover_ui_core::kind::Kind;
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::manifest::{Manifest, yaml_problem};
use drover_ui_core::messages::t;
use drover_ui_core::object::Object;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{Banner, BannerKind, Skeleton};
use jiff::Timestamp;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_query_map;

use super::words::Refused;
use crate::clock::{now, time_of_day};
use crate::command::CliCommand;
use crate::fetch::Request;
use crate::screens::address;
use crate::session::Session;
use edit::{Edit, EditButton};
use secret::{SecretBar, SecretValues};
use text::Text;

/// The preferred media type. The page falls back to JSON.
const YAML: &str = "application/yaml";

/// The result of the manifest request.
#[derive(Clone, PartialEq)]
enum ManifestState {
    Loading,
    Refused(Problem),
    Loaded {
        manifest: Arc<Manifest>,
        at: Timestamp,
    },
}

/// The options of the tab. The URL contains the options.
#[derive(Clone, Copy)]
struct View {
    managed: RwSignal<bool>,
    /// True to show the manager of each line.
    owners: RwSignal<bool>,
    wrap: RwSignal<bool>,
    find: RwSignal<String>,
    /// True if the editor opens with the tab.
    edit: StoredValue<bool>,
}

impl View {
    fn of_url(kind: Kind, screen: String) -> Self {
        let query = use_query_map();
        let of = move |name: &str| query.with_untracked(|query| query.get(name));
        let view = Self {
            managed: RwSignal::new(of("managed").is_some()),
            owners: RwSignal::new(of("owners").is_some()),
            wrap: RwSignal::new(of("wrap").as_deref() != Some("no")),
            find: RwSignal::new(of("find").unwrap_or_default()),
            edit: StoredValue::new(of("edit").is_some()),
        };
        address::keep(move || {
            let when = |is: bool, value: &str| if is { value.to_owned() } else { String::new() };
            address::path(
                &screen,
                &[
                    ("tab", "yaml".to_owned()),
                    ("managed", when(view.managed.get(), "yes")),
                    ("owners", when(view.owners.get(), "yes")),
                    ("wrap", when(!view.wrap.get(), "no")),
                    // The searched text can be a value.
                    ("find", when(kind != Kind::SECRETS, &view.find.get())),
                ],
            )
        });
        view
    }
}

pub(super) async fn read_manifest(path: String) -> Result<Manifest, Problem> {
    let yaml = Request::get(path.clone())
        .accepting(YAML)
        .parsing_problems_with(yaml_problem);
    let (media_type, text) = match yaml.text().await {
        // Status 406 (or 415 from some proxies) means that the server does not support YAML.
        Err(problem) if problem.kind == ProblemKind::Failed => Request::get(path).text().await?,
        answer => answer?,
    };
    Manifest::of_answer(&media_type, text).map_err(|error| Problem::strange(&error.to_string()))
}

/// Shows the tab with the manifest.
#[component]
pub(super) fn ManifestTab(named: KubectlObject, object: Signal<Object>) -> impl IntoView {
    let KubectlObject {
        cluster,
        kind,
        namespace,
        name,
    } = &named;
    let view = View::of_url(
        *kind,
        kind.object_screen(cluster, namespace.as_deref(), name),
    );
    let path = named.api_path();
    let came = RwSignal::new(ManifestState::Loading);
    let values = (*kind == Kind::SECRETS).then(SecretValues::hidden);
    let ask = asking(path, came, values);
    ask.run(());
    let editing = RwSignal::new(None);
    let named = StoredValue::new(named);
    let language = Memo::new(move |_| match came.get() {
        ManifestState::Loaded { manifest, .. } => manifest.language(),
        _ => "yaml",
    });
    let command = Signal::derive(move || {
        named.with_value(|named| named.manifest(language.get(), view.managed.get()))
    });
    view! {
        <div class="stack log-view">
            {move || match came.get() {
                ManifestState::Loading => view! { <Skeleton lines=12/> }.into_any(),
                ManifestState::Refused(problem) => view! {
                    <Refused problem=problem of=t().object.the_manifest()/>
                    <div><Button on_press=ask>{t().buttons.try_again()}</Button></div>
                }
                .into_any(),
                ManifestState::Loaded { manifest, at } => view! {
                    <Loaded named=named manifest=manifest at=at object=object ask=ask view=view values=values came=came editing=editing/>
                }
                .into_any(),
            }}
            <footer class="page-foot"><CliCommand line=command/></footer>
        </div>
    }
}

/// Shows the text of the manifest, or its editor.
#[component]
fn Loaded(
    named: StoredValue<KubectlObject>,
    manifest: Arc<Manifest>,
    at: Timestamp,
    object: Signal<Object>,
    ask: Callback<()>,
    view: View,
    /// The visibility of the values of a Secret; `None` for other kinds.
    values: Option<SecretValues>,
    came: RwSignal<ManifestState>,
    /// The text that the editor opened.
    editing: RwSignal<Option<String>>,
) -> impl IntoView {
    let language = manifest.language();
    let file = named.with_value(|named| format!("{}.{language}", named.name));
    let shown = StoredValue::new(manifest.clone());
    let edit = Callback::new(move |()| match values {
        // The text of the tab has no values, and a save would remove the values of the Secret.
        Some(values) => values.edit(named, came, editing),
        None => editing.set(Some(shown.with_value(|manifest| manifest.text(false)))),
    });
    // The manifest is loaded again after it is saved. An address must not show the values of a
    // Secret.
    let edits = view.edit.try_update_value(std::mem::take);
    if edits.unwrap_or_default() && values.is_none() {
        edit.run(());
    }
    let close = move || {
        editing.set(None);
        if let Some(values) = values {
            values.hide(came);
        }
    };
    let cancel = Callback::new(move |()| close());
    let done = Callback::new(move |()| {
        close();
        ask.run(());
    });
    move || {
        let manifest = manifest.clone();
        if let Some(text) = editing.get() {
            return view! { <Edit named=named text=text language=language on_cancel=cancel on_done=done/> }
                .into_any();
        }
        view! {
            <Changed manifest=manifest.clone() at=at object=object ask=ask/>
            <div class="row">
                <EditButton named=named on_press=edit/>
                {values.map(|values| view! { <SecretBar named=named values=values came=came ask=ask/> })}
            </div>
            <Text manifest=manifest file=file.clone() view=view/>
        }
        .into_any()
    }
}

/// Returns a callback that loads the manifest.
fn asking(path: String, to: RwSignal<ManifestState>, values: Option<SecretValues>) -> Callback<()> {
    let session = expect_context::<Session>();
    Callback::new(move |()| {
        let path = path.clone();
        spawn_local(async move {
            let came = match read_manifest(path).await {
                Ok(manifest) => ManifestState::Loaded {
                    manifest: Arc::new(match values {
                        Some(values) => values.visible(manifest),
                        None => manifest,
                    }),
                    at: now(),
                },
                Err(problem) => {
                    session.handle(&problem);
                    ManifestState::Refused(problem)
                }
            };
            // The tab can be disposed before the response arrives.
            let _ = to.try_set(came);
        });
    })
}

/// Shows a notice that the object changed. The shown text changes only when the user reloads the
/// manifest.
#[component]
fn Changed(
    manifest: Arc<Manifest>,
    at: Timestamp,
    object: Signal<Object>,
    ask: Callback<()>,
) -> impl IntoView {
    let changed = Memo::new(move |_| object.with(|object| !manifest.is_version(object.version())));
    move || {
        changed.get().then(|| {
            let words = t().object.changed_since(&time_of_day(at));
            view! {
                <Banner mood=BannerKind::Info>
                    {words}
                    <Button on_press=ask>{t().buttons.reload()}</Button>
                </Banner>
            }
        })
    }
}
