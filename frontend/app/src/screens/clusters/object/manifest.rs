//! The tab with the manifest of an object.

mod text;

use std::sync::Arc;

use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::manifest::Manifest;
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
    wrap: RwSignal<bool>,
    find: RwSignal<String>,
}

impl View {
    fn of_url(screen: String) -> Self {
        let query = use_query_map();
        let of = move |name: &str| query.with_untracked(|query| query.get(name));
        let view = Self {
            managed: RwSignal::new(of("managed").is_some()),
            wrap: RwSignal::new(of("wrap").as_deref() != Some("no")),
            find: RwSignal::new(of("find").unwrap_or_default()),
        };
        address::keep(move || {
            let when = |is: bool, value: &str| if is { value.to_owned() } else { String::new() };
            address::path(
                &screen,
                &[
                    ("tab", "yaml".to_owned()),
                    ("managed", when(view.managed.get(), "yes")),
                    ("wrap", when(!view.wrap.get(), "no")),
                    ("find", view.find.get()),
                ],
            )
        });
        view
    }
}

async fn read(path: String) -> Result<Manifest, Problem> {
    let yaml = Request::get(path.clone()).accepting(YAML).text().await;
    let (media_type, text) = match yaml {
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
    let view = View::of_url(kind.object_screen(cluster, namespace.as_deref(), name));
    let path = kind.object_path(cluster, namespace.as_deref(), name);
    let came = RwSignal::new(ManifestState::Loading);
    let ask = asking(path, came);
    ask.run(());
    let name = StoredValue::new(name.clone());
    let language = Memo::new(move |_| match came.get() {
        ManifestState::Loaded { manifest, .. } => manifest.language(),
        _ => "yaml",
    });
    let command = Signal::derive(move || named.manifest(language.get(), view.managed.get()));
    view! {
            <div class="stack log-view">
                {move || match came.get() {
                    ManifestState::Loading => view! { <Skeleton lines=12/> }.into_any(),
                    ManifestState::Refused(problem) => view! {
                        <Refused problem=problem of=t().object.the_manifest()/>
                        <div><Button on_press=ask>{t().buttons.try_again()}</Button></div>
                    }
                    .into_any(),
                    ManifestState::Loaded { manifest, at } => {
     let file = name.with_value(|name| format!("{name}.{}", manifest.language()));
     view! {
                        <Changed manifest=manifest.clone() at=at object=object ask=ask/>
                        <Text manifest=manifest file=file view=view/>
    }
    .into_any()
    }
                }}
                <footer class="page-foot"><CliCommand line=command/></footer>
            </div>
        }
}

/// Returns a callback that loads the manifest.
fn asking(path: String, to: RwSignal<ManifestState>) -> Callback<()> {
    let session = expect_context::<Session>();
    Callback::new(move |()| {
        let path = path.clone();
        spawn_local(async move {
            let came = match read(path).await {
                Ok(manifest) => ManifestState::Loaded {
                    manifest: Arc::new(manifest),
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
