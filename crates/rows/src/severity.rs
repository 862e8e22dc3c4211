//! The severity of Kubernetes states.

use serde::{Deserialize, Serialize};

/// The severity of a state, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The object does not work.
    Failing,
    /// The object works partly, or waits.
    Degraded,
    /// The object is changing, without a problem.
    Progressing,
    /// The object works.
    Healthy,
    /// The object does not run, because its configuration disables it.
    Idle,
}

impl Severity {
    /// All severities, worst first.
    pub const ALL: [Self; 5] = [
        Self::Failing,
        Self::Degraded,
        Self::Progressing,
        Self::Healthy,
        Self::Idle,
    ];

    /// Returns the key of the severity in URLs and filters.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Degraded => "degraded",
            Self::Progressing => "progressing",
            Self::Healthy => "healthy",
            Self::Idle => "idle",
        }
    }

    /// Returns the severity of a status. An unknown status is healthy.
    pub fn of_status(status: &str) -> Self {
        if let Some(rest) = status.strip_prefix("Init:") {
            return Self::of_init(rest);
        }
        if let Some((first, _)) = status.split_once(',') {
            // The status of a cordoned node is `Ready,SchedulingDisabled`.
            return Self::of_status(first).min(Self::Degraded);
        }
        match status {
            "Failed"
            | "Evicted"
            | "OOMKilled"
            | "ContainerCannotRun"
            | "DeadlineExceeded"
            | "ContainerStatusUnknown"
            | "NodeLost"
            | "Unknown"
            | "InvalidImageName"
            | "FailureTarget"
            | "NodeAffinity"
            | "OutOfcpu"
            | "OutOfmemory"
            | "OutOfpods"
            | "Shutdown"
            | "NodeShutdown"
            | "Preempting"
            // The following words are the status of a node, or of a pod with an ended container.
            | "NotReady" => Self::Failing,
            "Pending" | "SchedulingGated" => Self::Degraded,
            "ContainerCreating" | "PodInitializing" | "Terminating" => Self::Progressing,
            "Completed" | "Complete" | "Succeeded" | "SuccessCriteriaMet" | "Suspended" => {
                Self::Idle
            }
            other if is_failure(other) => Self::Failing,
            _ => Self::Healthy,
        }
    }

    fn of_init(status: &str) -> Self {
        match Self::of_status(status) {
            // The status `Init:0/2` means that an init container runs.
            Self::Healthy => Self::Progressing,
            other => other,
        }
    }

    /// Returns the severity of a workload with these numbers of ready and desired replicas.
    pub fn of_ready(ready: u64, desired: u64) -> Self {
        match (ready, desired) {
            (_, 0) => Self::Idle,
            (0, _) => Self::Failing,
            (ready, desired) if ready < desired => Self::Degraded,
            _ => Self::Healthy,
        }
    }
}

/// Reports whether a word is an error, such as `CrashLoopBackOff`, `ErrImagePull`, `ExitCode:3` or
/// `Signal:9`.
fn is_failure(word: &str) -> bool {
    word.ends_with("BackOff")
        || word.starts_with("Err")
        || word.contains("Error")
        || word.starts_with("ExitCode:")
        || word.starts_with("Signal:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_statuses_have_a_severity() {
        for (words, severity) in [
            (
                "CrashLoopBackOff ImagePullBackOff ErrImagePull Error OOMKilled Evicted Init:Error \
                 Init:CrashLoopBackOff ExitCode:137 Signal:9 CreateContainerConfigError Failed \
                 NotReady NotReady,SchedulingDisabled Unknown Init:OOMKilled",
                Severity::Failing,
            ),
            (
                "Pending SchedulingGated Ready,SchedulingDisabled",
                Severity::Degraded,
            ),
            (
                "ContainerCreating PodInitializing Terminating Init:0/2",
                Severity::Progressing,
            ),
            ("Running Ready Active", Severity::Healthy),
            ("Completed Complete Succeeded Suspended", Severity::Idle),
        ] {
            for word in words.split_whitespace() {
                assert_eq!(Severity::of_status(word), severity, "{word}");
            }
        }
    }

    #[test]
    fn workload_without_ready_replicas_is_failing_and_without_desired_replicas_is_idle() {
        assert_eq!(Severity::of_ready(0, 3), Severity::Failing);
        assert_eq!(Severity::of_ready(2, 3), Severity::Degraded);
        assert_eq!(Severity::of_ready(3, 3), Severity::Healthy);
        assert_eq!(Severity::of_ready(4, 3), Severity::Healthy);
        assert_eq!(Severity::of_ready(0, 0), Severity::Idle);
        assert!(Severity::Failing < Severity::Degraded && Severity::Healthy < Severity::Idle);
    }
}
