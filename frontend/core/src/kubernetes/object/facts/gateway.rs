//! Gateways and HTTPRoutes of the Gateway API.

use serde_json::Value;

use super::{KindFacts, cell, condition, scalar, strings};
use crate::kind::Kind;
use crate::messages::t;
use crate::object::overview::{FactTable, FactValue, Facts, ObjectState, Section};
use crate::object::{Object, Reference, Target, read};
use drover_rows::Severity;

/// The API group of the Gateway API.
const GROUP: &str = "gateway.networking.k8s.io";

/// A kind of the Gateway API, in any version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct GatewayKind {
    name: &'static str,
    plural: &'static str,
}

/// The kind Gateway.
pub(in super::super) const GATEWAYS: GatewayKind = GatewayKind {
    name: "Gateway",
    plural: "gateways",
};
/// The kind HTTPRoute.
pub(in super::super) const HTTP_ROUTES: GatewayKind = GatewayKind {
    name: "HTTPRoute",
    plural: "httproutes",
};

impl GatewayKind {
    /// Reports whether a kind of a cluster is this kind.
    pub(in super::super) fn is(self, kind: Kind) -> bool {
        kind.name == self.name && kind.group() == GROUP
    }

    /// Returns the kind in the version `v1`. Returns `None` if the page has discovered too many
    /// kinds.
    pub(in super::super) fn kind(self) -> Option<Kind> {
        Kind::discovered(self.plural, self.name, &format!("{GROUP}/v1"), true)
    }
}

/// Returns the facts of a Gateway.
pub(super) fn gateway(gateway: &Object) -> KindFacts {
    let value = gateway.value();
    let facts = Facts::default()
        .text(
            t().facts.class(),
            read::owned(value, "/spec/gatewayClassName"),
        )
        .codes(
            t().workloads.addresses(),
            read::each(value, "/status/addresses", "/value"),
        );
    let reported = read::list(value, "/status/listeners");
    let rows = read::list(value, "/spec/listeners").iter().map(|listener| {
        let of = |pointer| cell(scalar(listener, pointer));
        let name = read::text(listener, "/name");
        let status = reported.iter().find(|it| read::text(it, "/name") == name);
        let status = status.unwrap_or(&Value::Null);
        [
            of("/name"),
            of("/protocol"),
            of("/port"),
            of("/hostname"),
            cell(scalar(status, "/attachedRoutes")),
            FactValue::Text(conditions_words(
                status,
                &["Accepted", "Programmed", "ResolvedRefs"],
            )),
        ]
    });
    let columns = [
        t().facts.name(),
        t().facts.protocol(),
        t().facts.port(),
        t().facts.host(),
        t().facts.routes(),
        t().labels.state(),
    ];
    let listeners = FactTable::of(columns, rows).under(t().facts.listeners());
    KindFacts::new(gateway_state(value), [facts.under("Gateway"), listeners])
}

fn gateway_state(gateway: &Value) -> Option<ObjectState> {
    let conditions = read::list(gateway, "/status/conditions");
    let programmed = condition(conditions, "Programmed")?;
    let message = read::text(programmed, "/message").unwrap_or_default();
    Some(match read::text(programmed, "/status") {
        Some("True") => ObjectState::of(Severity::Healthy, "Programmed"),
        Some("False") => ObjectState::of(Severity::Failing, t().facts.not_condition("Programmed"))
            .because(message),
        _ => ObjectState::of(Severity::Progressing, t().states.unknown()).because(message),
    })
}

/// Formats conditions of a listener or a parent: the types that are not `True`, with their reasons.
fn conditions_words(value: &Value, types: &[&str]) -> String {
    let conditions = read::list(value, "/conditions");
    let reported = types
        .iter()
        .filter_map(|name| Some((*name, condition(conditions, name)?)));
    let reported: Vec<_> = reported.collect();
    if reported.is_empty() {
        return t().states.unknown().to_owned();
    }
    let failed = reported
        .iter()
        .filter(|(_, one)| read::text(one, "/status") != Some("True"));
    let failed: Vec<_> = failed
        .map(|(name, one)| {
            let reason = read::text(one, "/reason").unwrap_or_default();
            format!("{}: {reason}", t().facts.not_condition(name))
        })
        .collect();
    if !failed.is_empty() {
        return failed.join(", ");
    }
    let names: Vec<_> = reported.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// Returns the facts of an HTTPRoute.
pub(super) fn http_route(route: &Object) -> KindFacts {
    let value = route.value();
    let facts = Facts::default().codes(t().facts.hosts(), strings(value, "/spec/hostnames"));
    let sections = [facts.under("HTTPRoute"), parents(route), rules(route)];
    KindFacts::new(route_state(value), sections)
}

/// A route works if a parent accepts the route and resolves its references.
fn route_state(route: &Value) -> Option<ObjectState> {
    let parents = read::list(route, "/status/parents");
    let failed = |name: &str| {
        parents.iter().find_map(|parent| {
            let one = condition(read::list(parent, "/conditions"), name)?;
            (read::text(one, "/status") == Some("False")).then_some(one)
        })
    };
    for name in ["Accepted", "ResolvedRefs"] {
        if let Some(one) = failed(name) {
            let state = ObjectState::of(Severity::Failing, t().facts.not_condition(name));
            return Some(state.because(read::text(one, "/message").unwrap_or_default()));
        }
    }
    (!parents.is_empty()).then(|| ObjectState::of(Severity::Healthy, "Accepted"))
}

fn parents(route: &Object) -> Section {
    let value = route.value();
    let reported = read::list(value, "/status/parents");
    let rows = read::list(value, "/spec/parentRefs").iter().map(|parent| {
        let key = |parent: &Value| {
            ["/name", "/namespace", "/sectionName"].map(|pointer| read::owned(parent, pointer))
        };
        let of = |one: &&Value| {
            let other = key(read::at(one, "/parentRef"));
            let own = key(parent);
            // Controllers can add the default namespace to the reference.
            own[0] == other[0] && own[2] == other[2] && (own[1].is_none() || own[1] == other[1])
        };
        let status = reported.iter().find(of).unwrap_or(&Value::Null);
        let link = parent_link(route.namespace(), parent);
        [
            FactValue::Links(link.into_iter().collect()),
            cell(read::owned(parent, "/sectionName")),
            FactValue::Text(conditions_words(status, &["Accepted", "ResolvedRefs"])),
        ]
    });
    let columns = [t().facts.parent(), t().facts.listener(), t().labels.state()];
    FactTable::of(columns, rows).under(t().facts.parents())
}

/// Returns the reference to a parent of a route.
fn parent_link(namespace: Option<&str>, parent: &Value) -> Option<Reference> {
    let name = read::text(parent, "/name")?;
    let kind = read::text(parent, "/kind").unwrap_or(GATEWAYS.name);
    let namespace = read::text(parent, "/namespace").or(namespace);
    let target = match kind {
        "Gateway" => GATEWAYS.kind(),
        "Service" => Some(Kind::SERVICES),
        _ => None,
    };
    Some(Reference {
        words: format!("{kind} {name}"),
        target: target.map(|kind| Target::of(kind, namespace, name)),
    })
}

/// Returns the references of a route to its parents.
pub(in super::super) fn parent_links(route: &Object) -> Vec<Reference> {
    let parents = read::list(route.value(), "/spec/parentRefs").iter();
    parents
        .filter_map(|parent| parent_link(route.namespace(), parent))
        .collect()
}

fn rules(route: &Object) -> Section {
    let rows = read::list(route.value(), "/spec/rules").iter().map(|rule| {
        let matches = read::list(rule, "/matches").iter().map(match_words);
        let matches: Vec<_> = matches.collect();
        let backends = read::list(rule, "/backendRefs").iter();
        let backends = backends.filter_map(|one| backend_link(route.namespace(), one));
        [
            // A rule without matches matches all paths.
            FactValue::Codes(if matches.is_empty() {
                vec!["/".to_owned()]
            } else {
                matches
            }),
            FactValue::Links(backends.collect()),
            cell(Some(read::each(rule, "/filters", "/type").join(", "))),
        ]
    });
    let columns = [
        t().facts.matches(),
        t().facts.backend(),
        t().facts.filters(),
    ];
    FactTable::of(columns, rows).under(t().facts.rules())
}

/// Formats a match of a rule: method, path, and the headers and query parameters.
fn match_words(one: &Value) -> String {
    let mut words = Vec::new();
    words.extend(read::owned(one, "/method"));
    let path = read::text(one, "/path/value").unwrap_or("/");
    words.push(match read::text(one, "/path/type") {
        Some("Exact") => format!("= {path}"),
        Some("RegularExpression") => format!("~ {path}"),
        _ => path.to_owned(),
    });
    for pointer in ["/headers", "/queryParams"] {
        let names = read::list(one, pointer).iter();
        words.extend(names.filter_map(|it| {
            let (name, value) = (read::text(it, "/name")?, read::text(it, "/value")?);
            Some(format!("{name}={value}"))
        }));
    }
    words.join(" ")
}

/// Returns the reference to a backend of a route, with its port and its weight.
fn backend_link(namespace: Option<&str>, backend: &Value) -> Option<Reference> {
    let name = read::text(backend, "/name")?;
    let namespace = read::text(backend, "/namespace").or(namespace);
    let kind = read::text(backend, "/kind").unwrap_or(Kind::SERVICES.name);
    let port = scalar(backend, "/port").map(|port| format!(":{port}"));
    let weight = scalar(backend, "/weight").filter(|weight| weight != "1");
    let weight = weight.map(|weight| format!(" ({})", t().facts.weight(&weight)));
    let is_service = kind == Kind::SERVICES.name;
    Some(Reference {
        words: format!(
            "{name}{}{}",
            port.unwrap_or_default(),
            weight.unwrap_or_default()
        ),
        target: is_service.then(|| Target::of(Kind::SERVICES, namespace, name)),
    })
}

/// Returns the references of a route to its backends.
pub(in super::super) fn backend_links(route: &Object) -> Vec<Reference> {
    let rules = read::list(route.value(), "/spec/rules").iter();
    let backends = rules.flat_map(|rule| read::list(rule, "/backendRefs"));
    backends
        .filter_map(|one| backend_link(route.namespace(), one))
        .collect()
}
