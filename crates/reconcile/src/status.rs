//! Decides when a controller writes the status of an object.

use std::time::Duration;

use tokio::time::Instant;

/// The state that decides when to write the status of one object. The status is written only when
/// its meaning changes, and at a limited rate. An object whose status changes often therefore does
/// not overload the API server.
#[derive(Debug, Default)]
pub struct StatusRateLimiter {
    last: Option<Instant>,
    /// Number of urgent writes that exceeded the regular rate. Each interval without a write
    /// reduces the number.
    urgent: u32,
}

/// The urgency of a status change. Urgent changes may exceed the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// The status is written at the next regular write.
    Normal,
    /// The status is written immediately, at most [`StatusRateLimiter::URGENT`] times in a row.
    Urgent,
}

/// The decision whether and when to write a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Do not write, because the current status has the same meaning.
    Unchanged,
    /// Write the status immediately.
    Now,
    /// Write the status after this delay.
    Later(Duration),
}

impl StatusRateLimiter {
    /// Minimum interval between two writes that are not urgent.
    pub const INTERVAL: Duration = Duration::from_secs(10);
    /// Maximum number of consecutive urgent writes. The minimum interval applies to all further
    /// urgent writes.
    pub const URGENT: u32 = 6;

    /// Compares the current status with the desired status. If the result is [`Write::Now`],
    /// records a write.
    pub fn decide<S: PartialEq>(
        &mut self,
        present: Option<&S>,
        desired: &S,
        urgency: Urgency,
        now: Instant,
    ) -> Write {
        if present == Some(desired) {
            return Write::Unchanged;
        }
        let since = self.last.map(|last| now.duration_since(last));
        let rested = since.is_none_or(|since| since >= Self::INTERVAL);
        let may_hurry = urgency == Urgency::Urgent && self.urgent < Self::URGENT;
        if !rested && !may_hurry {
            return Write::Later(Self::INTERVAL.saturating_sub(since.unwrap_or_default()));
        }
        self.urgent = match since {
            Some(since) if rested => {
                // The first period belongs to this write.
                let periods = (since.as_secs() / Self::INTERVAL.as_secs()).saturating_sub(1);
                self.urgent
                    .saturating_sub(periods.try_into().unwrap_or(u32::MAX))
            }
            Some(_) => self.urgent + 1,
            None => 0,
        };
        self.last = Some(now);
        Write::Now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequently_changing_status_is_written_once_in_ten_seconds() {
        let start = Instant::now();
        let cases = [
            (Urgency::Normal, 61),
            (Urgency::Urgent, 61 + StatusRateLimiter::URGENT),
        ];
        for (urgency, most) in cases {
            let mut limiter = StatusRateLimiter::default();
            let count = (0..1200_u32)
                .filter(|n| {
                    let now = start + Duration::from_millis(500) * *n;
                    limiter.decide(Some(&0), &1, urgency, now) == Write::Now
                })
                .count();
            assert!(count <= most as usize, "{urgency:?}: {count}");
            assert!(count >= 55, "{urgency:?}: {count}");
        }
    }

    #[test]
    fn urgent_status_change_after_ten_seconds_without_writes_is_written_immediately() {
        let start = Instant::now();
        let mut limiter = StatusRateLimiter::default();
        let second = start + Duration::from_secs(1);
        let mut decide = |present, urgency, now| limiter.decide(present, &1, urgency, now);
        assert_eq!(decide(None, Urgency::Normal, start), Write::Now);
        assert_eq!(
            decide(Some(&0), Urgency::Normal, second),
            Write::Later(Duration::from_secs(9))
        );
        assert_eq!(decide(Some(&0), Urgency::Urgent, second), Write::Now);
        assert_eq!(decide(Some(&1), Urgency::Urgent, second), Write::Unchanged);
    }
}
