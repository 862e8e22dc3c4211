//! Repeats attempts until they succeed or a time limit has passed.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::Instant;

/// A condition was not met before the timeout.
#[derive(Debug, thiserror::Error)]
#[error(
    "timed out after {seconds} s while waiting for {subject}; last state: {last_seen}",
    seconds = limit.as_secs()
)]
pub struct TimedOut {
    /// Description of the condition.
    pub subject: String,
    /// The time limit that was exceeded.
    pub limit: Duration,
    /// Error of the last attempt.
    pub last_seen: String,
}

/// Repeats `attempt` until an attempt succeeds or `limit` has passed.
///
/// The limit also cancels a running attempt. The delay between attempts increases from 50 ms to 1
/// s.
pub async fn eventually<T, E, F>(
    subject: &str,
    limit: Duration,
    mut attempt: F,
) -> Result<T, TimedOut>
where
    E: Display,
    F: AsyncFnMut() -> Result<T, E>,
{
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_millis(50);
    let mut last_seen = "the first attempt is still running".to_owned();
    loop {
        match tokio::time::timeout_at(deadline, attempt()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => last_seen = error.to_string(),
            Err(_) => {
                last_seen = format!("an attempt is still running; previous state: {last_seen}");
            }
        }
        if Instant::now() + pause >= deadline {
            return Err(TimedOut {
                subject: subject.to_owned(),
                limit,
                last_seen,
            });
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(Duration::from_secs(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hanging_attempt_times_out() {
        let error = eventually("the end of time", Duration::from_millis(60), async || {
            std::future::pending::<Result<(), String>>().await
        })
        .await
        .unwrap_err();
        assert!(error.to_string().contains("the end of time"), "{error}");
    }

    #[tokio::test]
    async fn wait_error_contains_the_last_state() {
        let mut attempts = 0;
        let error = eventually("a pod", Duration::from_millis(200), async || {
            attempts += 1;
            Err::<(), _>(format!("obstacle {attempts}"))
        })
        .await
        .unwrap_err();
        assert!(attempts > 1);
        assert_eq!(error.last_seen, format!("obstacle {attempts}"));
    }
}
