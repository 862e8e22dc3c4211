//! Sections of the overview that come from lists of other objects: the endpoints of a Service, and
//! the quotas and limits of a Namespace.

use serde_json::Value;

use super::cell;
use crate::kind::Kind;
use crate::messages::t;
use crate::object::overview::{FactTable, FactValue, Facts, Section};
use crate::object::{Object, Reference, read};
use crate::source::Source;
use crate::url::segment;

/// A list whose objects are sections of the overview of another object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSections {
    /// The kind of the objects.
    pub kind: Kind,
    namespace: String,
    /// The label selector, encoded for a URL; empty for all objects of the namespace.
    query: String,
}

/// Returns the lists whose objects are sections of the overview of an object.
pub fn listed_sections(kind: Kind, object: &Object) -> Vec<ListedSections> {
    let of = |kind, namespace: &str, query| ListedSections {
        kind,
        namespace: namespace.to_owned(),
        query,
    };
    match (kind, object.namespace()) {
        (Kind::SERVICES, Some(namespace)) => {
            let selector = format!("kubernetes.io/service-name={}", object.name());
            let query = format!("labelSelector={}", segment(&selector));
            vec![of(Kind::ENDPOINT_SLICES, namespace, query)]
        }
        (Kind::NAMESPACES, _) => [Kind::RESOURCE_QUOTAS, Kind::LIMIT_RANGES]
            .map(|kind| of(kind, object.name(), String::new()))
            .into(),
        _ => Vec::new(),
    }
}

impl ListedSections {
    /// Returns the list source.
    pub fn source(&self, cluster: &str) -> Source {
        let path = self.kind.list_path(cluster, Some(&self.namespace));
        Source::objects(path).choosing(&self.query)
    }

    /// Returns the sections for the objects.
    pub fn sections(&self, items: &[Object]) -> Vec<Section> {
        match self.kind {
            Kind::ENDPOINT_SLICES => endpoints(items),
            Kind::RESOURCE_QUOTAS => vec![quotas(items)],
            Kind::LIMIT_RANGES => vec![limits(items)],
            _ => Vec::new(),
        }
    }
}

/// The state of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndpointState {
    Ready,
    Terminating,
    NotReady,
}

impl EndpointState {
    /// Endpoints without a reported condition are ready, as the API defines.
    fn of(endpoint: &Value) -> Self {
        let is = |name: &str| {
            read::at(endpoint, "/conditions")
                .get(name)
                .and_then(Value::as_bool)
        };
        match (is("ready"), is("serving"), is("terminating")) {
            (None | Some(true), ..) => Self::Ready,
            (_, Some(true), Some(true)) => Self::Terminating,
            _ => Self::NotReady,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Ready => t().facts.endpoint_ready(),
            Self::Terminating => t().facts.endpoint_terminating(),
            Self::NotReady => t().facts.endpoint_not_ready(),
        }
    }
}

fn endpoints(slices: &[Object]) -> Vec<Section> {
    let all = slices.iter().flat_map(|slice| {
        let endpoints = read::list(slice.value(), "/endpoints").iter();
        endpoints.map(move |endpoint| (slice.namespace(), endpoint))
    });
    let count = |state| {
        let same = all.clone().filter(|(_, it)| EndpointState::of(it) == state);
        same.count().to_string()
    };
    let counts = Facts::default()
        .text(t().facts.ready(), Some(count(EndpointState::Ready)))
        .text(t().facts.not_ready(), Some(count(EndpointState::NotReady)))
        .text(
            t().facts.terminating(),
            Some(count(EndpointState::Terminating)).filter(|count| count != "0"),
        );
    let rows = all.map(|(namespace, endpoint)| {
        let target = read::at(endpoint, "/targetRef");
        let pod = read::text(target, "/name")
            .filter(|_| read::text(target, "/kind") == Some(Kind::PODS.name));
        let pod = pod.map(|name| Reference::named(Kind::PODS, namespace, name));
        let node = read::text(endpoint, "/nodeName");
        let node = node.map(|name| Reference::named(Kind::NODES, None, name));
        [
            FactValue::Codes(super::strings(endpoint, "/addresses")),
            FactValue::Links(pod.into_iter().collect()),
            FactValue::Links(node.into_iter().collect()),
            FactValue::Text(EndpointState::of(endpoint).words().to_owned()),
        ]
    });
    let columns = [t().facts.address(), "Pod", "Node", t().labels.state()];
    let table = FactTable::of(columns, rows).under(t().facts.addresses_of_endpoints());
    vec![counts.under(t().facts.endpoints()), table]
}

fn quotas(quotas: &[Object]) -> Section {
    let rows = quotas.iter().flat_map(|quota| {
        let used = read::at(quota.value(), "/status/used");
        let hard = read::entries(quota.value(), "/spec/hard").into_iter();
        hard.map(move |(resource, limit)| {
            let used = used.get(resource).and_then(read::scalar);
            [
                link(Kind::RESOURCE_QUOTAS, quota),
                FactValue::Text(resource.to_owned()),
                cell(used.map(std::borrow::Cow::into_owned)),
                FactValue::Text(limit.into_owned()),
            ]
        })
    });
    let columns = [
        t().facts.name(),
        t().facts.resource(),
        t().facts.used(),
        t().facts.limit(),
    ];
    FactTable::of(columns, rows).under(t().facts.quotas())
}

fn limits(ranges: &[Object]) -> Section {
    const PARTS: [&str; 4] = ["min", "max", "default", "defaultRequest"];
    let rows = ranges.iter().flat_map(|range| {
        read::list(range.value(), "/spec/limits")
            .iter()
            .flat_map(move |limit| {
                let kind = read::text(limit, "/type").unwrap_or_default();
                let mut resources: Vec<_> = PARTS
                    .into_iter()
                    .filter_map(|part| limit.get(part)?.as_object())
                    .flat_map(|part| part.keys())
                    .collect();
                resources.sort_unstable();
                resources.dedup();
                resources.into_iter().map(move |resource| {
                    let of = |part: &str| {
                        let value = limit.get(part).and_then(|it| it.get(resource));
                        cell(
                            value
                                .and_then(read::scalar)
                                .map(std::borrow::Cow::into_owned),
                        )
                    };
                    let [min, max, default, request] = PARTS.map(of);
                    [
                        link(Kind::LIMIT_RANGES, range),
                        FactValue::Text(format!("{kind} {resource}")),
                        min,
                        max,
                        default,
                        request,
                    ]
                })
            })
    });
    let columns = [
        t().facts.name(),
        t().facts.resource(),
        t().facts.minimum(),
        t().facts.maximum(),
        t().facts.default_limit(),
        t().facts.default_request(),
    ];
    FactTable::of(columns, rows).under(t().facts.limit_ranges())
}

fn link(kind: Kind, object: &Object) -> FactValue {
    FactValue::Links(vec![Reference::named(
        kind,
        object.namespace(),
        object.name(),
    )])
}
