//! Targets of bundles: the clusters of a bundle, and the options of each cluster.

mod clusters;
mod go_templates;
mod groups;
mod merge;
mod namespaces;
mod selector;
mod templates;
mod yaml_text;

use std::collections::BTreeMap;

use drover_api::fleet::{
    Bundle, BundleDeploymentOptions, BundleTarget, LabelSelector, TargetCustomizationMode, labels,
};
use thiserror::Error;

pub use clusters::{ClusterFacts, ClusterMatcher, Group, deployment_namespace};
pub use go_templates::GoTemplates;
pub use groups::{GroupMember, Groups};
pub use merge::{merge_options, merge_values};
pub use namespaces::{mapping_applies, mapping_selects_bundle, merge_selectors};
pub use selector::{Selector, SelectorError};
pub use templates::{TemplateError, Templates};
pub use yaml_text::write as yaml_text;

use crate::ids::deployment_id;

/// A bundle whose targets cannot be computed.
#[derive(Debug, Error)]
pub enum TargetError {
    /// A selector is not valid.
    #[error("cannot match clusters with {list}[{index}]: {source}")]
    Selector {
        /// Name of the list with the selector.
        list: &'static str,
        /// Index of the entry.
        index: usize,
        /// The reason.
        source: SelectorError,
    },
    /// The Helm values cannot be rendered for a cluster.
    #[error("cannot render the Helm values for cluster {cluster}: {source}")]
    Values {
        /// Namespace and name of the cluster.
        cluster: String,
        /// The reason.
        source: TemplateError,
    },
}

/// A cluster of a bundle, with the merged options.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Options of the deployment. The deployment ID is a hash of these options.
    pub options: BundleDeploymentOptions,
    /// ID of the deployment.
    pub deployment_id: String,
    /// Labels of the namespace from the targets that match the cluster.
    pub namespace_labels: BTreeMap<String, String>,
    /// Annotations of the namespace from the targets that match the cluster.
    pub namespace_annotations: BTreeMap<String, String>,
}

impl Target {
    /// Returns the options for a bundle deployment: the merged options, and the labels and annotations
    /// of the namespace.
    #[must_use]
    pub fn deployment_options(&self) -> BundleDeploymentOptions {
        let mut options = self.options.clone();
        options
            .namespace_labels
            .extend(self.namespace_labels.clone());
        options
            .namespace_annotations
            .extend(self.namespace_annotations.clone());
        options
    }
}

/// The compiled targets of a bundle.
///
/// The type depends only on the bundle, so a change of one cluster needs one call of
/// [`Targeting::target`] for each bundle in the cluster's scope.
#[derive(Debug)]
pub struct Targeting<'a> {
    bundle: &'a Bundle,
    targets: Vec<Entry<'a>>,
    restrictions: Vec<ClusterMatcher>,
}

#[derive(Debug)]
struct Entry<'a> {
    target: &'a BundleTarget,
    clusters: ClusterMatcher,
    /// True for an entry of `targetCustomizations`, which selects no clusters itself.
    is_customization: bool,
}

impl<'a> Targeting<'a> {
    /// Compiles the selectors of a bundle.
    ///
    /// A bundle of a GitRepo has as many restrictions as targets of the GitRepo, and its
    /// customizations are before the targets of the GitRepo. A bundle without restrictions has no
    /// customizations.
    ///
    /// # Errors
    ///
    /// A selector is not valid.
    pub fn new(bundle: &'a Bundle) -> Result<Self, TargetError> {
        let restrictions = &bundle.spec.target_restrictions;
        let customizations = if restrictions.is_empty() {
            0
        } else {
            bundle.spec.targets.len().saturating_sub(restrictions.len())
        };
        let entry = |(index, target): (usize, &'a BundleTarget)| {
            let clusters =
                ClusterMatcher::of_target(target).map_err(|source| TargetError::Selector {
                    list: "targets",
                    index,
                    source,
                })?;
            let is_customization = index < customizations;
            Ok(Entry {
                target,
                clusters,
                is_customization,
            })
        };
        let restriction = |(index, target)| {
            let list = "targetRestrictions";
            ClusterMatcher::of_git_target(target).map_err(|source| TargetError::Selector {
                list,
                index,
                source,
            })
        };
        Ok(Self {
            bundle,
            targets: bundle
                .spec
                .targets
                .iter()
                .enumerate()
                .map(entry)
                .collect::<Result<_, _>>()?,
            restrictions: restrictions
                .iter()
                .enumerate()
                .map(restriction)
                .collect::<Result<_, _>>()?,
        })
    }

    /// Returns the first target that selects the cluster and that the restrictions permit.
    #[must_use]
    pub fn matching(&self, cluster: &ClusterFacts<'_>) -> Option<&'a BundleTarget> {
        let selects = |entry: &&Entry<'_>| {
            !entry.is_customization
                && cluster.any_group(|group| {
                    let permitted = self.restrictions.is_empty()
                        || self
                            .restrictions
                            .iter()
                            .any(|it| it.matches(cluster, group));
                    permitted && entry.clusters.matches(cluster, group)
                })
        };
        self.targets.iter().find(selects).map(|entry| entry.target)
    }

    /// Returns the customizations that apply to the cluster: at most one, or all in the mode
    /// `AllMatches`.
    fn customizations(&self, cluster: &ClusterFacts<'_>) -> Vec<&'a BundleTarget> {
        let matching = self.targets.iter().filter(|entry| {
            entry.is_customization
                && cluster.any_group(|group| entry.clusters.matches(cluster, group))
        });
        let limit = match self.bundle.spec.target_customization_mode {
            TargetCustomizationMode::AllMatches => usize::MAX,
            TargetCustomizationMode::FirstMatch | TargetCustomizationMode::Unset => 1,
        };
        matching.map(|entry| entry.target).take(limit).collect()
    }

    /// Returns the deployment of the bundle in a cluster, or nothing if the bundle does not select the
    /// cluster.
    ///
    /// `namespace_selector` is the merged `allowedTargetNamespaceSelector` of the namespace's
    /// restrictions. It applies to bundles of GitRepos.
    ///
    /// # Errors
    ///
    /// The templates in the Helm values cannot be rendered.
    pub fn target(
        &self,
        cluster: &ClusterFacts<'_>,
        content_id: &str,
        namespace_selector: Option<&LabelSelector>,
        templates: &dyn Templates,
    ) -> Result<Option<Target>, TargetError> {
        let Some(target) = self.matching(cluster) else {
            return Ok(None);
        };
        let customizations = self.customizations(cluster);
        if target.do_not_deploy || customizations.iter().any(|it| it.do_not_deploy) {
            return Ok(None);
        }
        let all = self.bundle.spec.target_customization_mode == TargetCustomizationMode::AllMatches;
        let custom = match customizations.first() {
            Some(first) if !all => first.options.clone(),
            _ => customizations
                .iter()
                .fold(target.options.clone(), |options, next| {
                    merge_options(&options, &next.options)
                }),
        };
        let mut options = merge_options(&self.bundle.spec.options, &custom);
        if self.is_of_git_repo() && namespace_selector.is_some() {
            options.allowed_target_namespace_selector = namespace_selector.cloned();
        }
        templates::render_values(&mut options, cluster, templates).map_err(|source| {
            let cluster = format!("{}/{}", cluster.namespace, cluster.name);
            TargetError::Values { cluster, source }
        })?;
        let matched = || [target].into_iter().chain(customizations.iter().copied());
        Ok(Some(Target {
            deployment_id: deployment_id(content_id, &options),
            options,
            namespace_labels: matched()
                .flat_map(|it| it.namespace_labels.clone())
                .collect(),
            namespace_annotations: matched()
                .flat_map(|it| it.namespace_annotations.clone())
                .collect(),
        }))
    }

    fn is_of_git_repo(&self) -> bool {
        let labels = self.bundle.metadata.labels.as_ref();
        labels.is_some_and(|labels| {
            labels
                .get(labels::REPO_NAME)
                .is_some_and(|it| !it.is_empty())
        })
    }
}

/// Returns the labels of the bundle deployment of a bundle in a cluster.
#[must_use]
pub fn deployment_labels(bundle: &Bundle, cluster: &ClusterFacts<'_>) -> BTreeMap<String, String> {
    let own = bundle.metadata.labels.clone().unwrap_or_default();
    let mut result: BTreeMap<String, String> = own
        .into_iter()
        .filter(|(key, _)| key.starts_with("fleet.cattle.io/") || clusters::is_exported(key))
        .collect();
    let name = bundle.metadata.name.clone().unwrap_or_default();
    let namespace = bundle.metadata.namespace.clone().unwrap_or_default();
    result.extend([
        (labels::BUNDLE_NAME.to_owned(), name),
        (labels::BUNDLE_NAMESPACE.to_owned(), namespace),
        (labels::MANAGED.to_owned(), "true".to_owned()),
        (
            labels::CLUSTER_NAMESPACE.to_owned(),
            cluster.namespace.to_owned(),
        ),
        (labels::CLUSTER.to_owned(), cluster.name.to_owned()),
    ]);
    result
}

#[cfg(test)]
mod tests;
