//! The kinds that the cluster of the current screen serves.

use std::sync::Arc;
use std::time::Duration;

use drover_rows::protocol::ViewSpec;
use drover_ui_core::discovery::{AS_DISCOVERY, ServedKind, served, serves};
use drover_ui_core::kind::Kind;
use drover_ui_core::problem::Problem;
use drover_ui_core::url::segment;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use futures::future::select;
use futures::{StreamExt as _, try_join};
use leptos::prelude::*;
use leptos_router::hooks::use_location;

use crate::clock::sleep;
use crate::fetch::Request;
use crate::reflector::until_cleanup;
use crate::rows::RowConnection;

/// The interval of discovery. A change of a CustomResourceDefinition also causes a discovery, if the
/// user may list CustomResourceDefinitions.
const INTERVAL: Duration = Duration::from_secs(30);
/// The time after the change of a CustomResourceDefinition until the API server serves its kind.
const DELAY: Duration = Duration::from_secs(1);

/// The kinds of the cluster of the current screen, as a context of the page.
#[derive(Clone, Copy)]
pub(crate) struct ServedKinds {
    /// The name of the cluster; `None` on screens without a cluster.
    pub(crate) cluster: Memo<Option<String>>,
    kinds: RwSignal<Option<Arc<Vec<ServedKind>>>>,
    problem: RwSignal<Option<Problem>>,
}

/// The kind of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KindOfUrl {
    /// The kind.
    Known(Kind),
    /// The discovery of the cluster has not completed.
    Unknown,
    /// The cluster does not serve the kind.
    NotServed,
    /// The discovery of the cluster failed.
    Failed,
}

impl ServedKinds {
    /// Provides the kinds as a context.
    pub(crate) fn provide() {
        let pathname = use_location().pathname;
        let cluster = Memo::new(move |_| pathname.with(|path| cluster_of(path)));
        let kinds = Self {
            cluster,
            kinds: RwSignal::new(None),
            problem: RwSignal::new(None),
        };
        Effect::new(move || {
            kinds.kinds.set(None);
            kinds.problem.set(None);
            if let Some(cluster) = cluster.get() {
                kinds.follow(cluster);
            }
        });
        provide_context(kinds);
    }

    /// Returns the kinds. Returns `None` before the first discovery.
    pub(crate) fn get(self) -> Option<Arc<Vec<ServedKind>>> {
        self.kinds.get()
    }

    /// Reports whether the cluster serves a kind. Returns `None` before the first discovery, and true
    /// if the discovery failed.
    pub(crate) fn serves(self, kind: Kind) -> Option<bool> {
        self.kinds.with(|kinds| match kinds {
            None if self.problem.with(Option::is_none) => None,
            kinds => Some(serves(kinds.as_ref().map(|kinds| kinds.as_slice()), kind)),
        })
    }

    /// Returns the error of the last discovery.
    pub(crate) fn problem(self) -> Option<Problem> {
        self.problem.get()
    }

    /// Returns the kind of a segment of a URL.
    pub(crate) fn of_url(self, text: &str) -> KindOfUrl {
        if let Some(kind) = Kind::of_plural(text) {
            return KindOfUrl::Known(kind);
        }
        let failed = self.problem.with(Option::is_some);
        self.kinds.with(|kinds| {
            let Some(kinds) = kinds else {
                return if failed {
                    KindOfUrl::Failed
                } else {
                    KindOfUrl::Unknown
                };
            };
            let found = kinds.iter().find(|it| it.kind.url_segment() == text);
            found.map_or(KindOfUrl::NotServed, |found| KindOfUrl::Known(found.kind))
        })
    }

    fn follow(self, cluster: String) {
        let definitions = Kind::DEFINITIONS.list_of(vec![cluster.clone()], Vec::new());
        // The newest definitions change when a definition is created, and the count when it is deleted.
        let newest = ViewSpec {
            sort: "created-at".to_owned(),
            descending: true,
            count: 1,
            ..ViewSpec::default()
        };
        let live = expect_context::<RowConnection>()
            .subscribe(definitions, Signal::derive(move || newest.clone()));
        let (tell, changes) = unbounded();
        Effect::new(move || {
            live.known.track();
            // The task ends with the screen.
            let _ = tell.unbounded_send(());
        });
        until_cleanup(async move { self.discover(&cluster, changes).await });
    }

    async fn discover(self, cluster: &str, mut changes: UnboundedReceiver<()>) {
        loop {
            match discovery(cluster).await {
                Ok(kinds) => {
                    let _ = self.problem.try_set(None);
                    let replace = |known: &mut Option<Arc<Vec<ServedKind>>>| {
                        let is_new = known.as_ref().is_none_or(|known| **known != kinds);
                        *known = Some(Arc::new(kinds));
                        is_new
                    };
                    let _ = self.kinds.try_maybe_update(|known| (replace(known), ()));
                }
                Err(problem) => {
                    let _ = self.problem.try_set(Some(problem));
                }
            }
            select(Box::pin(sleep(INTERVAL)), changes.next()).await;
            sleep(DELAY).await;
            while changes.try_recv().is_ok() {}
        }
    }
}

async fn discovery(cluster: &str) -> Result<Vec<ServedKind>, Problem> {
    let get = |path: &str| {
        let path = format!("/k8s/clusters/{}/{path}", segment(cluster));
        Request::get(path).accepting(AS_DISCOVERY).bytes()
    };
    let (core, groups) = try_join!(get("api"), get("apis"))?;
    served(&[&core, &groups]).map_err(|error| Problem::strange(&error.to_string()))
}

/// Returns the cluster of the path of a screen.
fn cluster_of(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/clusters/")?;
    let name = rest.split('/').next().filter(|name| !name.is_empty())?;
    js_sys::decode_uri_component(name).ok().map(String::from)
}
