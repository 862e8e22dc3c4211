//! The severity of Kubernetes states.

/// The severity, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It does not work.
    Failing,
    /// Partly working, or waiting.
    Degraded,
    /// It goes on by itself.
    Progressing,
    /// As it should be.
    Healthy,
    /// Nothing runs, as expected.
    Idle,
}

impl Severity {
    /// All of them, worst first.
    pub const ALL: [Self; 5] = [
        Self::Failing,
        Self::Degraded,
        Self::Progressing,
        Self::Healthy,
        Self::Idle,
    ];

    /// The key in URLs and filters.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Degraded => "degraded",
            Self::Progressing => "progressing",
            Self::Healthy => "healthy",
            Self::Idle => "idle",
        }
    }

    /// The severity of a status; unknown words are healthy.
    pub fn of_status(status: &str) -> Self {
        if let Some(rest) = status.strip_prefix("Init:") {
            return Self::of_init(rest);
        }
        if let Some((first, _)) = status.split_once(',') {
            // A cordoned node: `Ready,SchedulingDisabled`.
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
            // Status of a node, or of a pod with an ended container.
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
            // `Init:0/2`
            Self::Healthy => Self::Progressing,
            other => other,
        }
    }

    /// The severity of ready and desired counts.
    pub fn of_ready(ready: u64, wanted: u64) -> Self {
        match (ready, wanted) {
            (_, 0) => Self::Idle,
            (0, _) => Self::Failing,
            (ready, wanted) if ready < wanted => Self::Degraded,
            _ => Self::Healthy,
        }
    }
}

/// `CrashLoopBackOff`, `ErrImagePull`, `CreateContainerConfigError`, `ExitCode:3`, `Signal:9`.
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
    fn the_words_of_kubernetes_say_how_bad_it_is() {
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
    fn none_of_some_is_worse_than_some_and_none_of_none_is_rest() {
        assert_eq!(Severity::of_ready(0, 3), Severity::Failing);
        assert_eq!(Severity::of_ready(2, 3), Severity::Degraded);
        assert_eq!(Severity::of_ready(3, 3), Severity::Healthy);
        assert_eq!(Severity::of_ready(4, 3), Severity::Healthy);
        assert_eq!(Severity::of_ready(0, 0), Severity::Idle);
        assert!(Severity::Failing < Severity::Degraded && Severity::Healthy < Severity::Idle);
    }
}
