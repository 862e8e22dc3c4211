//! Which of a cluster's tunnels a new request takes, and what the probes make of a tunnel.
//! Pure: the caller brings the facts.

/// What the probes say of a tunnel; the better, the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Health {
    /// The cluster's API server answers through it.
    Healthy = 0,
    /// The agent answers; the API server does not, or not in time.
    ApiServerDown = 1,
    /// Nothing comes back.
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

/// What one probe found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// The API server answered.
    Answered,
    /// The agent answered, but the API server did not in time.
    Down,
    /// Not even the agent did.
    Missed,
}

/// Probes that must fail in a row before a tunnel loses its place.
const FAILURES: u8 = 2;
/// Probes that must succeed in a row before it gets its place back: a flapping path must not pull
/// requests to itself again and again.
const SUCCESSES: u8 = 3;

/// A tunnel's health, from the probes so far.
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
    /// A tunnel that has just been attached: the handshake on it was a sign of life.
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

    /// Whether the last probe failed without deciding anything yet: ask again at once.
    pub(super) const fn is_in_doubt(self) -> bool {
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

/// What counts when choosing among tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) id: u64,
    pub(super) health: Health,
    pub(super) open_streams: usize,
    pub(super) usable: bool,
}

/// By how many streams another tunnel must be freer before new requests move there.
const LEAD: usize = 16;

/// The index of the tunnel to take: among the healthiest, the present one as long as it has not
/// many more streams than the freest.
///
/// A tunnel from which nothing comes back is never taken.
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
    fn the_healthiest_and_then_the_freest_tunnel_is_taken_with_hysteresis() {
        use Health::{ApiServerDown, Healthy, Silent};
        let closed = Candidate {
            usable: false,
            ..candidate(9, Healthy, 0)
        };
        let c = candidate;
        for (candidates, present, wanted) in [
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
                wanted,
                "{candidates:?} {present}"
            );
        }
    }

    #[test]
    fn two_failures_take_a_place_away_and_three_successes_give_it_back() {
        use Probe::{Answered, Down, Missed};
        let after = |probes: &[Probe]| {
            probes
                .iter()
                .fold(History::new(), |history, probe| history.with(*probe))
        };
        for (probes, wanted) in [
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
            assert_eq!(after(probes).health(), wanted, "{probes:?}");
        }
        assert!(after(&[Missed]).is_in_doubt());
        assert!(!after(&[Missed, Missed]).is_in_doubt());
        assert!(!after(&[Answered]).is_in_doubt());
    }
}
