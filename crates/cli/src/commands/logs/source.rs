//! The log of one container.

use std::time::Duration;

use serde_json::Value;

use super::pods_path;
use crate::client::CallError;
use crate::kubernetes::{ClusterApi, Lines, default_container, pod_containers};

/// Maximum length of a line, in bytes. Longer lines are split.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// Time without data after which a log that is not followed is an error. A followed log can be
/// silent for any time.
const IDLE: Duration = Duration::from_mins(1);

/// The containers of a pod whose logs are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Containers {
    /// The container that kubectl selects.
    Default,
    Named(String),
    All,
}

/// The options of the request for a log.
#[derive(Clone, Debug, Default)]
pub(super) struct LogOptions {
    pub(super) previous: bool,
    pub(super) since_seconds: Option<u64>,
    pub(super) tail: Option<u32>,
    pub(super) timestamps: bool,
}

/// A container of a pod of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Source {
    pub(super) cluster: String,
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) container: String,
    /// ID of the container. A restart of the container changes the ID. Empty before the first start.
    pub(super) container_id: String,
}

impl Containers {
    /// Returns the containers of a pod.
    pub(super) fn sources(&self, cluster: &str, pod: &Value) -> Vec<Source> {
        let names = match self {
            Self::Default => default_container(pod).into_iter().collect(),
            Self::Named(name) => vec![name.clone()],
            Self::All => pod_containers(pod),
        };
        let text = |field: &str| {
            pod["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let sources = names.into_iter().map(|container| Source {
            cluster: cluster.to_owned(),
            namespace: text("namespace"),
            pod: text("name"),
            container_id: container_id(pod, &container),
            container,
        });
        sources.collect()
    }
}

/// Returns the ID of a container that has started. Returns an empty text for all other containers.
fn container_id(pod: &Value, container: &str) -> String {
    let lists = [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ];
    let mut statuses = lists
        .into_iter()
        .filter_map(|list| pod["status"][list].as_array())
        .flatten();
    let status = statuses.find(|status| status["name"] == container);
    let id = status.and_then(|status| status["containerID"].as_str());
    id.unwrap_or_default().to_owned()
}

impl Source {
    /// Returns the text at the start of a line.
    pub(super) fn label(&self) -> String {
        format!("{}/{}/{}", self.cluster, self.pod, self.container)
    }

    /// Opens the log.
    pub(super) async fn open(
        &self,
        api: &ClusterApi,
        options: &LogOptions,
        follow: bool,
    ) -> Result<Lines, CallError> {
        self.open_since(api, options, follow, None).await
    }

    /// Opens the log. `since` is the time of the last received line.
    pub(super) async fn open_since(
        &self,
        api: &ClusterApi,
        options: &LogOptions,
        follow: bool,
        since: Option<&str>,
    ) -> Result<Lines, CallError> {
        let mut path = pods_path(&self.namespace);
        path.extend([self.pod.clone(), "log".to_owned()]);
        let mut query = vec![("container", self.container.clone())];
        let flags = [
            ("follow", follow),
            ("previous", options.previous),
            ("timestamps", options.timestamps || follow),
        ];
        let set = flags.into_iter().filter(|(_, set)| *set);
        query.extend(set.map(|(name, _)| (name, "true".to_owned())));
        match (since, options.since_seconds) {
            (Some(since), _) => query.push(("sinceTime", since.to_owned())),
            (None, Some(seconds)) => query.push(("sinceSeconds", seconds.to_string())),
            (None, None) => {}
        }
        if since.is_none() {
            query.extend(options.tail.map(|tail| ("tailLines", tail.to_string())));
        }
        let idle = (!follow).then_some(IDLE);
        let stream = api.open(&path, &query, ACCEPT, idle).await?;
        Ok(Lines::new(stream, MAX_LINE_BYTES))
    }
}

/// Accepts the log, which is plain text, and an error status in JSON.
const ACCEPT: &str = "application/json, */*";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containers_of_a_pod_are_selected() {
        let pod = json!({"metadata": {"name": "web", "namespace": "shop"},
            "spec": {"initContainers": [{"name": "init"}], "containers": [{"name": "a"}, {"name": "b"}]},
            "status": {"containerStatuses": [{"name": "b", "containerID": "containerd://1"}]}});
        let names = |containers: &Containers| {
            let sources = containers.sources("berlin", &pod);
            let names = sources
                .iter()
                .map(|s| format!("{} {}", s.label(), s.container_id));
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&Containers::Default), ["berlin/web/a "]);
        assert_eq!(
            names(&Containers::Named("b".to_owned())),
            ["berlin/web/b containerd://1"]
        );
        assert_eq!(names(&Containers::All).len(), 3);
    }
}
