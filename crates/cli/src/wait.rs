//! Polls until a condition is met, and prints the state after each change.

use std::time::Duration;

use drover_entropy::backoff::full_jitter;
use tokio::time::{Instant, sleep, timeout_at};

use crate::client::CallError;
use crate::failure::Failure;
use crate::terminal::notice;

/// Interval between two polls. Errors increase the interval.
const INTERVAL: Duration = Duration::from_secs(2);
/// Maximum interval between two polls after errors.
const MAX_INTERVAL: Duration = Duration::from_secs(30);

/// The result of a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The condition is met.
    Done,
    /// The condition is not met. The text describes the current state.
    Pending(String),
}

/// Polls until the condition is met or `limit` expires. Transient errors are retried with backoff.
pub(crate) async fn wait_for<F>(limit: Duration, mut poll: impl FnMut() -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<Progress, CallError>>,
{
    let end = Instant::now() + limit;
    let mut reported = String::new();
    let mut failures = 0_u32;
    loop {
        let result = timeout_at(end, poll()).await;
        let (state, pause) = match result {
            Ok(Ok(Progress::Done)) => return Ok(()),
            Ok(Ok(Progress::Pending(state))) => {
                failures = 0;
                (state, INTERVAL)
            }
            Ok(Err(error)) if error.is_transient() => {
                failures = failures.saturating_add(1);
                (error.to_string(), backoff(failures))
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(timed_out(limit, &reported)),
        };
        if state != reported {
            notice(&crate::table::printable(&state));
            reported = state;
        }
        if Instant::now() + pause >= end {
            return Err(timed_out(limit, &reported));
        }
        sleep(pause).await;
    }
}

fn timed_out(limit: Duration, state: &str) -> Failure {
    let limit = crate::table::span(limit.as_secs());
    Failure::TimedOut(match state {
        "" => {
            format!("timed out after {limit} without a response; try again, or increase --timeout")
        }
        state => format!("timed out after {limit}; last state: {state}"),
    })
}

/// Returns the interval after a number of consecutive failures. Each failure doubles the interval,
/// with full jitter.
fn backoff(failures: u32) -> Duration {
    let cap = INTERVAL
        .saturating_mul(2_u32.saturating_pow(failures.min(10)))
        .min(MAX_INTERVAL);
    Duration::from_millis(200) + full_jitter(cap)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn wait_returns_when_the_condition_is_met() {
        let looks = Cell::new(0);
        let result = wait_for(Duration::from_mins(1), || async {
            looks.set(looks.get() + 1);
            Ok(if looks.get() == 3 {
                Progress::Done
            } else {
                Progress::Pending("not yet".to_owned())
            })
        });
        result.await.unwrap();
        assert_eq!(looks.get(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn wait_timeout_error_contains_the_last_state() {
        let look = || async { Ok(Progress::Pending("agent not connected".to_owned())) };
        let start = Instant::now();
        let failure = wait_for(Duration::from_mins(1), look).await.unwrap_err();
        assert!(start.elapsed() <= Duration::from_mins(1));
        assert_eq!(failure.code(), 7);
        assert!(
            failure.text().contains("agent not connected"),
            "{}",
            failure.text()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn wait_retries_only_transient_errors() {
        let looks = Cell::new(0);
        let away = || CallError::Unreachable {
            server: "s".to_owned(),
            reason: "refused".to_owned(),
        };
        let result = wait_for(Duration::from_mins(10), || async {
            looks.set(looks.get() + 1);
            if looks.get() < 5 {
                Err(away())
            } else {
                Ok(Progress::Done)
            }
        });
        result.await.unwrap();
        let no = CallError::Unreadable {
            server: "s".to_owned(),
            reason: "r".to_owned(),
        };
        let mut once = Some(no);
        let result = wait_for(Duration::from_mins(10), || {
            let no = once.take().expect("one look only");
            async move { Err(no) }
        });
        assert_eq!(result.await.unwrap_err().code(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn wait_aborts_a_poll_without_a_response() {
        let result = wait_for(Duration::from_secs(5), std::future::pending);
        assert_eq!(result.await.unwrap_err().code(), 7);
    }
}
