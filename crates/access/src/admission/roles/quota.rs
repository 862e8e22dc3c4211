//! Validates a project's quota and defaults.
//!
//! A ResourceQuota of Kubernetes limits a single namespace. Drover therefore enforces a project's
//! quota with a ResourceQuota in each of the project's namespaces. The sum of these quotas must not
//! exceed the project's quota. The namespace quota must have a value for each resource in the
//! project's quota.

use std::collections::BTreeMap;

use drover_api::kinds::ProjectSpec;
use drover_quantity::{Quantity, QuantityError};
use thiserror::Error;

/// Reasons why a project's quota or defaults are invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuotaError {
    /// The value is not a quantity.
    #[error(
        "{field} {value:?} is not a quantity: {source}; use a quantity such as \"500m\" or \
        \"64Mi\""
    )]
    NoQuantity {
        /// Path of the field in the Project's spec.
        field: String,
        /// Value of the field, as written by the user.
        value: String,
        /// The error of the quantity parser.
        source: QuantityError,
    },
    /// The value is negative.
    #[error("{field} {value:?} is negative: use 0 or more")]
    Negative {
        /// Path of the field in the Project's spec.
        field: String,
        /// Value of the field, as written by the user.
        value: String,
    },
    /// The namespace quota has no value for a resource that the project's quota limits.
    #[error(
        "spec.quota.project limits {resource:?}, but spec.quota.namespace has no limit for \
         {resource:?}: add the resource to spec.quota.namespace, or remove the resource from \
         spec.quota.project"
    )]
    Unshared {
        /// Resource name, such as `requests.cpu`.
        resource: String,
    },
    /// The sum of the namespaces' quotas exceeds the project's quota.
    #[error(
        "the sum of {count} namespace quotas of {namespace} exceeds the project quota of \
         {project} for {resource:?}: lower spec.quota.namespace, raise spec.quota.project, or \
         remove namespaces"
    )]
    Exceeded {
        /// Resource name, such as `requests.cpu`.
        resource: String,
        /// Number of the project's namespaces.
        count: usize,
        /// Quota of each namespace, as a Kubernetes quantity.
        namespace: String,
        /// Quota of the project, as a Kubernetes quantity.
        project: String,
    },
    /// The default request of a container exceeds its default limit.
    #[error(
        "the default request {request} of {resource:?} (spec.containerDefaults.requests) exceeds \
         the default limit {limit} (spec.containerDefaults.limits): raise the limit, or lower \
         the request"
    )]
    AboveLimit {
        /// Resource name, such as `cpu`.
        resource: String,
        /// Default request of a container, as a Kubernetes quantity.
        request: String,
        /// Default limit of a container, as a Kubernetes quantity.
        limit: String,
    },
}

/// Quantities by resource: the value in billionths, and the original text.
type ParsedQuantities<'a> = BTreeMap<&'a str, (i128, &'a str)>;

/// Validates the quota and the defaults of a project.
///
/// # Errors
///
/// Returns the first [`QuotaError`], in the order of the field names.
pub fn check(spec: &ProjectSpec) -> Result<(), QuotaError> {
    if let Some(defaults) = &spec.container_defaults {
        let requests = read("spec.containerDefaults.requests", &defaults.requests)?;
        let limits = read("spec.containerDefaults.limits", &defaults.limits)?;
        within_limits(&requests, &limits)?;
    }
    if let Some(quota) = &spec.quota {
        let project = read("spec.quota.project", &quota.project)?;
        let namespace = read("spec.quota.namespace", &quota.namespace)?;
        adds_up(&project, &namespace, spec.namespaces.len())?;
    }
    Ok(())
}

fn read<'a>(
    field: &str,
    amounts: &'a BTreeMap<String, String>,
) -> Result<ParsedQuantities<'a>, QuotaError> {
    let read = |(resource, value): (&'a String, &'a String)| {
        let field = || format!("{field}[{resource:?}]");
        let quantity = Quantity::parse(value).map_err(|source| QuotaError::NoQuantity {
            field: field(),
            value: value.clone(),
            source,
        })?;
        if quantity.nano() < 0 {
            return Err(QuotaError::Negative {
                field: field(),
                value: value.clone(),
            });
        }
        Ok((resource.as_str(), (quantity.nano(), value.as_str())))
    };
    amounts.iter().map(read).collect()
}

fn within_limits(
    requests: &ParsedQuantities<'_>,
    limits: &ParsedQuantities<'_>,
) -> Result<(), QuotaError> {
    let above = requests.iter().find_map(|(resource, request)| {
        let limit = limits.get(resource)?;
        (request.0 > limit.0).then(|| QuotaError::AboveLimit {
            resource: (*resource).to_owned(),
            request: request.1.to_owned(),
            limit: limit.1.to_owned(),
        })
    });
    above.map_or(Ok(()), Err)
}

fn adds_up(
    project: &ParsedQuantities<'_>,
    namespace: &ParsedQuantities<'_>,
    count: usize,
) -> Result<(), QuotaError> {
    for (resource, whole) in project {
        let Some(each) = namespace.get(resource) else {
            return Err(QuotaError::Unshared {
                resource: (*resource).to_owned(),
            });
        };
        let sum = i128::try_from(count)
            .ok()
            .and_then(|count| each.0.checked_mul(count));
        if sum.is_none_or(|sum| sum > whole.0) {
            return Err(QuotaError::Exceeded {
                resource: (*resource).to_owned(),
                count,
                namespace: each.1.to_owned(),
                project: whole.1.to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
