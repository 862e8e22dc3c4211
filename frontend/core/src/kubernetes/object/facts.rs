//! The states and overview fields of the kinds of Kubernetes.

mod access;
mod autoscaler;
mod cluster;
mod configuration;
mod gateway;
mod listed;
mod network;
mod policy;
mod storage;

use serde_json::Value;

use super::overview::{FactValue, ObjectState, Section};
use super::{Object, job, node, pod, read, workload};
use crate::kind::Kind;
use crate::messages::t;
use drover_rows::Severity;

pub(super) use access::{role_link, service_account_link};
pub(super) use autoscaler::scale_target;
pub(super) use gateway::{GATEWAYS, HTTP_ROUTES, backend_links, parent_links};
pub use listed::{ListedSections, listed_sections};
pub(super) use storage::claim_link;

/// The state and the overview fields of an object.
#[derive(Debug)]
pub(super) struct KindFacts {
    /// The state; `None` for kinds without a state.
    pub(super) object_state: Option<ObjectState>,
    /// The groups of overview fields.
    pub(super) sections: Vec<Section>,
}

impl KindFacts {
    fn new(object_state: Option<ObjectState>, sections: impl Into<Vec<Section>>) -> Self {
        Self {
            object_state,
            sections: sections.into(),
        }
    }
}

/// Returns the state and the overview fields of an object.
pub(super) fn kind_facts(kind: Kind, object: &Object) -> KindFacts {
    let of = |state, sections: Vec<Section>| KindFacts::new(Some(state), sections);
    match kind {
        Kind::PODS => of(pod::object_state(object), pod::sections(object)),
        Kind::JOBS => of(job::object_state(object), job::sections(object)),
        Kind::CRON_JOBS => of(job::cron_state(object), job::cron_sections(object)),
        Kind::NODES => of(node::object_state(object), node::sections(object)),
        Kind::DEPLOYMENTS | Kind::STATEFUL_SETS | Kind::DAEMON_SETS | Kind::REPLICA_SETS => of(
            workload::object_state(kind.name, object),
            workload::sections(kind.name, object),
        ),
        Kind::SERVICES => network::service(object),
        Kind::INGRESSES => network::ingress(object),
        Kind::NETWORK_POLICIES => policy::network_policy(object),
        Kind::DISRUPTION_BUDGETS => policy::disruption_budget(object),
        Kind::AUTOSCALERS => autoscaler::autoscaler(object),
        Kind::CONFIG_MAPS => configuration::config_map(object),
        Kind::SECRETS => configuration::secret(object),
        Kind::VOLUME_CLAIMS => storage::claim(object),
        Kind::VOLUMES => storage::volume(object),
        Kind::STORAGE_CLASSES => storage::class(object),
        Kind::SERVICE_ACCOUNTS => access::service_account(object),
        Kind::ROLES | Kind::CLUSTER_ROLES => access::role(object),
        Kind::ROLE_BINDINGS | Kind::CLUSTER_ROLE_BINDINGS => access::binding(object),
        Kind::NAMESPACES => cluster::namespace(object),
        Kind::LEASES => cluster::lease(object),
        Kind::DEFINITIONS => cluster::definition(object),
        kind if GATEWAYS.is(kind) => gateway::gateway(object),
        kind if HTTP_ROUTES.is(kind) => gateway::http_route(object),
        _ => KindFacts::new(custom_state(object), []),
    }
}

/// Returns the state of an object of another kind, from its condition `Ready` or `Available`.
fn custom_state(object: &Object) -> Option<ObjectState> {
    let conditions = read::list(object.value(), "/status/conditions");
    let mut types = ["Ready", "Available"].into_iter();
    let (name, condition) = types.find_map(|name| Some((name, condition(conditions, name)?)))?;
    let message = read::text(condition, "/message").unwrap_or_default();
    Some(match read::text(condition, "/status") {
        Some("True") => ObjectState::of(Severity::Healthy, name),
        Some("False") => {
            ObjectState::of(Severity::Failing, t().facts.not_condition(name)).because(message)
        }
        _ => ObjectState::of(Severity::Degraded, t().states.unknown()).because(message),
    })
}

/// Returns the condition of a type.
fn condition<'a>(conditions: &'a [Value], name: &str) -> Option<&'a Value> {
    let mut conditions = conditions.iter();
    conditions.find(|one| read::text(one, "/type") == Some(name))
}

/// Formats a list of strings in one line. Returns `None` if the list is empty.
fn joined(value: &Value, pointer: &str) -> Option<String> {
    let items = read::list(value, pointer).iter();
    let items: Vec<_> = items.filter_map(read::scalar).collect();
    (!items.is_empty()).then(|| items.join(", "))
}

/// Returns the strings of a list.
fn strings(value: &Value, pointer: &str) -> Vec<String> {
    let items = read::list(value, pointer).iter();
    items
        .filter_map(|item| read::scalar(item).map(std::borrow::Cow::into_owned))
        .collect()
}

/// Returns the string, number or boolean at a JSON pointer as text.
fn scalar(value: &Value, pointer: &str) -> Option<String> {
    read::scalar(read::at(value, pointer)).map(std::borrow::Cow::into_owned)
}

/// Creates a table cell; empty without a text.
fn cell(text: Option<String>) -> FactValue {
    FactValue::Text(text.unwrap_or_default())
}

/// Returns the text `yes` for a boolean field that is set to `true`.
fn yes(value: &Value, pointer: &str) -> Option<&'static str> {
    read::is_true(value, pointer).then(|| t().states.yes())
}

#[cfg(test)]
mod tests;
