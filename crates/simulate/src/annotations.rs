//! Annotations on pods, templates and nodes that request delays and failures.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;

/// Seconds from the binding of a pod until its containers run.
pub const START_SECONDS: &str = "simulate.drover.dev/start-seconds";
/// Seconds between the start of the containers and the readiness of the pod.
pub const READY_SECONDS: &str = "simulate.drover.dev/ready-seconds";
/// Seconds between the start and the end of the containers. Without this annotation, only the
/// containers of Jobs end.
pub const RUN_SECONDS: &str = "simulate.drover.dev/run-seconds";
/// Exit code of the containers. The default is 0.
pub const EXIT_CODE: &str = "simulate.drover.dev/exit-code";
/// Seconds from the deletion request for a pod until the pod is removed. The maximum is the grace
/// period of the pod.
pub const STOP_SECONDS: &str = "simulate.drover.dev/stop-seconds";
/// The requested failure. Pods support `ImagePullBackOff`, `CrashLoopBackOff` and `NotReady`. Nodes
/// support `NotReady`.
pub const FAIL: &str = "simulate.drover.dev/fail";
/// CPU usage of a pod, such as `250m`. The default is a fraction of the pod's CPU request.
pub const USAGE_CPU: &str = "simulate.drover.dev/usage-cpu";
/// Memory usage of a pod, such as `64Mi`. The default is a fraction of the pod's memory request.
pub const USAGE_MEMORY: &str = "simulate.drover.dev/usage-memory";

/// Maximum delay that an annotation can request, in seconds.
const MAX_SECONDS: f64 = 86_400.0;

/// The delays of pods and nodes without annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Duration from the binding of a pod until its containers run.
    pub start: Duration,
    /// Duration from the start of the containers until the pod is ready.
    pub ready: Duration,
    /// Duration from the deletion request until the pod is removed.
    pub stop: Duration,
    /// Run time of a Job's pod.
    pub job: Duration,
    /// Backoff after the first failure of a container or of a Job's pod. Each further failure
    /// doubles the backoff.
    pub backoff: Duration,
    /// Interval between renewals of a node's Lease.
    pub heartbeat: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(1),
            ready: Duration::from_secs(1),
            stop: Duration::from_secs(1),
            job: Duration::from_secs(5),
            backoff: Duration::from_secs(10),
            heartbeat: Duration::from_mins(1),
        }
    }
}

/// The simulated failure that a pod's annotations select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodFailure {
    /// The images cannot be pulled.
    ImagePull,
    /// The containers end with an error after each restart.
    Crash,
    /// The pod runs but does not become ready.
    NotReady,
}

/// The behavior that the annotations of a pod request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PodBehavior {
    /// Duration from the binding of the pod until its containers run.
    pub start: SignedDuration,
    /// Duration from the start of the containers until the pod is ready.
    pub ready: SignedDuration,
    /// Duration from the deletion request until the pod is removed.
    pub stop: SignedDuration,
    /// Run time of the containers. `None` if the containers run until the pod is deleted.
    pub run: Option<SignedDuration>,
    /// Exit code of the containers.
    pub exit_code: i32,
    /// The requested failure. `None` for a pod that does not fail.
    pub failure: Option<PodFailure>,
}

impl PodBehavior {
    /// Reads the annotations of a pod. Ignores invalid values.
    pub fn read(
        annotations: Option<&BTreeMap<String, String>>,
        timing: &Timing,
        of_job: bool,
    ) -> Self {
        let text = |name| {
            annotations
                .and_then(|all| all.get(name))
                .map(String::as_str)
        };
        let seconds = |name| text(name).and_then(seconds);
        let failure = match text(FAIL) {
            Some("ImagePullBackOff") => Some(PodFailure::ImagePull),
            Some("CrashLoopBackOff") => Some(PodFailure::Crash),
            Some("NotReady") => Some(PodFailure::NotReady),
            _ => None,
        };
        let crashes = failure == Some(PodFailure::Crash);
        let ends_by_itself = of_job || crashes;
        let default_code = i32::from(crashes);
        Self {
            start: seconds(START_SECONDS).unwrap_or_else(|| signed(timing.start)),
            ready: seconds(READY_SECONDS).unwrap_or_else(|| signed(timing.ready)),
            stop: seconds(STOP_SECONDS).unwrap_or_else(|| signed(timing.stop)),
            run: seconds(RUN_SECONDS).or_else(|| ends_by_itself.then(|| signed(timing.job))),
            exit_code: text(EXIT_CODE)
                .and_then(|code| code.parse().ok())
                .unwrap_or(default_code),
            failure,
        }
    }
}

/// Returns true if the node's annotation requests that its kubelet sends no heartbeats.
pub fn node_fails(annotations: Option<&BTreeMap<String, String>>) -> bool {
    annotations.is_some_and(|all| all.get(FAIL).is_some_and(|case| case == "NotReady"))
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

fn seconds(text: &str) -> Option<SignedDuration> {
    let seconds: f64 = text.trim().parse().ok()?;
    (0.0..=MAX_SECONDS)
        .contains(&seconds)
        .then(|| SignedDuration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_simulation_annotation_values_are_ignored() {
        let timing = Timing::default();
        for (text, expected) in [
            ("2.5", 2500),
            ("0", 0),
            ("-1", 1000),
            ("NaN", 1000),
            ("1e9", 1000),
            ("soon", 1000),
        ] {
            let annotations = BTreeMap::from([(START_SECONDS.to_owned(), text.to_owned())]);
            let behaviour = PodBehavior::read(Some(&annotations), &timing, false);
            assert_eq!(behaviour.start.as_millis(), expected, "{text}");
        }
    }

    #[test]
    fn simulated_job_pods_and_crashing_pods_terminate() {
        let timing = Timing::default();
        let read = |fail: &str, of_job| {
            let annotations = BTreeMap::from([(FAIL.to_owned(), fail.to_owned())]);
            let read = PodBehavior::read(Some(&annotations), &timing, of_job);
            (read.run.is_some(), read.exit_code)
        };
        assert_eq!(read("", false), (false, 0));
        assert_eq!(read("", true), (true, 0));
        assert_eq!(read("CrashLoopBackOff", false), (true, 1));
        assert_eq!(read("CrashLoopBackOff", true), (true, 1));
    }
}
