//! The options of a log. The URL contains the options.

use drover_ui_core::log::{LogOptions, LogRequest};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::screens::address;

/// The options of a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogView {
    /// The name of the pod.
    pub(super) pod: RwSignal<String>,
    /// The name of the container.
    pub(super) container: RwSignal<String>,
    /// True to show the log of the previous run.
    pub(super) previous: RwSignal<bool>,
    /// True to stream new lines.
    pub(super) follow: RwSignal<bool>,
    /// The selected start time, in the format of the URL.
    pub(super) since: RwSignal<String>,
    /// The maximum number of requested lines, as entered.
    pub(super) tail: RwSignal<String>,
    /// True to show timestamps.
    pub(super) times: RwSignal<bool>,
    /// True to wrap long lines.
    pub(super) wrap: RwSignal<bool>,
    /// The text to search for.
    pub(super) find: RwSignal<String>,
    /// The lowest level of the shown lines, in the format of the URL.
    pub(super) level: RwSignal<String>,
    /// The regular expression that shown lines match.
    pub(super) filter: RwSignal<String>,
}

impl LogView {
    /// Reads the options from the URL of a screen, and updates the URL. `selection` contains the
    /// parameters that select the screen's log.
    pub(super) fn of_url(screen: String, selection: Vec<(&'static str, String)>) -> Self {
        let query = use_query_map();
        let options = LogOptions::of_query(|name| query.with_untracked(|query| query.get(name)));
        let view = Self {
            pod: RwSignal::new(options.pod),
            container: RwSignal::new(options.container),
            previous: RwSignal::new(options.previous),
            follow: RwSignal::new(options.follow),
            since: RwSignal::new(options.since),
            tail: RwSignal::new(options.tail),
            times: RwSignal::new(options.times),
            wrap: RwSignal::new(options.wrap),
            find: RwSignal::new(options.find),
            level: RwSignal::new(options.level),
            filter: RwSignal::new(options.filter),
        };
        address::keep(move || {
            let mut query = selection.clone();
            query.extend(view.options().query());
            address::path(&screen, &query)
        });
        view
    }

    fn options(self) -> LogOptions {
        LogOptions {
            pod: self.pod.get(),
            container: self.container.get(),
            previous: self.previous.get(),
            follow: self.follow.get(),
            since: self.since.get(),
            tail: self.tail.get(),
            times: self.times.get(),
            wrap: self.wrap.get(),
            find: self.find.get(),
            level: self.level.get(),
            filter: self.filter.get(),
        }
    }

    /// Returns the log request. Returns `None` without a container.
    pub(super) fn request(self, cluster: &str, namespace: &str, pod: &str) -> Option<LogRequest> {
        self.options().request(cluster, namespace, pod)
    }

    /// Returns the log request for all pods of a workload. An empty container means all containers.
    pub(super) fn request_of_all(self, cluster: &str, namespace: &str) -> LogRequest {
        self.options().request_of_all(cluster, namespace, "")
    }
}
