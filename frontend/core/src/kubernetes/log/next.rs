//! Decides the next step after a log stream ends.

use super::choice::LogRequest;
use crate::messages::t;
use crate::object::Lifecycle;
use crate::problem::{Problem, ProblemKind};

/// The cause of the end of a log stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogStreamEnd {
    /// The server closed the stream.
    Done,
    /// The stream had no data within the timeout.
    Silent,
    /// The request was rejected, or the stream was interrupted.
    Problem(Problem),
}

/// The next step after a log stream ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Stop, because the log is complete. The text explains the cause.
    Stop(String),
    /// Stop, because the request was rejected.
    Refused(Problem),
    /// Retry, because the container does not run. The text explains the cause.
    Wait(String),
    /// Retry, because the stream was interrupted.
    Cut(Problem),
    /// Retry immediately, without a note.
    GoOn,
}

/// Decides the next step after the end of a stream. `life` is the state of the container, or `None`
/// if the pod was deleted.
pub fn next(request: &LogRequest, ending: LogStreamEnd, life: Option<Lifecycle>) -> Next {
    let problem = match ending {
        LogStreamEnd::Problem(problem) => problem,
        // A container can run for a long time without output.
        LogStreamEnd::Silent if request.follows() => return Next::GoOn,
        LogStreamEnd::Silent => return Next::Cut(Problem::offline()),
        LogStreamEnd::Done if !request.follows() => return Next::Stop(t().log.end().to_owned()),
        LogStreamEnd::Done => return after(life),
    };
    match (problem.kind, life) {
        (ProblemKind::NotFound, None) => after(None),
        // The container has not started again, so there is no log yet.
        (ProblemKind::Invalid, Some(Lifecycle::Waits { words })) if !request.previous => {
            Next::Wait(words)
        }
        // The pod status may be older than the response.
        (ProblemKind::Invalid, Some(life))
            if !request.previous
                && (life == Lifecycle::Unknown || problem.message.contains("waiting to start")) =>
        {
            Next::Wait(problem.message)
        }
        (ProblemKind::Forbidden | ProblemKind::NotFound | ProblemKind::Invalid, _) => {
            Next::Refused(problem)
        }
        _ => Next::Cut(problem),
    }
}

fn after(life: Option<Lifecycle>) -> Next {
    match life {
        None => Next::Stop(t().log.pod_deleted().to_owned()),
        Some(Lifecycle::Ended {
            words,
            for_good: true,
        }) => Next::Stop(t().log.ended(&words)),
        Some(Lifecycle::Ended { words, .. }) => Next::Wait(t().log.restarting(&words)),
        Some(Lifecycle::Waits { words }) => Next::Wait(t().log.waiting(&words)),
        Some(Lifecycle::Runs | Lifecycle::Unknown) => Next::GoOn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Since;

    fn request(previous: bool, follow: bool) -> LogRequest {
        LogRequest {
            cluster: "berlin".to_owned(),
            namespace: "shop".to_owned(),
            pod: "web-0".to_owned(),
            container: "web".to_owned(),
            previous,
            follow,
            since: Since::Begin,
            tail: 100,
        }
    }

    fn refused(kind: ProblemKind) -> LogStreamEnd {
        LogStreamEnd::Problem(Problem::new(kind, "no"))
    }

    fn waits() -> Lifecycle {
        let words = "CrashLoopBackOff".to_owned();
        Lifecycle::Waits { words }
    }

    #[test]
    fn log_request_without_follow_is_not_retried_at_the_end_of_the_log() {
        let stop = Next::Stop("End of the log.".to_owned());
        assert_eq!(
            next(
                &request(false, false),
                LogStreamEnd::Done,
                Some(Lifecycle::Runs)
            ),
            stop
        );
        assert_eq!(
            next(
                &request(true, true),
                LogStreamEnd::Done,
                Some(Lifecycle::Runs)
            ),
            stop
        );
    }

    #[test]
    fn log_is_followed_until_its_container_ends_permanently() {
        let request = request(false, true);
        assert_eq!(
            next(&request, LogStreamEnd::Done, Some(Lifecycle::Runs)),
            Next::GoOn
        );
        let words = "Code 1: an error.".to_owned();
        let ended = |for_good| {
            Some(Lifecycle::Ended {
                words: words.clone(),
                for_good,
            })
        };
        assert!(
            matches!(next(&request, LogStreamEnd::Done, ended(false)), Next::Wait(told) if told.contains("Code 1"))
        );
        assert!(
            matches!(next(&request, LogStreamEnd::Done, ended(true)), Next::Stop(told) if told.contains("Code 1"))
        );
        assert!(matches!(
            next(&request, LogStreamEnd::Done, Some(waits())),
            Next::Wait(_)
        ));
        assert!(matches!(
            next(&request, LogStreamEnd::Done, None),
            Next::Stop(_)
        ));
    }

    #[test]
    fn timeout_of_a_log_without_follow_is_shown_as_interruption() {
        let runs = Some(Lifecycle::Runs);
        let quiet = next(&request(false, true), LogStreamEnd::Silent, runs.clone());
        assert_eq!(quiet, Next::GoOn);
        for whole in [request(false, false), request(true, true)] {
            let silent = next(&whole, LogStreamEnd::Silent, runs.clone());
            assert!(matches!(silent, Next::Cut(_)), "{whole:?}");
        }
    }

    #[test]
    fn log_request_is_retried_for_unstarted_container_but_not_for_missing_previous_run() {
        let waiting = next(
            &request(false, true),
            refused(ProblemKind::Invalid),
            Some(waits()),
        );
        assert_eq!(waiting, Next::Wait("CrashLoopBackOff".to_owned()));
        let problem = Problem::new(ProblemKind::Invalid, "container is waiting to start: x");
        let late = next(
            &request(false, true),
            LogStreamEnd::Problem(problem),
            Some(Lifecycle::Runs),
        );
        assert!(matches!(late, Next::Wait(_)));
        let previous = next(
            &request(true, true),
            refused(ProblemKind::Invalid),
            Some(waits()),
        );
        assert!(matches!(previous, Next::Refused(_)));
        let runs = Some(Lifecycle::Runs);
        let forbidden = next(
            &request(false, true),
            refused(ProblemKind::Forbidden),
            runs.clone(),
        );
        assert!(matches!(forbidden, Next::Refused(_)));
        // A cluster can reject Drover temporarily. The session code handles an ended session.
        for passing in [ProblemKind::Offline, ProblemKind::SignedOut] {
            let cut = next(&request(false, true), refused(passing), runs.clone());
            assert!(matches!(cut, Next::Cut(_)), "{passing:?}");
        }
    }
}
