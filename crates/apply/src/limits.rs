//! Comparison of quotas and limit ranges. Pure.

use std::collections::BTreeMap;

use drover_quantity::Quantity as Amount;
use k8s_openapi::api::core::v1::{LimitRange, LimitRangeItem, ResourceQuota};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::differ::Comparable;

type Amounts = BTreeMap<String, Quantity>;

impl Comparable for ResourceQuota {
    fn means(&self, other: &Self) -> bool {
        self.can_become(other) && read(hard(self)) == read(hard(other))
    }

    /// Kubernetes does not let the scopes of a quota change.
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
    fn means(&self, other: &Self) -> bool {
        let (mine, others) = (items(self), items(other));
        let same = |(one, other): (&LimitRangeItem, &LimitRangeItem)| {
            let alike = |one: &Option<Amounts>, other: &Option<Amounts>| {
                read(one.as_ref()) == read(other.as_ref())
            };
            one.type_ == other.type_
                && alike(&one.default, &other.default)
                && alike(&one.default_request, &other.default_request)
                && alike(&one.max, &other.max)
                && alike(&one.min, &other.min)
                && alike(&one.max_limit_request_ratio, &other.max_limit_request_ratio)
        };
        mine.len() == others.len() && mine.iter().zip(others).all(same)
    }

    fn can_become(&self, _: &Self) -> bool {
        true
    }
}

fn items(limits: &LimitRange) -> &[LimitRangeItem] {
    limits.spec.as_ref().map_or(&[], |spec| &spec.limits)
}

/// What quantities mean, however they are written; what nobody can read is like nothing else.
fn read(amounts: Option<&Amounts>) -> BTreeMap<&str, Result<i128, &str>> {
    let amounts = amounts.into_iter().flatten();
    amounts
        .map(|(name, text)| {
            let read = Amount::parse(&text.0).map(|amount| amount.nano());
            (name.as_str(), read.map_err(|_| text.0.as_str()))
        })
        .collect()
}
