//! Partitions: clusters that a rollout updates together.

use drover_api::fleet::RolloutStrategy;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::limit::{LimitError, limit};
use super::{Candidate, RolloutError};
use crate::targeting::ClusterMatcher;

/// Default number of clusters from which on partitions are automatic.
const DEFAULT_THRESHOLD: usize = 200;
/// Default size of automatic partitions.
const DEFAULT_SIZE: &str = "25%";

/// A partition.
pub(super) struct Part {
    pub(super) name: String,
    /// Indexes of the targets.
    pub(super) members: Vec<usize>,
    pub(super) max_unavailable: usize,
}

/// Returns the number of partitions that may be unavailable. The default is 0.
pub(super) fn max_unavailable(
    strategy: &RolloutStrategy,
    partitions: usize,
) -> Result<usize, RolloutError> {
    let none = IntOrString::Int(0);
    let value = strategy
        .max_unavailable_partitions
        .as_ref()
        .unwrap_or(&none);
    limit(partitions, [Some(value)]).map_err(failed("maxUnavailablePartitions"))
}

fn failed(field: &'static str) -> impl Fn(LimitError) -> RolloutError {
    move |source| RolloutError::Limit { field, source }
}

/// Distributes targets to partitions. Each target is in one partition.
///
/// Targets are sorted by the name of the cluster. With configured partitions, a target is in the first
/// that matches, and the remaining targets are in automatic partitions at the end.
pub(super) fn partitions(
    strategy: &RolloutStrategy,
    candidates: &[Candidate<'_>],
) -> Result<Vec<Part>, RolloutError> {
    let mut rest: Vec<usize> = (0..candidates.len()).collect();
    rest.sort_by_key(|index| {
        (
            candidates[*index].cluster.name,
            candidates[*index].cluster.namespace,
        )
    });
    let mut parts = Vec::new();
    for (index, definition) in strategy.partitions.iter().enumerate() {
        let clusters = ClusterMatcher::of_partition(definition)
            .map_err(|source| RolloutError::Selector { index, source })?;
        let matches = |it: &usize| clusters.matches_any_group(&candidates[*it].cluster);
        let (members, others) = rest.into_iter().partition(matches);
        rest = others;
        let limits = [
            definition.max_unavailable.as_ref(),
            strategy.max_unavailable.as_ref(),
        ];
        parts.push(part(
            definition.name.clone(),
            members,
            limits,
            "partitions.maxUnavailable",
        )?);
    }
    if strategy.partitions.is_empty() || !rest.is_empty() {
        automatic(strategy, &rest, &mut parts)?;
    }
    Ok(parts)
}

fn part(
    name: String,
    members: Vec<usize>,
    limits: [Option<&IntOrString>; 2],
    field: &'static str,
) -> Result<Part, RolloutError> {
    let max_unavailable = limit(members.len(), limits).map_err(failed(field))?;
    Ok(Part {
        name,
        members,
        max_unavailable,
    })
}

/// Adds automatic partitions of equal size, or one partition if there are few targets.
fn automatic(
    strategy: &RolloutStrategy,
    members: &[usize],
    parts: &mut Vec<Part>,
) -> Result<(), RolloutError> {
    let limits = [strategy.max_unavailable.as_ref(), None];
    let size = &strategy.auto_partition_size;
    let is_disabled = matches!(size, Some(IntOrString::Int(size)) if *size <= 0);
    let threshold = strategy
        .auto_partition_threshold
        .map_or(DEFAULT_THRESHOLD, |number| {
            usize::try_from(number).unwrap_or(0)
        });
    if is_disabled || threshold == 0 || members.len() < threshold {
        let name = if parts.is_empty() {
            "All"
        } else {
            "Remaining clusters"
        };
        parts.push(part(
            name.to_owned(),
            members.to_vec(),
            limits,
            "maxUnavailable",
        )?);
        return Ok(());
    }
    let default = IntOrString::String(DEFAULT_SIZE.to_owned());
    let size = limit(members.len(), [Some(size.as_ref().unwrap_or(&default))])
        .map_err(failed("autoPartitionSize"))?;
    let mut offset = 0;
    for chunk in members.chunks(size.max(1)) {
        let end = offset + chunk.len();
        let name = format!("Partition {offset} - {end}");
        parts.push(part(name, chunk.to_vec(), limits, "maxUnavailable")?);
        offset = end;
    }
    Ok(())
}
