//! The options of a log. The URL contains the options.

use drover_ui_core::log::{LogRequest, Since, TAILS};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::screens::address;

/// The default number of lines.
const TAIL: u32 = 1_000;

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
}

impl LogView {
    /// Reads the options from the URL, and updates the URL.
    pub(super) fn of_url(screen: String) -> Self {
        let query = use_query_map();
        let of = move |name: &str| query.with_untracked(|query| query.get(name));
        let text = |name: &str| RwSignal::new(of(name).unwrap_or_default());
        let view = Self {
            pod: text("pod"),
            container: text("container"),
            previous: RwSignal::new(of("previous").is_some()),
            follow: RwSignal::new(of("follow").as_deref() != Some("no")),
            since: text("since"),
            tail: RwSignal::new(of("tail").unwrap_or_else(|| TAIL.to_string())),
            times: RwSignal::new(of("times").is_some()),
            wrap: RwSignal::new(of("wrap").as_deref() != Some("no")),
            find: text("find"),
        };
        address::keep(move || view.path(&screen));
        view
    }

    fn path(self, screen: &str) -> String {
        let when = |is: bool, value: &str| if is { value.to_owned() } else { String::new() };
        let tail = self.tail.get();
        address::path(
            screen,
            &[
                ("tab", "logs".to_owned()),
                ("pod", self.pod.get()),
                ("container", self.container.get()),
                ("previous", when(self.previous.get(), "yes")),
                ("follow", when(!self.follow.get(), "no")),
                ("since", self.since.get()),
                ("tail", when(tail != TAIL.to_string(), &tail)),
                ("times", when(self.times.get(), "yes")),
                ("wrap", when(!self.wrap.get(), "no")),
                ("find", self.find.get()),
            ],
        )
    }

    /// Returns the log request. Returns `None` without a container.
    pub(super) fn request(self, cluster: &str, namespace: &str, pod: &str) -> Option<LogRequest> {
        let container = self.container.get();
        let tail = self.tail.get().parse().ok();
        (!container.is_empty()).then(|| LogRequest {
            cluster: cluster.to_owned(),
            namespace: namespace.to_owned(),
            pod: pod.to_owned(),
            container,
            previous: self.previous.get(),
            follow: self.follow.get(),
            since: Since::of_key(&self.since.get()),
            tail: tail.filter(|tail| TAILS.contains(tail)).unwrap_or(TAIL),
        })
    }
}
