//! What a project says of quota and defaults: quantities that can be, and that do not add up to more
//! than the whole project may use.
//!
//! Kubernetes bounds what a namespace uses, not what some use together. So a project's bound holds
//! because each of its namespaces has one, and they add up to no more: where a resource is bounded
//! for the project, each namespace says how much of it is its own.

use std::collections::BTreeMap;

use drover_api::kinds::ProjectSpec;
use drover_quantity::{Quantity, QuantityError};
use thiserror::Error;

/// Why what a project says of quota or defaults cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuotaError {
    /// It is no quantity.
    #[error("{field} {value:?} is no quantity: {source}; write one such as \"500m\" or \"64Mi\"")]
    NoQuantity {
        /// Path of the field.
        field: String,
        /// What it says.
        value: String,
        /// Why it is none.
        source: QuantityError,
    },
    /// It is less than nothing.
    #[error("{field} {value:?} is less than nothing: write 0 or more")]
    Negative {
        /// Path of the field.
        field: String,
        /// What it says.
        value: String,
    },
    /// Nobody keeps the bound of the project.
    #[error(
        "spec.quota.project has {resource:?}, and spec.quota.namespace has not: say there how much of \
         it each namespace may use, or take it out"
    )]
    Unshared {
        /// The resource.
        resource: String,
    },
    /// The namespaces together may use more than the project.
    #[error(
        "spec.quota.project has {project} of {resource:?}, and {count} namespaces with {namespace} \
         each (spec.quota.namespace) may use more: lower that, raise this, or have fewer namespaces"
    )]
    Exceeded {
        /// The resource.
        resource: String,
        /// How many namespaces the project says it has.
        count: usize,
        /// What each may use.
        namespace: String,
        /// What all may use together.
        project: String,
    },
    /// A container would ask for more than it may have.
    #[error(
        "spec.containerDefaults.requests has {request} of {resource:?}, and \
         spec.containerDefaults.limits only {limit}: raise that, or lower this"
    )]
    AboveLimit {
        /// The resource.
        resource: String,
        /// What a container asks for.
        request: String,
        /// What it may have.
        limit: String,
    },
}

/// Billionths by resource, with how they were written.
type Read<'a> = BTreeMap<&'a str, (i128, &'a str)>;

/// Whether what a project says of quota and defaults can be.
///
/// # Errors
/// See [`QuotaError`]: the first that is wrong, by the fields' names.
pub fn check(said: &ProjectSpec) -> Result<(), QuotaError> {
    if let Some(defaults) = &said.container_defaults {
        let requests = read("spec.containerDefaults.requests", &defaults.requests)?;
        let limits = read("spec.containerDefaults.limits", &defaults.limits)?;
        within_limits(&requests, &limits)?;
    }
    if let Some(quota) = &said.quota {
        let project = read("spec.quota.project", &quota.project)?;
        let namespace = read("spec.quota.namespace", &quota.namespace)?;
        adds_up(&project, &namespace, said.namespaces.len())?;
    }
    Ok(())
}

fn read<'a>(field: &str, amounts: &'a BTreeMap<String, String>) -> Result<Read<'a>, QuotaError> {
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

fn within_limits(requests: &Read<'_>, limits: &Read<'_>) -> Result<(), QuotaError> {
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

fn adds_up(project: &Read<'_>, namespace: &Read<'_>, count: usize) -> Result<(), QuotaError> {
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
