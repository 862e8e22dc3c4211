//! Waiting until something is so, saying what is in the way whenever that changes.

use std::time::Duration;

use drover_entropy::backoff::full_jitter;
use tokio::time::{Instant, sleep, timeout_at};

use crate::client::CallError;
use crate::failure::Failure;
use crate::terminal::notice;

/// Between two looks, when all is well.
const INTERVAL: Duration = Duration::from_secs(2);
/// Between two looks, when the server cannot be asked, at most.
const MAX_INTERVAL: Duration = Duration::from_secs(30);

/// What a look showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is so.
    Done,
    /// It is not yet so; the words say how far it is.
    Wait(String),
}

/// Looks until it is so or the time is over; a server out of reach is asked again, ever less often.
pub(crate) async fn wait_for<F>(limit: Duration, mut look: impl FnMut() -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<Next, CallError>>,
{
    let end = Instant::now() + limit;
    let mut said = String::new();
    let mut failures = 0_u32;
    loop {
        let result = timeout_at(end, look()).await;
        let (state, pause) = match result {
            Ok(Ok(Next::Done)) => return Ok(()),
            Ok(Ok(Next::Wait(state))) => {
                failures = 0;
                (state, INTERVAL)
            }
            Ok(Err(error)) if error.may_pass() => {
                failures = failures.saturating_add(1);
                (error.to_string(), backoff(failures))
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(over(limit, &said)),
        };
        if state != said {
            notice(&crate::table::printable(&state));
            said = state;
        }
        if Instant::now() + pause >= end {
            return Err(over(limit, &said));
        }
        sleep(pause).await;
    }
}

fn over(limit: Duration, state: &str) -> Failure {
    let limit = crate::table::span(limit.as_secs());
    Failure::TimedOut(match state {
        "" => format!("waited {limit} without an answer"),
        state => format!("waited {limit}, and it is still so: {state}"),
    })
}

/// Full jitter over a doubling interval.
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
    async fn waiting_ends_when_it_is_so() {
        let looks = Cell::new(0);
        let result = wait_for(Duration::from_mins(1), || async {
            looks.set(looks.get() + 1);
            Ok(if looks.get() == 3 {
                Next::Done
            } else {
                Next::Wait("not yet".to_owned())
            })
        });
        result.await.unwrap();
        assert_eq!(looks.get(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_in_time_and_says_what_was_in_the_way() {
        let look = || async { Ok(Next::Wait("agent not connected".to_owned())) };
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
    async fn a_server_out_of_reach_is_asked_again_and_a_refusal_is_not() {
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
                Ok(Next::Done)
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
    async fn a_look_that_hangs_ends_with_the_time() {
        let result = wait_for(Duration::from_secs(5), std::future::pending);
        assert_eq!(result.await.unwrap_err().code(), 7);
    }
}
