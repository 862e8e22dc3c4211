//! Selects a tunnel for a new request, and derives a tunnel's health from its probes. The functions
//! have no side effects.

/// The health of a tunnel according to its probes. A lower value is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Health {
    /// The cluster's API server responds through the tunnel.
    Healthy = 0,
    /// The agent responds, but the API server does not respond in time.
    ApiServerDown = 1,
    /// The agent does not respond.
    Silent = 2,
}

impl Health {
    pub(super) const fn from_u8(value: u8) -> Self {
        match value {
            0 => Self::Healthy,
            1 => Self::ApiServerDown,
            _ => Self::Silent,
        }
    }
}

/// The result of one probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// The API server responded.
    Answered,
    /// The agent responded, but the API server did not respond in time.
    Down,
    /// The agent did not respond.
    Missed,
}

/// Number of consecutive failed probes after which a tunnel is unhealthy.
const FAILURES: u8 = 2;
/// Number of consecutive successful probes after which a tunnel is healthy again. This number
/// prevents a flapping tunnel from repeatedly receiving requests.
const SUCCESSES: u8 = 3;

/// The results of the latest probes, and the health that is derived from these results.
///
/// ```text
///   Healthy ──2 × Down──► ApiServerDown      any ──2 × Missed──► Silent
///   ApiServerDown, Silent ──3 × Answered──► Healthy
///   Silent ──2 × Down──► ApiServerDown
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct History {
    health: Health,
    last: Probe,
    in_a_row: u8,
}

impl History {
    /// Creates the probe history of a new tunnel. A new tunnel is healthy, because its handshake
    /// has succeeded.
    pub(super) const fn new() -> Self {
        Self {
            health: Health::Healthy,
            last: Probe::Answered,
            in_a_row: 0,
        }
    }

    pub(super) const fn health(self) -> Health {
        self.health
    }

    /// Returns true if the last probe failed but the health did not change. In this case, the
    /// caller sends the next probe without delay.
    pub(super) const fn needs_retry(self) -> bool {
        !matches!(self.last, Probe::Answered) && self.in_a_row < FAILURES
    }

    #[must_use]
    pub(super) fn with(self, probe: Probe) -> Self {
        let in_a_row = if probe == self.last {
            self.in_a_row.saturating_add(1)
        } else {
            1
        };
        let health = match probe {
            Probe::Answered if in_a_row >= SUCCESSES => Health::Healthy,
            Probe::Down if in_a_row >= FAILURES => Health::ApiServerDown,
            Probe::Missed if in_a_row >= FAILURES => Health::Silent,
            _ => self.health,
        };
        Self {
            health,
            last: probe,
            in_a_row,
        }
    }
}

/// The state of a tunnel, as input for the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) id: u64,
    pub(super) health: Health,
    pub(super) open_streams: usize,
    pub(super) usable: bool,
}

impl Candidate {
    /// A placeholder that is never selected.
    pub(super) const NONE: Self = Self {
        id: 0,
        health: Health::Silent,
        open_streams: 0,
        usable: false,
    };
}

/// Minimum difference in the number of open streams after which new requests move to a different
/// tunnel.
const LEAD: usize = 16;

/// Returns the index of the tunnel to use. Among the healthiest tunnels, keeps the current tunnel
/// unless it has many more streams than the least loaded tunnel.
///
/// Never selects a tunnel whose agent does not respond.
pub(super) fn choose(candidates: &[Candidate], present: u64) -> Option<usize> {
    let open = || {
        candidates
            .iter()
            .enumerate()
            .filter(|(_, c)| c.usable && c.health != Health::Silent)
    };
    let health = open().map(|(_, c)| c.health).min()?;
    let best = || open().filter(|(_, c)| c.health == health);
    let (freest, candidate) = best().min_by_key(|(_, c)| (c.open_streams, c.id))?;
    let stays = best()
        .find(|(_, c)| c.id == present)
        .filter(|(_, c)| c.open_streams < candidate.open_streams + LEAD);
    Some(stays.map_or(freest, |(index, _)| index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(id: u64, health: Health, open_streams: usize) -> Candidate {
        Candidate {
            id,
            health,
            open_streams,
            usable: true,
        }
    }

    #[test]
    fn tunnel_is_selected_by_health_first_and_by_load_second() {
        use Health::{ApiServerDown, Healthy, Silent};
        let closed = Candidate {
            usable: false,
            ..candidate(9, Healthy, 0)
        };
        let c = candidate;
        for (candidates, present, expected) in [
            (vec![], 0, None),
            (vec![c(1, Silent, 0)], 1, None),
            (vec![closed], 9, None),
            (vec![c(1, Healthy, 5), c(2, Healthy, 3)], 0, Some(1)),
            (vec![c(1, Healthy, 5), c(2, Healthy, 3)], 1, Some(0)),
            (vec![c(1, Healthy, 18), c(2, Healthy, 3)], 1, Some(0)),
            (vec![c(1, Healthy, 19), c(2, Healthy, 3)], 1, Some(1)),
            (vec![c(1, Silent, 0), c(2, Healthy, 900)], 1, Some(1)),
            (vec![c(1, ApiServerDown, 0), c(2, Healthy, 900)], 1, Some(1)),
            (vec![c(1, ApiServerDown, 0), c(2, Silent, 0)], 2, Some(0)),
            (vec![closed, c(2, Healthy, 900)], 9, Some(1)),
        ] {
            assert_eq!(
                choose(&candidates, present),
                expected,
                "{candidates:?} {present}"
            );
        }
    }

    #[test]
    fn two_failures_make_a_tunnel_unhealthy_and_three_successes_healthy() {
        use Probe::{Answered, Down, Missed};
        let after = |probes: &[Probe]| {
            probes
                .iter()
                .fold(History::new(), |history, probe| history.with(*probe))
        };
        for (probes, expected) in [
            (&[][..], Health::Healthy),
            (&[Missed], Health::Healthy),
            (&[Missed, Answered, Missed], Health::Healthy),
            (&[Missed, Missed], Health::Silent),
            (&[Missed, Missed, Answered, Answered], Health::Silent),
            (
                &[Missed, Missed, Answered, Answered, Answered],
                Health::Healthy,
            ),
            (&[Missed, Down], Health::Healthy),
            (&[Missed, Missed, Down, Down], Health::ApiServerDown),
            (&[Down, Down], Health::ApiServerDown),
            (&[Down, Down, Missed, Missed], Health::Silent),
        ] {
            assert_eq!(after(probes).health(), expected, "{probes:?}");
        }
        assert!(after(&[Missed]).needs_retry());
        assert!(!after(&[Missed, Missed]).needs_retry());
        assert!(!after(&[Answered]).needs_retry());
    }
}
