//! The step of a target in a rollout, and the reasons to wait.

/// The reason why a target waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The bundle or the cluster is paused.
    Paused,
    /// The next plan creates the deployment.
    MaxNew(usize),
    /// Too many clusters of the bundle are unavailable.
    MaxUnavailable {
        /// Number of unavailable clusters.
        unavailable: usize,
        /// The limit.
        max: usize,
    },
    /// Too many clusters of the partition are unavailable.
    PartitionMaxUnavailable {
        /// Name of the partition.
        partition: String,
        /// Number of unavailable clusters.
        unavailable: usize,
        /// The limit.
        max: usize,
    },
    /// An earlier partition is not complete.
    EarlierPartition(String),
}

impl std::fmt::Display for Wait {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Paused => write!(formatter, "the bundle or the cluster is paused"),
            Self::MaxNew(max) => write!(
                formatter,
                "one step creates at most {max} deployments (maxNew)"
            ),
            Self::MaxUnavailable { unavailable, max } => {
                write!(
                    formatter,
                    "{unavailable} clusters are unavailable, and maxUnavailable is {max}"
                )
            }
            Self::PartitionMaxUnavailable {
                partition,
                unavailable,
                max,
            } => write!(
                formatter,
                "{unavailable} clusters of partition {partition:?} are unavailable, and its maxUnavailable is {max}"
            ),
            Self::EarlierPartition(partition) => {
                write!(formatter, "partition {partition:?} is not complete")
            }
        }
    }
}

/// The changes of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// True to create the deployment.
    pub create: bool,
    /// True if the staged options must be the options of the current generation. Options can differ
    /// with an equal deployment ID, so callers compare the options before a write.
    pub stage: bool,
    /// The staged options that become the options of the deployment.
    pub release: Release,
    /// The reason why the deployment is not released.
    pub wait: Option<Wait>,
}

impl Step {
    /// Reports whether the agent receives the staged deployment.
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.release == Release::All
    }
}

/// The staged options that become the options of a deployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// No options.
    #[default]
    Nothing,
    /// Only `diff`, on which the deployment ID does not depend.
    Diff,
    /// All options, and the deployment ID.
    All,
}

/// The partition that stops a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Name of the partition.
    pub partition: String,
    /// Number of clusters of the partition that are not up to date or not ready.
    pub unavailable: usize,
    /// The limit.
    pub max_unavailable: usize,
    /// Clusters with an error, at most 10. If there are none, the rollout is only in progress.
    pub failed: Vec<String>,
}
