//! Rollouts: the order in which clusters receive a new deployment, and the limits that stop it.
//!
//! A deployment is first *staged* and then *released*: the staged options become the options that the
//! agent deploys. [`plan`] is a pure function of the targets and their current deployments.

mod limit;
mod partition;
mod step;

use drover_api::fleet::{BundleDeployment, BundleStatus, PartitionStatus, RolloutStrategy};
use thiserror::Error;

pub use limit::{LimitError, limit};
use partition::Part;
pub use step::{Release, Step, Stop, Wait};

use crate::states::{DeploymentState, State, is_unavailable, state_of, summarize};
use crate::targeting::{ClusterFacts, SelectorError};

/// Default number of deployments that one plan creates.
pub const DEFAULT_MAX_NEW: usize = 50;
/// Maximum number of clusters that a stop names.
const MAX_NAMED: usize = 10;

/// A rollout strategy that is not valid.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RolloutError {
    /// A limit is not a number or percentage.
    #[error("rolloutStrategy.{field}: {source}")]
    Limit {
        /// Name of the field.
        field: &'static str,
        /// The reason.
        source: LimitError,
    },
    /// The selector of a partition is not valid.
    #[error("rolloutStrategy.partitions[{index}]: {source}")]
    Selector {
        /// Index of the partition.
        index: usize,
        /// The reason.
        source: SelectorError,
    },
}

/// A target of a bundle in a rollout.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The cluster.
    pub cluster: ClusterFacts<'a>,
    /// Deployment ID of the bundle's current generation.
    pub wanted: &'a str,
    /// The current deployment.
    pub current: Option<&'a BundleDeployment>,
    /// The state of the current deployment, compared with the wanted deployment.
    pub state: &'a DeploymentState,
    /// True if the bundle or the cluster is paused, or the cluster is outside of its deployment window.
    pub paused: bool,
    /// True if the agent does not connect at present: the cluster is offline, or waits for its next
    /// window without a result of the wanted deployment. The rollout does not wait for the cluster, and
    /// the cluster does not count as unavailable.
    pub absent: bool,
}

/// The next step of a rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The step of each target, in the order of the argument.
    pub steps: Vec<Step>,
    /// The partition that stops the rollout.
    pub stop: Option<Stop>,
    /// State of each partition.
    pub partitions: Vec<PartitionStatus>,
    /// Number of deployments that the plan creates.
    pub newly_created: usize,
    /// Number of unavailable clusters after the plan.
    pub unavailable: usize,
    /// Number of clusters that may be unavailable.
    pub max_unavailable: usize,
    /// Number of unavailable partitions.
    pub unavailable_partitions: usize,
    /// Number of partitions that may be unavailable.
    pub max_unavailable_partitions: usize,
}

impl Plan {
    /// Writes the numbers and partitions to the status of a bundle.
    pub fn write_status(&self, status: &mut BundleStatus) {
        status.newly_created = integer(self.newly_created);
        status.unavailable = integer(self.unavailable);
        status.max_unavailable = integer(self.max_unavailable);
        status.unavailable_partitions = integer(self.unavailable_partitions);
        status.max_unavailable_partitions = integer(self.max_unavailable_partitions);
        status.partition_status.clone_from(&self.partitions);
    }
}

fn integer(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A target during the computation of a plan.
struct Progress<'a> {
    candidate: &'a Candidate<'a>,
    exists: bool,
    staged: &'a str,
    released: &'a str,
    step: Step,
}

impl<'a> Progress<'a> {
    fn new(candidate: &'a Candidate<'a>) -> Self {
        let spec = candidate.current.map(|current| &current.spec);
        Self {
            candidate,
            exists: spec.is_some(),
            staged: spec.map_or("", |spec| &spec.staged_deployment_id),
            released: spec.map_or("", |spec| &spec.deployment_id),
            step: Step::default(),
        }
    }

    fn applied(&self) -> (&str, bool) {
        let status = self
            .candidate
            .current
            .and_then(|current| current.status.as_ref());
        status.map_or(("", false), |status| {
            (&status.applied_deployment_id, status.ready)
        })
    }

    /// Reports whether the agent has not applied the released deployment, or it is not ready.
    fn is_unavailable(&self) -> bool {
        let (applied, ready) = self.applied();
        self.exists && (applied != self.released || !ready)
    }

    fn counts_as_unavailable(&self) -> bool {
        self.is_unavailable() && !self.candidate.absent
    }

    fn is_complete(&self) -> bool {
        let wanted = self.candidate.wanted;
        let up_to_date = self.exists
            && self.staged == wanted
            && self.released == wanted
            && self.applied().0 == wanted;
        self.candidate.absent || up_to_date && !self.is_unavailable()
    }

    fn name(&self) -> String {
        let cluster = &self.candidate.cluster;
        format!("{}/{}", cluster.namespace, cluster.name)
    }

    fn has_failed(&self) -> bool {
        let state = |current| state_of(current, self.released);
        matches!(
            self.candidate.current.map(state),
            Some(State::ErrApplied | State::NotReady)
        )
    }
}

/// Returns the next step of a rollout.
///
/// # Errors
///
/// A limit or selector of the strategy is not valid.
pub fn plan(
    strategy: Option<&RolloutStrategy>,
    candidates: &[Candidate<'_>],
) -> Result<Plan, RolloutError> {
    let default = RolloutStrategy::default();
    let strategy = strategy.unwrap_or(&default);
    let count = candidates.len();
    let mut progress: Vec<Progress<'_>> = candidates.iter().map(Progress::new).collect();
    let parts = partition::partitions(strategy, candidates)?;
    let max_new = strategy
        .max_new
        .map_or(DEFAULT_MAX_NEW, |max| usize::try_from(max).unwrap_or(0));
    let mut plan = Plan {
        steps: Vec::new(),
        stop: None,
        partitions: Vec::new(),
        newly_created: 0,
        unavailable: progress
            .iter()
            .filter(|it| it.counts_as_unavailable())
            .count(),
        max_unavailable: limit(count, [strategy.max_unavailable.as_ref()]).map_err(|source| {
            RolloutError::Limit {
                field: "maxUnavailable",
                source,
            }
        })?,
        unavailable_partitions: 0,
        max_unavailable_partitions: partition::max_unavailable(strategy, parts.len())?,
    };
    for part in &parts {
        let mut status = status(part, candidates, &progress);
        if let Some(stop) = &plan.stop {
            let wait = Wait::EarlierPartition(stop.partition.clone());
            part.members
                .iter()
                .for_each(|index| wait_for(&mut progress[*index], &wait));
        } else {
            run(part, max_new, &mut progress, &mut plan, &mut status);
        }
        plan.partitions.push(status);
    }
    plan.steps = progress.into_iter().map(|it| it.step).collect();
    Ok(plan)
}

/// Returns the status of a partition before the plan.
fn status(part: &Part, candidates: &[Candidate<'_>], progress: &[Progress<'_>]) -> PartitionStatus {
    let members = part.members.iter();
    let unavailable = members.filter(|index| progress[**index].counts_as_unavailable());
    let members = part.members.iter();
    PartitionStatus {
        name: part.name.clone(),
        count: integer(part.members.len()),
        max_unavailable: integer(part.max_unavailable),
        unavailable: integer(unavailable.count()),
        summary: summarize(members.map(|index| candidates[*index].state)),
    }
}

/// Creates, stages and releases the deployments of a partition, within the limits.
fn run(
    part: &Part,
    max_new: usize,
    progress: &mut [Progress<'_>],
    plan: &mut Plan,
    status: &mut PartitionStatus,
) {
    for index in &part.members {
        let target = &mut progress[*index];
        if !target.exists && plan.newly_created < max_new {
            plan.newly_created += 1;
            target.exists = true;
            target.step.create = true;
        }
        if target.exists {
            target.step.stage = true;
            target.staged = target.candidate.wanted;
        } else {
            target.step.wait = Some(Wait::MaxNew(max_new));
        }
    }
    let members = part.members.iter();
    let mut unavailable = members
        .filter(|index| progress[**index].counts_as_unavailable())
        .count();
    // A created deployment is unavailable, but its release is not limited, as in Fleet.
    unavailable -= part
        .members
        .iter()
        .filter(|index| created(&progress[**index]))
        .count();
    for index in &part.members {
        release(
            part,
            &mut progress[*index],
            &mut plan.unavailable,
            plan.max_unavailable,
            &mut unavailable,
        );
    }
    let incomplete = part
        .members
        .iter()
        .filter(|index| !progress[**index].is_complete())
        .count();
    status.unavailable = integer(incomplete);
    if incomplete > part.max_unavailable {
        plan.unavailable_partitions += 1;
    }
    if plan.unavailable_partitions > plan.max_unavailable_partitions {
        let failed = part.members.iter().map(|index| &progress[*index]);
        let failed = failed
            .filter(|it| it.candidate.current.is_some() && it.has_failed() && !it.candidate.absent);
        plan.stop = Some(Stop {
            partition: part.name.clone(),
            unavailable: incomplete,
            max_unavailable: part.max_unavailable,
            failed: failed.take(MAX_NAMED).map(Progress::name).collect(),
        });
    }
}

fn created(target: &Progress<'_>) -> bool {
    target.step.create && target.counts_as_unavailable()
}

/// Releases the staged deployment of a target, if the limits permit.
fn release(
    part: &Part,
    target: &mut Progress<'_>,
    all_unavailable: &mut usize,
    max_unavailable: usize,
    part_unavailable: &mut usize,
) {
    if !target.exists || target.staged.is_empty() {
        return;
    }
    if target.released == target.staged {
        if !target.candidate.paused {
            target.step.release = Release::Diff;
        }
        return;
    }
    let wait = if target.candidate.paused {
        Some(Wait::Paused)
    } else if target.is_unavailable() || target.candidate.absent {
        // The update makes nothing worse.
        None
    } else if *all_unavailable >= max_unavailable {
        let unavailable = *all_unavailable;
        Some(Wait::MaxUnavailable {
            unavailable,
            max: max_unavailable,
        })
    } else if *part_unavailable >= part.max_unavailable {
        let (partition, unavailable) = (part.name.clone(), *part_unavailable);
        Some(Wait::PartitionMaxUnavailable {
            partition,
            unavailable,
            max: part.max_unavailable,
        })
    } else {
        *all_unavailable += 1;
        *part_unavailable += 1;
        None
    };
    if wait.is_none() {
        target.released = target.staged;
        target.step.release = Release::All;
    }
    target.step.wait = wait;
}

/// Records that a target waits, if it has something to wait for.
fn wait_for(target: &mut Progress<'_>, wait: &Wait) {
    if target.released != target.candidate.wanted {
        target.step.wait = Some(wait.clone());
    }
}

/// Returns the number of unavailable deployments, for the status of a bundle.
#[must_use]
pub fn unavailable<'a>(deployments: impl IntoIterator<Item = &'a BundleDeployment>) -> usize {
    deployments
        .into_iter()
        .filter(|deployment| is_unavailable(deployment))
        .count()
}

#[cfg(test)]
mod tests;
