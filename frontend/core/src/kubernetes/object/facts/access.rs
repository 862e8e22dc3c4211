//! Roles, bindings and ServiceAccounts.

use serde_json::Value;

use super::{KindFacts, cell, joined, strings};
use crate::kind::Kind;
use crate::messages::t;
use crate::object::overview::{FactTable, FactValue, Facts};
use crate::object::related::terms;
use crate::object::{Object, Reference, read};

/// Returns the facts of a Role or a ClusterRole.
pub(super) fn role(role: &Object) -> KindFacts {
    let value = role.value();
    let aggregated = read::list(value, "/aggregationRule/clusterRoleSelectors");
    let facts = Facts::default().codes(
        t().facts.aggregates(),
        aggregated.iter().filter_map(terms).collect(),
    );
    let rows = read::list(value, "/rules").iter().map(|rule| {
        let resources = strings(rule, "/resources");
        let targets = match strings(rule, "/nonResourceURLs") {
            urls if resources.is_empty() => urls,
            _ => resources,
        };
        [
            FactValue::Codes(targets),
            FactValue::Text(groups(rule)),
            FactValue::Codes(strings(rule, "/verbs")),
            cell(joined(rule, "/resourceNames")),
        ]
    });
    let columns = [
        t().facts.resources(),
        t().facts.api_groups(),
        t().facts.verbs(),
        t().facts.names(),
    ];
    let rules = FactTable::of(columns, rows).under(t().facts.rules());
    KindFacts::new(None, [facts.under(t().facts.aggregation()), rules])
}

/// Formats the API groups of a rule. The core group has an empty name.
fn groups(rule: &Value) -> String {
    let groups = strings(rule, "/apiGroups").into_iter();
    let groups = groups.map(|group| {
        if group.is_empty() {
            t().facts.core_group().to_owned()
        } else {
            group
        }
    });
    groups.collect::<Vec<_>>().join(", ")
}

/// Returns the facts of a RoleBinding or a ClusterRoleBinding.
pub(super) fn binding(binding: &Object) -> KindFacts {
    let value = binding.value();
    let role = role_link(binding);
    let facts = Facts::default().links(t().facts.role(), role.into_iter().collect());
    let rows = read::list(value, "/subjects").iter().map(|subject| {
        let of = |pointer| read::text(subject, pointer).unwrap_or_default();
        let name = match service_account_link(subject) {
            Some(link) => FactValue::Links(vec![link]),
            None => FactValue::Text(of("/name").to_owned()),
        };
        [
            FactValue::Text(of("/kind").to_owned()),
            name,
            FactValue::Text(of("/namespace").to_owned()),
        ]
    });
    let columns = [t().facts.kind(), t().facts.name(), t().facts.namespace()];
    let subjects = FactTable::of(columns, rows).under(t().facts.subjects());
    KindFacts::new(None, [facts.under(t().facts.role()), subjects])
}

/// Returns the reference to the role of a binding.
pub(in super::super) fn role_link(binding: &Object) -> Option<Reference> {
    let role = read::at(binding.value(), "/roleRef");
    let (kind, name) = (read::text(role, "/kind")?, read::text(role, "/name")?);
    let api_version = Kind::ROLES.api_version;
    Some(Reference::to(api_version, kind, binding.namespace(), name))
}

/// Returns the reference to the ServiceAccount of a subject. Returns `None` for users and groups.
pub(in super::super) fn service_account_link(subject: &Value) -> Option<Reference> {
    let is_account = read::text(subject, "/kind") == Some(Kind::SERVICE_ACCOUNTS.name);
    let name = read::text(subject, "/name").filter(|_| is_account)?;
    let namespace = read::text(subject, "/namespace");
    Some(Reference::named(Kind::SERVICE_ACCOUNTS, namespace, name))
}

/// Returns the facts of a ServiceAccount.
pub(super) fn service_account(account: &Object) -> KindFacts {
    let value = account.value();
    let secrets = |pointer| {
        let names = read::each(value, pointer, "/name").into_iter();
        names
            .map(|name| Reference::named(Kind::SECRETS, account.namespace(), &name))
            .collect()
    };
    let mounts = value.get("automountServiceAccountToken");
    let mounts = mounts.and_then(Value::as_bool).unwrap_or(true);
    let facts = Facts::default()
        .text(
            t().facts.mounts_token(),
            Some(if mounts {
                t().states.yes()
            } else {
                t().states.no()
            }),
        )
        .links(t().facts.pull_secrets(), secrets("/imagePullSecrets"))
        .links(t().facts.token_secrets(), secrets("/secrets"));
    KindFacts::new(None, [facts.under("ServiceAccount")])
}
