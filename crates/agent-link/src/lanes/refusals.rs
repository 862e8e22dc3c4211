//! Counts the requests that the agent refused since the previous report.

use std::collections::BTreeMap;

use drover_api::report::Refusal;
use parking_lot::Mutex;

/// Maximum number of kinds of refusals that the agent counts between two reports. Requests of a
/// correct server cause fewer kinds.
const MAX_KINDS: usize = 64;
/// Length limit of the lane's name, in characters.
const MAX_LANE_CHARS: usize = 32;

/// The lane's name in the request, and the reason for the refusal.
type Kind = (String, &'static str);

/// Counts of refused requests since the previous report.
#[derive(Debug, Default)]
pub struct Refusals {
    since: Mutex<BTreeMap<Kind, (String, u32)>>,
}

impl Refusals {
    /// Counts a refused request of a lane.
    pub fn count(&self, lane: &str, reason: &'static str, message: &str) {
        let lane: String = lane
            .chars()
            .filter(|c| !c.is_control())
            .take(MAX_LANE_CHARS)
            .collect();
        let mut since = self.since.lock();
        if since.len() >= MAX_KINDS && !since.contains_key(&(lane.clone(), reason)) {
            return;
        }
        let (_, count) = since
            .entry((lane, reason))
            .or_insert_with(|| (message.to_owned(), 0));
        *count = count.saturating_add(1);
    }

    /// Returns the counts since the previous call, and resets the counts.
    pub fn take(&self) -> Vec<Refusal> {
        std::mem::take(&mut *self.since.lock())
            .into_iter()
            .map(|((lane, reason), (message, count))| Refusal {
                lane,
                reason: reason.to_owned(),
                message,
                count,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_requests_are_counted_per_kind_with_limited_memory() {
        let refusals = Refusals::default();
        for _ in 0..3 {
            refusals.count("user", "NoUser", "m");
        }
        for lane in 0..1000 {
            refusals.count(
                &format!("\nlane{lane}{}", "x".repeat(100)),
                "UnknownLane",
                "m",
            );
        }
        let taken = refusals.take();
        assert_eq!(taken.len(), MAX_KINDS);
        assert!(taken.iter().any(|r| r.lane == "user" && r.count == 3));
        assert!(
            taken
                .iter()
                .all(|r| r.lane.len() <= MAX_LANE_CHARS && !r.lane.contains('\n'))
        );
        assert!(refusals.take().is_empty());
    }
}
