//! Corrects drift without a new release record, and without loops.

use std::collections::HashMap;

use drover_api::fleet::BundleDeploymentSpec;
use parking_lot::Mutex;

use super::{DeployError, Deployer, Report};
use crate::apply::{self, Changes};
use crate::object::{Object, ObjectKey};

/// Maximum number of corrections with the same difference. Then another program writes the same
/// field again and again, or the API server changes the written value.
const MAX_REPEATED: u32 = 3;
/// Maximum number of deployments whose corrections are remembered.
const MAX_REMEMBERED: usize = 10_000;

/// The last correction of each deployment.
#[derive(Debug, Default)]
pub(super) struct Corrections {
    last: Mutex<HashMap<String, (String, u32)>>,
}

impl Corrections {
    /// Returns false if the same difference has been corrected too often.
    fn permits(&self, deployment: &str, difference: &str) -> bool {
        let mut last = self.last.lock();
        if last.len() >= MAX_REMEMBERED {
            last.clear();
        }
        let (previous, count) = last.entry(deployment.to_owned()).or_default();
        if previous == difference {
            *count += 1;
        } else {
            (*previous, *count) = (difference.to_owned(), 1);
        }
        *count <= MAX_REPEATED
    }

    pub(super) fn forget(&self, deployment: &str) {
        self.last.lock().remove(deployment);
    }
}

impl Deployer {
    /// Observes a release, and restores its modified objects if the bundle requests it. Returns the
    /// state after the correction.
    ///
    /// Restores no objects of a record without a valid signature: another user can have written it. A
    /// difference that returns after each of three corrections stays in the report.
    pub async fn correct(
        &self,
        name: &str,
        spec: &BundleDeploymentSpec,
        release: &str,
    ) -> Result<Report, DeployError> {
        let observed = self.read(name, release).await?;
        let report = self.report(spec, &observed).await?;
        let correction = spec
            .correct_drift
            .as_ref()
            .or(spec.options.correct_drift.as_ref());
        let Some(correction) = correction.filter(|correction| correction.enabled) else {
            return Ok(report);
        };
        if report.is_unmodified() {
            self.corrections.forget(name);
            return Ok(report);
        }
        if !observed.is_own {
            tracing::warn!(
                deployment = name,
                release,
                "did not correct the drift: the release record has no valid signature"
            );
            return Ok(report);
        }
        if !self.corrections.permits(name, &difference(spec, &report)) {
            return Ok(report);
        }
        let is_modified = |key: &ObjectKey| {
            report.modified.iter().any(|one| {
                one.kind == key.kind && one.namespace == key.namespace && one.name == key.name
            })
        };
        let desired: Vec<Object> = observed
            .desired
            .iter()
            .filter(|object| is_modified(&object.key()))
            .cloned()
            .collect();
        let cluster = self.account(&spec.options).await?;
        let takes = spec
            .options
            .helm
            .as_ref()
            .is_some_and(|helm| helm.take_ownership);
        let changes = Changes {
            owner: &observed.owner,
            desired: &desired,
            // Missing objects are unknown: an object of another owner must not be replaced.
            previous: &desired
                .iter()
                .filter(|object| observed.find(&object.key()).is_some())
                .cloned()
                .collect::<Vec<_>>(),
            is_own_release: true,
            take_ownership: takes,
            force: correction.force,
        };
        apply::apply(&cluster, &changes).await?;
        self.observe(name, spec, release).await
    }
}

/// Describes the differences of a deployment.
fn difference(spec: &BundleDeploymentSpec, report: &Report) -> String {
    use std::fmt::Write as _;
    let mut text = spec.deployment_id.clone();
    for one in &report.modified {
        // Writing to a text cannot fail.
        let _ = write!(
            text,
            "\n{} {}/{} {} {} {}",
            one.kind, one.namespace, one.name, one.create, one.delete, one.patch
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_difference_is_corrected_three_times() {
        let corrections = Corrections::default();
        let permitted: Vec<_> = (0..5).map(|_| corrections.permits("a", "x")).collect();
        assert_eq!(permitted, [true, true, true, false, false]);
        assert!(corrections.permits("a", "y"));
        assert!(corrections.permits("b", "x"));
        corrections.forget("a");
        assert!(corrections.permits("a", "y"));
    }
}
