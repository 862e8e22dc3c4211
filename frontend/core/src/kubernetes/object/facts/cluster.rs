//! Namespaces, Leases and CustomResourceDefinitions.

use serde_json::Value;

use super::{KindFacts, condition, joined, scalar, yes};
use crate::kind::Kind;
use crate::messages::t;
use crate::object::overview::{FactTable, FactValue, Facts, ObjectState};
use crate::object::{Object, read};
use drover_rows::Severity;

/// Returns the facts of a Namespace. Its quotas and limits are separate lists.
pub(super) fn namespace(namespace: &Object) -> KindFacts {
    let phase = read::text(namespace.value(), "/status/phase");
    let state = phase.map(|phase| {
        let severity = match phase {
            "Active" => Severity::Healthy,
            _ => Severity::Progressing,
        };
        ObjectState::of(severity, phase)
    });
    KindFacts::new(state, [])
}

/// Returns the facts of a Lease.
pub(super) fn lease(lease: &Object) -> KindFacts {
    let value = lease.value();
    let facts = Facts::default()
        .codes(
            t().facts.holder(),
            read::owned(value, "/spec/holderIdentity")
                .into_iter()
                .collect(),
        )
        .at(t().facts.renewed(), read::time(value, "/spec/renewTime"))
        .at(t().facts.acquired(), read::time(value, "/spec/acquireTime"))
        .text(
            t().facts.lease_duration(),
            read::number(value, "/spec/leaseDurationSeconds")
                .map(|seconds| t().durations.seconds(seconds)),
        )
        .text(
            t().facts.transitions(),
            scalar(value, "/spec/leaseTransitions"),
        );
    KindFacts::new(None, [facts.under("Lease")])
}

/// Returns the facts of a CustomResourceDefinition.
pub(super) fn definition(definition: &Object) -> KindFacts {
    let value = definition.value();
    let of = |pointer| read::owned(value, pointer);
    let facts = Facts::default()
        .put(
            t().facts.objects(),
            defined_kind(value).map(FactValue::List),
        )
        .text(t().facts.kind(), of("/spec/names/kind"))
        .text(t().facts.group(), of("/spec/group"))
        .text(t().facts.scope(), of("/spec/scope"))
        .text(t().facts.plural(), of("/spec/names/plural"))
        .text(t().facts.singular(), of("/spec/names/singular"))
        .text(
            t().facts.short_names(),
            joined(value, "/spec/names/shortNames"),
        )
        .text(
            t().facts.categories(),
            joined(value, "/spec/names/categories"),
        );
    let rows = read::list(value, "/spec/versions").iter().map(|version| {
        let word = |pointer| {
            FactValue::Text(
                yes(version, pointer)
                    .unwrap_or_else(|| t().states.no())
                    .to_owned(),
            )
        };
        [
            FactValue::Text(read::owned(version, "/name").unwrap_or_default()),
            word("/served"),
            word("/storage"),
            word("/deprecated"),
        ]
    });
    let columns = [
        t().facts.version(),
        t().facts.served(),
        t().facts.stored(),
        t().facts.deprecated(),
    ];
    let versions = FactTable::of(columns, rows).under(t().facts.versions());
    let sections = [facts.under("CustomResourceDefinition"), versions];
    KindFacts::new(definition_state(value), sections)
}

fn definition_state(definition: &Value) -> Option<ObjectState> {
    let conditions = read::list(definition, "/status/conditions");
    let established = condition(conditions, "Established")?;
    if read::text(established, "/status") == Some("True") {
        return Some(ObjectState::of(Severity::Healthy, t().facts.established()));
    }
    let message = read::text(established, "/message").unwrap_or_default();
    Some(ObjectState::of(Severity::Failing, t().facts.not_established()).because(message))
}

/// Returns the kind that a CustomResourceDefinition defines, with its preferred served version. The
/// page opens the list by the plural and the group, so that the version is not important.
fn defined_kind(definition: &Value) -> Option<Kind> {
    let versions = read::list(definition, "/spec/versions").iter();
    let version = versions
        .filter(|version| read::is_true(version, "/served"))
        .find_map(|version| read::text(version, "/name"))?;
    let group = read::text(definition, "/spec/group")?;
    Kind::discovered(
        read::text(definition, "/spec/names/plural")?,
        read::text(definition, "/spec/names/kind")?,
        &format!("{group}/{version}"),
        read::text(definition, "/spec/scope") == Some("Namespaced"),
    )
}
