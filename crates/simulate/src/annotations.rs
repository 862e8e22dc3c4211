//! Delays and failures on demand: what people write on pods, templates and nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;

/// Seconds from a pod's placement until its containers run.
pub const START_SECONDS: &str = "simulate.drover.dev/start-seconds";
/// Seconds from then until it is ready.
pub const READY_SECONDS: &str = "simulate.drover.dev/ready-seconds";
/// Seconds that containers run before they end; for ever if absent, but for pods of Jobs.
pub const RUN_SECONDS: &str = "simulate.drover.dev/run-seconds";
/// With what code they end; 0 if absent.
pub const EXIT_CODE: &str = "simulate.drover.dev/exit-code";
/// Seconds that a deleted pod takes to end; never longer than its grace period.
pub const STOP_SECONDS: &str = "simulate.drover.dev/stop-seconds";
/// What fails: a pod's `ImagePullBackOff`, `CrashLoopBackOff` or `NotReady`; a node's `NotReady`.
pub const FAIL: &str = "simulate.drover.dev/fail";
/// What a pod uses of a processor, such as `250m`; a share of its requests if absent.
pub const USAGE_CPU: &str = "simulate.drover.dev/usage-cpu";
/// What it uses of memory, such as `64Mi`.
pub const USAGE_MEMORY: &str = "simulate.drover.dev/usage-memory";

/// The longest delay that an annotation can ask for.
const LONGEST: f64 = 86_400.0;

/// How long things take where no annotation says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From placement until containers run.
    pub start: Duration,
    /// From then until ready.
    pub ready: Duration,
    /// From deletion until gone.
    pub stop: Duration,
    /// How long a Job's pod runs.
    pub job: Duration,
    /// The first pause after a container or a Job's pod has failed; each next is twice as long.
    pub backoff: Duration,
    /// Between two renewals of a node's Lease.
    pub heartbeat: Duration,
}

impl Default for Pace {
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

/// What is to go wrong with a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodFailure {
    /// Its images cannot be had.
    ImagePull,
    /// Its containers end with an error, again and again.
    Crash,
    /// It runs, and never becomes ready.
    NotReady,
}

/// What a pod is asked to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behaviour {
    /// From placement until containers run.
    pub start: SignedDuration,
    /// From then until ready.
    pub ready: SignedDuration,
    /// From deletion until gone.
    pub stop: SignedDuration,
    /// How long the containers run; none for ever.
    pub run: Option<SignedDuration>,
    /// With what they end.
    pub exit_code: i32,
    /// What goes wrong.
    pub failure: Option<PodFailure>,
}

impl Behaviour {
    /// Reads a pod's annotations; what cannot be read counts as absent.
    pub fn read(annotations: Option<&BTreeMap<String, String>>, pace: &Pace, of_job: bool) -> Self {
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
            start: seconds(START_SECONDS).unwrap_or_else(|| signed(pace.start)),
            ready: seconds(READY_SECONDS).unwrap_or_else(|| signed(pace.ready)),
            stop: seconds(STOP_SECONDS).unwrap_or_else(|| signed(pace.stop)),
            run: seconds(RUN_SECONDS).or_else(|| ends_by_itself.then(|| signed(pace.job))),
            exit_code: text(EXIT_CODE)
                .and_then(|code| code.parse().ok())
                .unwrap_or(default_code),
            failure,
        }
    }
}

/// Whether a node is asked to be silent.
pub fn node_fails(annotations: Option<&BTreeMap<String, String>>) -> bool {
    annotations.is_some_and(|all| all.get(FAIL).is_some_and(|what| what == "NotReady"))
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

fn seconds(text: &str) -> Option<SignedDuration> {
    let seconds: f64 = text.trim().parse().ok()?;
    (0.0..=LONGEST)
        .contains(&seconds)
        .then(|| SignedDuration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_counts_as_absent() {
        let pace = Pace::default();
        for (text, wanted) in [
            ("2.5", 2500),
            ("0", 0),
            ("-1", 1000),
            ("NaN", 1000),
            ("1e9", 1000),
            ("soon", 1000),
        ] {
            let annotations = BTreeMap::from([(START_SECONDS.to_owned(), text.to_owned())]);
            let behaviour = Behaviour::read(Some(&annotations), &pace, false);
            assert_eq!(behaviour.start.as_millis(), wanted, "{text}");
        }
    }

    #[test]
    fn pods_of_jobs_and_crashing_ones_end_by_themselves() {
        let pace = Pace::default();
        let read = |fail: &str, of_job| {
            let annotations = BTreeMap::from([(FAIL.to_owned(), fail.to_owned())]);
            let read = Behaviour::read(Some(&annotations), &pace, of_job);
            (read.run.is_some(), read.exit_code)
        };
        assert_eq!(read("", false), (false, 0));
        assert_eq!(read("", true), (true, 0));
        assert_eq!(read("CrashLoopBackOff", false), (true, 1));
        assert_eq!(read("CrashLoopBackOff", true), (true, 1));
    }
}
