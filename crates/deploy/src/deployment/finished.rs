//! Finds a deployment that is complete, but is not in the status of its bundle deployment.

use drover_api::fleet::BundleDeploymentSpec;

use super::{Outcome, Target};
use crate::record::{self, RecordError, Release, Status};
use crate::release::Stored;
use crate::signature::annotation;

/// Annotation of the chart in a release record: the deployment that the record belongs to.
pub(super) const DEPLOYMENT: &str = "management.drover.dev/deployment";

/// Annotation of the chart in a release record: the UID of the Cluster on the hub that requested the
/// deployment.
pub(super) const CLUSTER: &str = "management.drover.dev/cluster-uid";

/// Returns the value of [`DEPLOYMENT`]. It differs for each deployment that the hub requests.
pub(super) fn identity(spec: &BundleDeploymentSpec) -> String {
    format!(
        "{}/{}/{}",
        spec.deployment_id,
        spec.options.force_sync_generation,
        spec.downstream_resources_generation
    )
}

/// Returns the record for the Cluster if the record names another Cluster: a new hub requests the same
/// deployment.
pub(super) fn taken_over(last: &Stored, cluster: &str) -> Option<Release> {
    if annotation(&last.release, CLUSTER) == Some(cluster) {
        return None;
    }
    let mut release = last.release.clone();
    let annotations = release.chart.pointer_mut("/metadata/annotations")?;
    annotations
        .as_object_mut()?
        .insert(CLUSTER.to_owned(), cluster.into());
    Some(release)
}

/// Returns the outcome of the requested deployment if its release is complete. The agent ended before it
/// wrote the status. A second deployment would run the hooks again.
pub(super) fn finished(
    spec: &BundleDeploymentSpec,
    target: &Target,
    stored: &[Stored],
) -> Result<Option<Outcome>, RecordError> {
    let last = stored.last().filter(|stored| stored.is_signed());
    let Some(last) = last.map(|stored| &stored.release) else {
        return Ok(None);
    };
    let annotation = annotation(last, DEPLOYMENT);
    if last.info.status != Status::Deployed || annotation != Some(&identity(spec)) {
        return Ok(None);
    }
    let objects = record::objects(&last.manifest)?;
    Ok(Some(Outcome {
        release: format!("{}/{}:{}", target.namespace, target.release, last.version),
        objects: objects.iter().map(crate::object::Object::key).collect(),
        applied: None,
    }))
}
