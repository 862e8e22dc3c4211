//! The source of bundles: a GitRepo, or local folders.

use std::borrow::Cow;

use drover_api::fleet::{BundleTarget, BundleTargetRestriction, GitRepo, GitTarget};

use super::document::{self, FleetYamlError};
use crate::yaml;

/// The clusters of bundles that have no `overrideTargets`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Targets after the targets of the fleet.yaml.
    pub targets: Vec<BundleTarget>,
    /// Permitted clusters.
    pub restrictions: Vec<BundleTargetRestriction>,
}

impl Placement {
    /// Parses a targets file, a YAML document with the lists `targets` and `targetRestrictions`.
    ///
    /// # Errors
    ///
    /// The file is not YAML, or a field has a wrong value.
    pub fn parse(data: &[u8]) -> Result<Self, FleetYamlError> {
        let text = std::str::from_utf8(data).map_err(|_| FleetYamlError::NotText)?;
        let mut map = yaml::object(text)?;
        Ok(Self {
            targets: document::targets(&mut map, "targets")?,
            restrictions: document::field(&map, "targetRestrictions")?,
        })
    }
}

/// The source of bundles, and the options that apply to all of them.
pub(super) struct Origin<'a> {
    pub(super) repo: &'a GitRepo,
    placement: Cow<'a, Placement>,
    /// True if the bundles belong to the GitRepo. The server deletes such bundles with the GitRepo.
    is_repository: bool,
}

impl<'a> Origin<'a> {
    pub(super) fn repository(repo: &'a GitRepo) -> Self {
        let restrictions = targets_or_default(&repo.spec.targets);
        let targets = restrictions.iter().cloned().map(bundle_target).collect();
        Self {
            repo,
            placement: Cow::Owned(Placement {
                targets,
                restrictions,
            }),
            is_repository: true,
        }
    }

    pub(super) fn folders(options: &'a GitRepo, placement: &'a Placement) -> Self {
        Self {
            repo: options,
            placement: Cow::Borrowed(placement),
            is_repository: false,
        }
    }

    pub(super) fn placement(&self) -> &Placement {
        &self.placement
    }

    pub(super) fn is_repository(&self) -> bool {
        self.is_repository
    }
}

pub(super) fn targets_or_default(targets: &[GitTarget]) -> Vec<GitTarget> {
    if !targets.is_empty() {
        return targets.to_vec();
    }
    vec![GitTarget {
        name: "default".to_owned(),
        cluster_group: "default".to_owned(),
        ..GitTarget::default()
    }]
}

pub(super) fn bundle_target(target: GitTarget) -> BundleTarget {
    BundleTarget {
        name: target.name,
        cluster_name: target.cluster_name,
        cluster_selector: target.cluster_selector,
        cluster_group: target.cluster_group,
        cluster_group_selector: target.cluster_group_selector,
        ..BundleTarget::default()
    }
}
