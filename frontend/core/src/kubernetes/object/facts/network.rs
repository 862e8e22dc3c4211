//! Services and Ingresses.

use serde_json::Value;

use super::{KindFacts, cell, joined, scalar, strings};
use crate::kind::Kind;
use crate::messages::t;
use crate::object::overview::{FactTable, FactValue, Facts, ObjectState, Section};
use crate::object::{Object, Reference, read};
use drover_rows::Severity;

/// Returns the facts of a Service.
pub(super) fn service(service: &Object) -> KindFacts {
    let value = service.value();
    let of = |pointer| read::owned(value, pointer);
    let addresses = match strings(value, "/spec/clusterIPs") {
        none if none.is_empty() => of("/spec/clusterIP").into_iter().collect(),
        addresses => addresses,
    };
    let external = load_balancer_addresses(value);
    let waits = of("/spec/type").as_deref() == Some("LoadBalancer") && external.is_empty();
    let facts = Facts::default()
        .text(t().facts.service_type(), of("/spec/type"))
        .codes(t().facts.cluster_ip(), addresses)
        .codes(t().facts.load_balancer(), external)
        .codes(
            t().facts.external_ips(),
            strings(value, "/spec/externalIPs"),
        )
        .codes(
            t().facts.external_name(),
            of("/spec/externalName").into_iter().collect(),
        )
        .codes(
            t().workloads.selector(),
            read::assignments(value, "/spec/selector"),
        )
        .text(t().facts.ip_families(), joined(value, "/spec/ipFamilies"))
        .text(
            t().facts.session_affinity(),
            of("/spec/sessionAffinity").filter(|affinity| affinity != "None"),
        )
        .text(
            t().facts.traffic_policy(),
            of("/spec/externalTrafficPolicy"),
        );
    let state = waits.then(|| {
        ObjectState::of(Severity::Progressing, t().facts.no_address())
            .because(t().facts.no_address_help())
    });
    KindFacts::new(state, [facts.under("Service"), ports(value)])
}

fn ports(service: &Value) -> Section {
    let rows = read::list(service, "/spec/ports").iter().map(|port| {
        let of = |pointer| cell(scalar(port, pointer));
        [
            of("/name"),
            of("/port"),
            // The default target port is the port.
            cell(scalar(port, "/targetPort").or_else(|| scalar(port, "/port"))),
            of("/nodePort"),
            cell(Some(
                read::text(port, "/protocol").unwrap_or("TCP").to_owned(),
            )),
        ]
    });
    let columns = [
        t().facts.name(),
        t().facts.port(),
        t().facts.target_port(),
        t().facts.node_port(),
        t().facts.protocol(),
    ];
    FactTable::of(columns, rows).under(t().object.ports())
}

/// Returns the addresses that a load balancer reported for a Service or an Ingress.
fn load_balancer_addresses(value: &Value) -> Vec<String> {
    let addresses = read::list(value, "/status/loadBalancer/ingress").iter();
    addresses
        .filter_map(|one| read::owned(one, "/ip").or_else(|| read::owned(one, "/hostname")))
        .collect()
}

/// Returns the facts of an Ingress.
pub(super) fn ingress(ingress: &Object) -> KindFacts {
    let value = ingress.value();
    let namespace = ingress.namespace();
    let class = read::text(value, "/spec/ingressClassName");
    let class = class.map(|name| Reference::named(Kind::INGRESS_CLASSES, None, name));
    let facts = Facts::default()
        .links(t().facts.class(), class.into_iter().collect())
        .codes(t().workloads.addresses(), load_balancer_addresses(value))
        .put(
            t().facts.default_backend(),
            value
                .pointer("/spec/defaultBackend")
                .map(|backend| ingress_backend(namespace, backend)),
        );
    let tls = read::list(value, "/spec/tls").iter().map(|one| {
        let secret = read::text(one, "/secretName");
        let secret = secret.map(|name| Reference::named(Kind::SECRETS, namespace, name));
        [
            FactValue::Codes(strings(one, "/hosts")),
            FactValue::Links(secret.into_iter().collect()),
        ]
    });
    let tls = FactTable::of([t().facts.hosts(), "Secret"], tls);
    let sections = [
        facts.under("Ingress"),
        rules(namespace, value),
        tls.under("TLS"),
    ];
    KindFacts::new(None, sections)
}

fn rules(namespace: Option<&str>, ingress: &Value) -> Section {
    let rules = read::list(ingress, "/spec/rules").iter();
    let rows = rules.flat_map(|rule| {
        let host = read::text(rule, "/host").unwrap_or("*");
        read::list(rule, "/http/paths").iter().map(move |path| {
            let kind = read::text(path, "/pathType").unwrap_or_default();
            let backend = read::at(path, "/backend");
            [
                FactValue::Codes(vec![host.to_owned()]),
                FactValue::Codes(vec![read::text(path, "/path").unwrap_or("/").to_owned()]),
                FactValue::Text(kind.to_owned()),
                ingress_backend(namespace, backend),
            ]
        })
    });
    let columns = [
        t().facts.host(),
        t().facts.path(),
        t().facts.path_type(),
        t().facts.backend(),
    ];
    FactTable::of(columns, rows).under(t().facts.rules())
}

/// Returns the backend of an Ingress: a Service with its port, or another object.
fn ingress_backend(namespace: Option<&str>, backend: &Value) -> FactValue {
    let Some(name) = read::text(backend, "/service/name") else {
        let [kind, name] = ["/resource/kind", "/resource/name"]
            .map(|pointer| read::text(backend, pointer).unwrap_or_default());
        return FactValue::Text(format!("{kind} {name}"));
    };
    let port =
        scalar(backend, "/service/port/number").or_else(|| scalar(backend, "/service/port/name"));
    let link = Reference::named(Kind::SERVICES, namespace, name);
    FactValue::Links(vec![Reference {
        words: match port {
            Some(port) => format!("{name}:{port}"),
            None => name.to_owned(),
        },
        ..link
    }])
}
