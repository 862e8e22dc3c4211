//! HelmOp: the bundle of a chart that agents pull.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::fleet::labels::{HELM_OP_NAME, REPO_NAME};
use drover_api::fleet::{Bundle, BundleHelmOptions, BundleTarget, HelmOp, HelmOptions};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use semver::Version;
use thiserror::Error;

use crate::policy::Resolved;

/// The reason why a HelmOp has no bundle.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum HelmOpError {
    /// The HelmOp has no chart.
    #[error("spec.helm: set the chart")]
    NoHelm,
    /// The fields of the chart do not fit together.
    #[error("{path}.helm: {reason}")]
    Chart {
        /// Path of the options.
        path: String,
        /// The conflict.
        reason: &'static str,
    },
}

/// A chart whose version is a range, for example `^1.2` or the empty text for the newest release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChartRange {
    /// The field `helm.repo`.
    pub repo: String,
    /// The field `helm.chart`.
    pub chart: String,
    /// The field `helm.version`.
    pub version: String,
}

impl ChartRange {
    /// Returns `None` for an exact version and for the URL of an archive.
    fn of(helm: &HelmOptions) -> Option<Self> {
        let version = helm.version.strip_prefix('v').unwrap_or(&helm.version);
        let is_exact = is_archive(&helm.chart) || Version::parse(version).is_ok();
        (!is_exact).then(|| Self {
            repo: helm.repo.clone(),
            chart: helm.chart.clone(),
            version: helm.version.clone(),
        })
    }
}

/// Returns the charts of a bundle whose version is a range.
#[must_use]
pub fn ranges(bundle: &Bundle) -> BTreeSet<ChartRange> {
    charts(bundle).filter_map(ChartRange::of).collect()
}

/// Returns the versions that a written bundle has instead of the ranges of `wanted`.
#[must_use]
pub fn pinned(written: &Bundle, wanted: &Bundle) -> BTreeMap<ChartRange, String> {
    let pairs = charts(wanted).zip(charts(written));
    let pairs = pairs.filter(|(wanted, written)| {
        (&wanted.repo, &wanted.chart) == (&written.repo, &written.chart)
            && ChartRange::of(written).is_none()
    });
    let found = pairs
        .filter_map(|(wanted, written)| Some((ChartRange::of(wanted)?, written.version.clone())));
    found.collect()
}

/// Replaces the ranges of a bundle with the versions that a poll has found, because all agents must deploy
/// the same version.
pub fn pin(bundle: &mut Bundle, versions: &BTreeMap<ChartRange, String>) {
    let own = bundle.spec.options.helm.as_mut();
    let targets = bundle.spec.targets.iter_mut();
    let targets = targets.filter_map(|it| it.options.helm.as_mut());
    for helm in own.into_iter().chain(targets) {
        let found = ChartRange::of(helm).and_then(|range| versions.get(&range));
        if let Some(version) = found {
            helm.version.clone_from(version);
        }
    }
}

/// Returns the charts of a bundle and of its targets.
fn charts(bundle: &Bundle) -> impl Iterator<Item = &HelmOptions> {
    let own = bundle.spec.options.helm.iter();
    let targets = bundle.spec.targets.iter();
    own.chain(targets.filter_map(|it| it.options.helm.as_ref()))
}

/// Returns the bundle of a HelmOp. `resolved` contains the defaults of the namespace's policies. The versions
/// of [`ranges`] are those of the HelmOp.
///
/// # Errors
///
/// The HelmOp has no chart, or the address of a chart is not valid.
pub fn bundle(helm_op: &HelmOp, resolved: &Resolved) -> Result<Bundle, HelmOpError> {
    let mut spec = helm_op.spec.bundle.clone();
    let helm = spec.options.helm.as_ref().ok_or(HelmOpError::NoHelm)?;
    check_chart("spec", helm)?;
    let helm = helm.clone();
    for (index, target) in spec.targets.iter_mut().enumerate() {
        if target.name.is_empty() {
            target.name = format!("target{index:03}");
        }
        if let Some(own) = &mut target.options.helm {
            complete(own, &helm);
            check_chart(&format!("spec.targets[{index}]"), own)?;
        }
    }
    if spec.targets.is_empty() {
        spec.targets.push(BundleTarget {
            name: "default".to_owned(),
            cluster_group: "default".to_owned(),
            ..BundleTarget::default()
        });
    }
    spec.options
        .service_account
        .clone_from(&resolved.service_account);
    spec.resources = Vec::new();
    spec.helm_op_options = Some(BundleHelmOptions {
        secret_name: resolved.secret_name.clone(),
        insecure_skip_tls_verify: helm_op.spec.insecure_skip_tls_verify,
        ..BundleHelmOptions::default()
    });
    let name = helm_op.metadata.name.clone().unwrap_or_default();
    let mut labels = helm_op.spec.labels.clone();
    // A GitRepo deletes bundles with its name that are not in its repository.
    labels.remove(REPO_NAME);
    labels.insert(HELM_OP_NAME.to_owned(), name.clone());
    Ok(Bundle {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: helm_op.metadata.namespace.clone(),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        spec,
        status: None,
    })
}

/// Adds the chart of the HelmOp to the options of a target, because agents need the complete address.
fn complete(own: &mut HelmOptions, helm: &HelmOptions) {
    for (own, value) in [
        (&mut own.repo, &helm.repo),
        (&mut own.chart, &helm.chart),
        (&mut own.version, &helm.version),
    ] {
        if own.is_empty() {
            own.clone_from(value);
        }
    }
}

/// Permits a URL of an archive, an OCI reference in `repo`, or a chart of a repository.
fn check_chart(path: &str, helm: &HelmOptions) -> Result<(), HelmOpError> {
    let conflict = |reason| {
        Err(HelmOpError::Chart {
            path: path.to_owned(),
            reason,
        })
    };
    let (chart, repo) = (&helm.chart, helm.repo.to_ascii_lowercase());
    if is_archive(chart) {
        return match (repo.is_empty(), helm.version.is_empty()) {
            (true, true) => Ok(()),
            (false, _) => conflict("the chart is an archive; remove repo"),
            (true, false) => conflict("the chart is an archive; remove version"),
        };
    }
    if repo.starts_with("oci://") {
        if !chart.is_empty() {
            return conflict("repo is an OCI reference, which contains the chart; remove chart");
        }
    } else if chart.is_empty() {
        return conflict("set chart");
    } else if repo.is_empty() {
        return conflict("set repo");
    }
    Ok(())
}

fn is_archive(chart: &str) -> bool {
    chart.to_ascii_lowercase().strip_suffix(".tgz").is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn helm_op(spec: &Value) -> HelmOp {
        let object = json!({
            "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "HelmOp",
            "metadata": { "name": "shop", "namespace": "tenant" }, "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }

    fn chart(chart: &str, repo: &str, version: &str) -> Result<Bundle, HelmOpError> {
        let helm = json!({ "chart": chart, "repo": repo, "version": version });
        bundle(&helm_op(&json!({ "helm": helm })), &Resolved::default())
    }

    #[test]
    fn bundle_has_the_options_of_the_helm_op_and_the_defaults_of_policies() {
        let helm_op = helm_op(&json!({
            "helm": { "chart": "shop", "repo": "https://charts.example", "version": "1.2.3" },
            "labels": { "team": "a", REPO_NAME: "other" }, "insecureSkipTLSVerify": true,
            "targets": [{ "clusterName": "c1", "helm": { "version": "v1.3.0" } }],
        }));
        let resolved = Resolved {
            service_account: "deployer".to_owned(),
            secret_name: "registry".to_owned(),
        };
        let bundle = bundle(&helm_op, &resolved).unwrap();
        assert_eq!(bundle.spec.options.service_account, "deployer");
        let access = bundle.spec.helm_op_options.as_ref().unwrap();
        assert_eq!(access.secret_name, "registry");
        assert!(access.insecure_skip_tls_verify);
        let target = &bundle.spec.targets[0];
        assert_eq!(target.name, "target000");
        let helm = target.options.helm.as_ref().unwrap();
        assert_eq!((&*helm.chart, &*helm.version), ("shop", "v1.3.0"));
        let labels = bundle.metadata.labels.unwrap();
        assert_eq!(labels[HELM_OP_NAME], "shop");
        assert_eq!(labels["team"], "a");
        assert!(!labels.contains_key(REPO_NAME));
    }

    #[test]
    fn helm_op_without_targets_targets_the_default_group() {
        let bundle = chart("shop", "https://charts.example", "1.2.3").unwrap();
        assert_eq!(bundle.spec.targets[0].cluster_group, "default");
    }

    #[test]
    fn chart_is_an_archive_an_oci_reference_or_a_chart_of_a_repository() {
        for (name, repo, version, is_valid) in [
            ("https://a/shop.tgz", "", "", true),
            ("https://a/shop.tgz", "https://a", "", false),
            ("https://a/shop.tgz", "", "1.2.3", false),
            ("", "oci://a/shop", "1.2.3", true),
            ("shop", "oci://a/shop", "1.2.3", false),
            ("shop", "https://a", "1.2.3", true),
            ("shop", "", "1.2.3", false),
            ("", "https://a", "1.2.3", false),
        ] {
            let result = chart(name, repo, version);
            assert_eq!(result.is_ok(), is_valid, "{name} {repo} {version}");
        }
    }

    #[test]
    fn found_versions_replace_ranges_and_no_exact_version() {
        let versions = ["", "*", "1", "1.2", "^1.2.3", ">= 1.0.0", "latest"];
        for version in versions {
            let mut bundle = chart("shop", "https://a", version).unwrap();
            let range = ranges(&bundle).pop_first().unwrap();
            assert_eq!(range.version, version);
            let versions = BTreeMap::from([(range, "1.3.0".to_owned())]);
            let wanted = bundle.clone();
            pin(&mut bundle, &versions);
            assert_eq!(bundle.spec.options.helm.as_ref().unwrap().version, "1.3.0");
            assert!(ranges(&bundle).is_empty());
            // The written bundle contains the versions after a restart.
            assert_eq!(pinned(&bundle, &wanted), versions);
            let other = chart("other", "https://a", "1.3.0").unwrap();
            assert!(pinned(&other, &wanted).is_empty());
        }
        for version in ["1.2.3", "v1.2.3", "1.2.3-rc.1+build"] {
            let bundle = chart("shop", "https://a", version).unwrap();
            assert!(ranges(&bundle).is_empty(), "{version}");
        }
        assert!(ranges(&chart("https://a/shop.tgz", "", "").unwrap()).is_empty());
    }

    #[test]
    fn targets_have_their_own_ranges() {
        let helm_op = helm_op(&json!({
            "helm": { "chart": "shop", "repo": "https://a", "version": "1.2.3" },
            "targets": [{ "helm": { "version": "^2" } }, { "helm": { "version": "1.0.0" } }],
        }));
        let mut bundle = bundle(&helm_op, &Resolved::default()).unwrap();
        let found = ranges(&bundle);
        assert_eq!(found.len(), 1);
        let versions = found.into_iter().map(|range| (range, "2.5.0".to_owned()));
        pin(&mut bundle, &versions.collect());
        let version = |index: usize| {
            let helm = bundle.spec.targets[index].options.helm.clone();
            helm.unwrap().version
        };
        assert_eq!((&*version(0), &*version(1)), ("2.5.0", "1.0.0"));
    }
}
