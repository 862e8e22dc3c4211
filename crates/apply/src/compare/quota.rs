//! Resource quotas and limit ranges. Quantities are compared by value.

use std::collections::BTreeMap;

use drover_quantity::Quantity as Amount;
use k8s_openapi::api::core::v1::{LimitRange, LimitRangeItem, ResourceQuota};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::Comparable;

type Amounts = BTreeMap<String, Quantity>;

impl Comparable for ResourceQuota {
    fn same_content(&self, other: &Self) -> bool {
        self.can_become(other) && values(hard(self)) == values(hard(other))
    }

    /// Compares the scopes, because Kubernetes does not allow changes of a quota's scopes.
    fn can_become(&self, other: &Self) -> bool {
        let scopes = |of: &Self| {
            let spec = of.spec.clone().unwrap_or_default();
            (spec.scopes.unwrap_or_default(), spec.scope_selector)
        };
        scopes(self) == scopes(other)
    }
}

fn hard(quota: &ResourceQuota) -> Option<&Amounts> {
    quota.spec.as_ref()?.hard.as_ref()
}

impl Comparable for LimitRange {
    fn same_content(&self, other: &Self) -> bool {
        let (items, other_items) = (items(self), items(other));
        let same = |(one, other): (&LimitRangeItem, &LimitRangeItem)| {
            let same_values = |one: &Option<Amounts>, other: &Option<Amounts>| {
                values(one.as_ref()) == values(other.as_ref())
            };
            one.type_ == other.type_
                && same_values(&one.default, &other.default)
                && same_values(&one.default_request, &other.default_request)
                && same_values(&one.max, &other.max)
                && same_values(&one.min, &other.min)
                && same_values(&one.max_limit_request_ratio, &other.max_limit_request_ratio)
        };
        items.len() == other_items.len() && items.iter().zip(other_items).all(same)
    }

    fn can_become(&self, _: &Self) -> bool {
        true
    }
}

fn items(limits: &LimitRange) -> &[LimitRangeItem] {
    limits.spec.as_ref().map_or(&[], |spec| &spec.limits)
}

/// Parses quantities. An invalid quantity stays a text and is compared as text.
fn values(amounts: Option<&Amounts>) -> BTreeMap<&str, Result<i128, &str>> {
    let amounts = amounts.into_iter().flatten();
    amounts
        .map(|(name, text)| {
            let value = Amount::parse(&text.0).map(|amount| amount.nano());
            (name.as_str(), value.map_err(|_| text.0.as_str()))
        })
        .collect()
}
