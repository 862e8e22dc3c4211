//! The current usage of an object from `metrics.k8s.io/v1beta1`, and the samples of a page.

use drover_rows::Amounts;
use drover_rows::usage::{Resource, read};
use jiff::Timestamp;

use super::has_metrics;
use crate::chart::Point;
use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::object::{Object, related};
use crate::problem::Problem;

/// Maximum number of samples of a page: one hour with a sample every 15 s.
const MAX_SAMPLES: usize = 240;

const POD_METRICS: Kind = Kind {
    plural: "pods",
    name: "PodMetrics",
    heading: "PodMetrics",
    api_version: "metrics.k8s.io/v1beta1",
    namespaced: true,
};
const NODE_METRICS: Kind = Kind {
    plural: "nodes",
    name: "NodeMetrics",
    heading: "NodeMetrics",
    api_version: "metrics.k8s.io/v1beta1",
    namespaced: false,
};

/// The usage of an object over time, in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The used cores.
    pub cpu: Vec<Point>,
    /// The used bytes.
    pub memory: Vec<Point>,
}

impl History {
    /// Reports whether the history has no points.
    pub const fn is_empty(&self) -> bool {
        self.cpu.is_empty() && self.memory.is_empty()
    }

    /// Returns the points of a resource.
    pub fn of(&self, resource: Resource) -> &[Point] {
        match resource {
            Resource::Cpu => &self.cpu,
            Resource::Memory => &self.memory,
        }
    }

    /// Adds a sample. Removes the oldest sample if the history is full.
    #[expect(
        clippy::cast_precision_loss,
        reason = "amounts above 2^53 are not plausible"
    )]
    pub fn add(&mut self, at: Timestamp, used: Amounts) {
        let values = [
            (&mut self.cpu, used.cpu as f64 / 1000.0),
            (&mut self.memory, used.memory as f64),
        ];
        for (points, value) in values {
            if points.len() == MAX_SAMPLES {
                points.remove(0);
            }
            points.push(Point { at, value });
        }
    }
}

/// The request for the current usage of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageSource {
    /// The URL of the request.
    pub url: String,
    /// True if the response is a list of the metrics of all pods of a workload.
    is_list: bool,
}

impl UsageSource {
    /// Returns the request for an object. Returns `None` for other kinds, and for a workload without
    /// a selector.
    pub fn of(named: &KubectlObject, object: &Object) -> Option<Self> {
        if !has_metrics(named.kind) {
            return None;
        }
        let (cluster, namespace) = (&named.cluster, named.namespace.as_deref());
        let one = |kind: Kind| Self {
            url: kind.object_path(cluster, namespace, &named.name),
            is_list: false,
        };
        match named.kind {
            Kind::PODS => Some(one(POD_METRICS)),
            Kind::NODES => Some(one(NODE_METRICS)),
            kind => {
                let pods = related(kind, object)?;
                let list = POD_METRICS.list_path(cluster, namespace);
                Some(Self {
                    url: format!("{list}?{}", pods.query),
                    is_list: true,
                })
            }
        }
    }

    /// Parses the response. The usage of a workload is the sum of its pods.
    pub fn amounts(&self, body: &[u8]) -> Result<Amounts, Problem> {
        let usage = if self.is_list {
            read(body)
        } else {
            read(&[b"{\"items\":[", body, b"]}"].concat())
        };
        let usage = usage.map_err(|error| Problem::strange(&error.to_string()))?;
        Ok(usage.into_values().fold(Amounts::default(), Amounts::plus))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(kind: Kind, namespace: Option<&str>) -> KubectlObject {
        KubectlObject {
            cluster: "api".to_owned(),
            kind,
            namespace: namespace.map(str::to_owned),
            name: "web".to_owned(),
        }
    }

    #[test]
    fn usage_of_a_pod_and_of_a_node_is_read_by_name() {
        let object = Object::from(json!({}));
        let source = UsageSource::of(&named(Kind::PODS, Some("shop")), &object).unwrap();
        assert_eq!(
            source.url,
            "/k8s/clusters/api/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods/web"
        );
        let body = br#"{"metadata":{"name":"web","namespace":"shop"},"containers":[
            {"name":"a","usage":{"cpu":"250m","memory":"1Mi"}},{"name":"b","usage":{"cpu":"250m"}}]}"#;
        let expected = Amounts {
            cpu: 500,
            memory: 1 << 20,
        };
        assert_eq!(source.amounts(body).unwrap(), expected);
        assert!(source.amounts(b"<html>").is_err());
        let source = UsageSource::of(&named(Kind::NODES, None), &object).unwrap();
        assert_eq!(
            source.url,
            "/k8s/clusters/api/apis/metrics.k8s.io/v1beta1/nodes/web"
        );
    }

    #[test]
    fn usage_of_a_workload_is_the_sum_of_its_selected_pods() {
        let object = Object::from(json!({"spec": {"selector": {"matchLabels": {"app": "web"}}}}));
        let source = UsageSource::of(&named(Kind::DEPLOYMENTS, Some("shop")), &object).unwrap();
        assert_eq!(
            source.url,
            "/k8s/clusters/api/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods\
             ?labelSelector=app%3Dweb"
        );
        let body = br#"{"items":[
            {"metadata":{"name":"a"},"containers":[{"usage":{"cpu":"1","memory":"1Ki"}}]},
            {"metadata":{"name":"b"},"containers":[{"usage":{"cpu":"1","memory":"1Ki"}}]}]}"#;
        let expected = Amounts {
            cpu: 2_000,
            memory: 2_048,
        };
        assert_eq!(source.amounts(body).unwrap(), expected);
        let empty = Object::from(json!({}));
        let none = UsageSource::of(&named(Kind::DEPLOYMENTS, Some("shop")), &empty);
        assert_eq!(none, None, "without a selector");
        let service = UsageSource::of(&named(Kind::SERVICES, Some("shop")), &object);
        assert_eq!(service, None);
    }

    #[test]
    fn history_keeps_the_newest_samples() {
        let mut history = History::default();
        for second in 0..300 {
            let at = Timestamp::from_second(second).unwrap();
            let cpu = second.unsigned_abs() * 1000;
            history.add(at, Amounts { cpu, memory: 1 });
        }
        assert_eq!((history.cpu.len(), history.memory.len()), (240, 240));
        let first = history.cpu[0];
        assert_eq!((first.at.as_second(), first.value), (60, 60.0));
    }
}
