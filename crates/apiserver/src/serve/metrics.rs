//! Metrics with kube-apiserver's names.

use std::time::Duration;

use http::StatusCode;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::serve::input::request::RequestInfo;

/// The API server's metrics.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<RequestLabels, Counter>,
    durations: Family<TargetLabels, Histogram, fn() -> Histogram>,
    inflight: Family<InflightLabels, Gauge>,
    watch_events: Family<KindLabels, Counter>,
    /// Metrics of the server's own controllers.
    pub(crate) controllers: drover_reconcile::Metrics,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    code: u16,
    dry_run: &'static str,
    group: String,
    resource: String,
    scope: &'static str,
    subresource: String,
    verb: &'static str,
    version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TargetLabels {
    group: String,
    resource: String,
    scope: &'static str,
    subresource: String,
    verb: &'static str,
    version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InflightLabels {
    request_kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    group: String,
    resource: String,
    version: String,
}

/// Upper bounds of the buckets of the request duration histogram, in seconds.
const BUCKETS: [f64; 14] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 5.0, 15.0, 60.0,
];

impl Default for Metrics {
    fn default() -> Self {
        let requests = Family::default();
        let durations: Family<TargetLabels, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(BUCKETS));
        let inflight = Family::default();
        let watch_events = Family::default();
        let mut registry = Registry::default();
        registry.register(
            "apiserver_request",
            "Requests answered, by verb, resource and code",
            Family::clone(&requests),
        );
        registry.register(
            "apiserver_request_duration_seconds",
            "Time from a request's arrival to its answer, watches aside",
            durations.clone(),
        );
        registry.register(
            "apiserver_current_inflight_requests",
            "Requests that run, wait and watch now",
            Family::clone(&inflight),
        );
        registry.register(
            "apiserver_watch_events",
            "Events sent to watchers",
            Family::clone(&watch_events),
        );
        let controllers = drover_reconcile::Metrics::default();
        controllers.register(registry.sub_registry_with_prefix("apiserver"));
        Self {
            registry: Mutex::new(registry),
            requests,
            durations,
            inflight,
            watch_events,
            controllers,
        }
    }
}

impl Metrics {
    /// Counts a request. `elapsed` is `None` for streams.
    pub fn answered(
        &self,
        info: &RequestInfo,
        code: StatusCode,
        dry_run: bool,
        elapsed: Option<Duration>,
    ) {
        // Unknown paths are no label values, because clients could create any number of them.
        let known = code != StatusCode::NOT_FOUND || info.resource.is_none();
        let path = info.resource.as_ref().filter(|_| known);
        let text = |part: fn(&crate::serve::input::request::ResourcePath) -> &String| {
            path.map(part).cloned().unwrap_or_default()
        };
        let target = TargetLabels {
            group: text(|path| &path.group),
            resource: text(|path| &path.resource),
            scope: scope(info),
            subresource: text(|path| &path.subresource),
            verb: verb(info),
            version: text(|path| &path.version),
        };
        if let Some(elapsed) = elapsed {
            self.durations
                .get_or_create(&target)
                .observe(elapsed.as_secs_f64());
        }
        self.requests
            .get_or_create(&RequestLabels {
                code: code.as_u16(),
                dry_run: if dry_run { "All" } else { "" },
                group: target.group,
                resource: target.resource,
                scope: target.scope,
                subresource: target.subresource,
                verb: target.verb,
                version: target.version,
            })
            .inc();
    }

    /// Returns the counter of events that the watches of a resource deliver.
    pub fn watch_events(&self, group: &str, version: &str, resource: &str) -> Counter {
        let labels = KindLabels {
            group: group.to_owned(),
            resource: resource.to_owned(),
            version: version.to_owned(),
        };
        self.watch_events.get_or_create(&labels).clone()
    }

    /// Registers metrics of the embedding program.
    pub fn extend(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock());
    }

    /// Encodes the metrics as OpenMetrics text. `load` contains the numbers of running requests,
    /// waiting requests and watches.
    ///
    /// # Errors
    ///
    /// Fails if a metric cannot be encoded.
    pub fn text(&self, load: (usize, usize, usize)) -> Result<String, std::fmt::Error> {
        for (request_kind, count) in [
            ("running", load.0),
            ("waiting", load.1),
            ("watching", load.2),
        ] {
            self.inflight
                .get_or_create(&InflightLabels { request_kind })
                .set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let mut text = String::new();
        encode(&mut text, &self.registry.lock())?;
        Ok(text)
    }
}

/// Returns the value of kube-apiserver's label `scope`.
fn scope(info: &RequestInfo) -> &'static str {
    match &info.resource {
        Some(path) if !path.name.is_empty() => "resource",
        Some(path) if !path.namespace.is_empty() => "namespace",
        Some(_) => "cluster",
        None => "",
    }
}

fn verb(info: &RequestInfo) -> &'static str {
    match info.verb.as_ref() {
        "get" => "GET",
        "list" => "LIST",
        "watch" => "WATCH",
        "create" | "post" => "POST",
        "update" | "put" => "PUT",
        "patch" => "PATCH",
        "delete" => "DELETE",
        "deletecollection" => "DELETECOLLECTION",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::serve::input::request::parse;

    #[test]
    fn request_metric_names_match_kube_apiserver() {
        let metrics = Metrics::default();
        let info = parse(&Method::GET, "/apis/apps/v1/deployments", false, None);
        metrics.answered(
            &info,
            StatusCode::OK,
            false,
            Some(Duration::from_millis(30)),
        );
        metrics.watch_events("", "v1", "pods").inc_by(3);
        let text = metrics.text((1, 2, 3)).unwrap();
        for expect in [
            "apiserver_request_total{code=\"200\",dry_run=\"\",group=\"apps\",resource=\"deployments\",\
             scope=\"cluster\",subresource=\"\",verb=\"LIST\",version=\"v1\"} 1",
            "apiserver_request_duration_seconds_count{group=\"apps\"",
            "apiserver_watch_events_total{group=\"\",resource=\"pods\",version=\"v1\"} 3",
            "apiserver_current_inflight_requests{request_kind=\"waiting\"} 2",
        ] {
            assert!(text.contains(expect), "{expect}\n{text}");
        }
    }

    #[test]
    fn metrics_do_not_contain_unknown_request_paths() {
        let metrics = Metrics::default();
        let info = parse(&Method::GET, "/apis/made/up/things", false, None);
        metrics.answered(&info, StatusCode::NOT_FOUND, false, None);
        assert!(!metrics.text((0, 0, 0)).unwrap().contains("things"));
    }
}
