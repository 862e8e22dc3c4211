//! BundleNamespaceMapping: bundles that may target clusters of other namespaces.

use std::collections::BTreeMap;

use drover_api::fleet::{Bundle, BundleNamespaceMapping, LabelSelector};

use super::selector::{Selector, SelectorError};

/// Reports whether a mapping selects a bundle. A mapping without both selectors selects no bundle.
///
/// # Errors
///
/// A selector of the mapping is not valid.
pub fn mapping_selects_bundle(
    mapping: &BundleNamespaceMapping,
    bundle: &Bundle,
) -> Result<bool, SelectorError> {
    let (Some(bundles), Some(_)) = (&mapping.bundle_selector, &mapping.namespace_selector) else {
        return Ok(false);
    };
    let labels = bundle.metadata.labels.clone().unwrap_or_default();
    Ok(Selector::new(bundles)?.matches(&labels)
        && mapping.metadata.namespace == bundle.metadata.namespace)
}

/// Reports whether a mapping permits a bundle to target the clusters of a namespace with these labels.
///
/// # Errors
///
/// A selector of the mapping is not valid.
pub fn mapping_applies(
    mapping: &BundleNamespaceMapping,
    bundle: &Bundle,
    namespace_labels: &BTreeMap<String, String>,
) -> Result<bool, SelectorError> {
    let Some(namespaces) = &mapping.namespace_selector else {
        return Ok(false);
    };
    Ok(mapping_selects_bundle(mapping, bundle)?
        && Selector::new(namespaces)?.matches(namespace_labels))
}

/// Returns a selector with the labels and expressions of all selectors, or nothing if there are no
/// selectors. The last value of a label wins.
#[must_use]
pub fn merge_selectors<'a>(
    selectors: impl IntoIterator<Item = &'a LabelSelector>,
) -> Option<LabelSelector> {
    let mut selectors = selectors.into_iter();
    let mut result = selectors.next()?.clone();
    for selector in selectors {
        result.match_labels.extend(selector.match_labels.clone());
        for expression in &selector.match_expressions {
            if !result.match_expressions.contains(expression) {
                result.match_expressions.push(expression.clone());
            }
        }
    }
    Some(result)
}
