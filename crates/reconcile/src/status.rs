//! When a status is written.

use std::time::Duration;

use tokio::time::Instant;

/// Decides when the status of one object is written: only when its meaning changes, and at a
/// limited rate, so that an object that flaps does not load the API.
#[derive(Debug, Default)]
pub struct StatusWriter {
    last: Option<Instant>,
    /// Urgent writes that have not been compensated by a pause yet.
    urgent: u32,
}

/// Whether a change of a status may exceed the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Waits for the next write.
    Normal,
    /// Is written at once, [`StatusWriter::URGENT`] times in a row.
    Urgent,
}

/// What to do about a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The present status means the same.
    Unchanged,
    /// Write it now.
    Now,
    /// Write it after this time.
    Later(Duration),
}

impl StatusWriter {
    /// Between two writes that are not urgent.
    pub const INTERVAL: Duration = Duration::from_secs(10);
    /// Urgent writes in a row; after those, the rate holds for urgent ones, too.
    pub const URGENT: u32 = 6;

    /// Compares the present status with the wanted one; [`Write::Now`] counts as written.
    pub fn decide<S: PartialEq>(
        &mut self,
        present: Option<&S>,
        wanted: &S,
        urgency: Urgency,
        now: Instant,
    ) -> Write {
        if present == Some(wanted) {
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
                // The first period is that of this write.
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
    fn flapping_status_is_written_once_in_ten_seconds() {
        let start = Instant::now();
        let cases = [
            (Urgency::Normal, 61),
            (Urgency::Urgent, 61 + StatusWriter::URGENT),
        ];
        for (urgency, most) in cases {
            let mut writer = StatusWriter::default();
            let count = (0..1200_u32)
                .filter(|n| {
                    let now = start + Duration::from_millis(500) * *n;
                    writer.decide(Some(&0), &1, urgency, now) == Write::Now
                })
                .count();
            assert!(count <= most as usize, "{urgency:?}: {count}");
            assert!(count >= 55, "{urgency:?}: {count}");
        }
    }

    #[test]
    fn urgent_change_after_a_quiet_time_is_written_at_once() {
        let start = Instant::now();
        let mut writer = StatusWriter::default();
        let second = start + Duration::from_secs(1);
        let mut decide = |present, urgency, now| writer.decide(present, &1, urgency, now);
        assert_eq!(decide(None, Urgency::Normal, start), Write::Now);
        assert_eq!(
            decide(Some(&0), Urgency::Normal, second),
            Write::Later(Duration::from_secs(9))
        );
        assert_eq!(decide(Some(&0), Urgency::Urgent, second), Write::Now);
        assert_eq!(decide(Some(&1), Urgency::Urgent, second), Write::Unchanged);
    }
}
