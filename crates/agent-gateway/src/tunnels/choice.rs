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
/// Number of consecutive successful probes after which a tunnel is healthy again, and after which a
/// new tunnel replaces a tunnel of a higher rank. This number prevents a flapping tunnel from
/// repeatedly receiving requests.
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
    proven: bool,
}

impl History {
    /// Creates the probe history of a new tunnel. A new tunnel is healthy, because its handshake
    /// has succeeded.
    pub(super) const fn new() -> Self {
        Self {
            health: Health::Healthy,
            last: Probe::Answered,
            in_a_row: 0,
            proven: false,
        }
    }

    /// Returns true after [`SUCCESSES`] consecutive successful probes, until the tunnel is unhealthy.
    pub(super) const fn is_proven(self) -> bool {
        self.proven
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
        let answered = matches!(probe, Probe::Answered) && in_a_row >= SUCCESSES;
        Self {
            health,
            last: probe,
            in_a_row,
            proven: health == Health::Healthy && (answered || self.proven),
        }
    }
}

/// The state of a tunnel, as input for the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) id: u64,
    /// Rank of the agent: 0 for the cluster agent, a higher number for a node agent.
    pub(super) rank: u8,
    pub(super) health: Health,
    /// True if enough probes succeeded for the tunnel to replace a tunnel of a higher rank.
    pub(super) proven: bool,
    pub(super) open_streams: usize,
    pub(super) usable: bool,
}

impl Candidate {
    /// A placeholder that is never selected.
    pub(super) const NONE: Self = Self {
        id: 0,
        rank: u8::MAX,
        health: Health::Silent,
        proven: false,
        open_streams: 0,
        usable: false,
    };

    /// Returns the class of the tunnel. Requests use a tunnel of the lowest class.
    pub(super) const fn class(&self) -> (Health, u8) {
        (self.health, self.rank)
    }
}

/// Minimum difference in the number of open streams after which new requests move to a different
/// tunnel.
const LEAD: usize = 16;

/// Returns the index of the tunnel to use. Among the healthiest tunnels, uses the lowest rank. A tunnel
/// of a lower rank than the current tunnel must be proven. Among the tunnels of this rank, keeps the
/// current tunnel unless it has many more streams than the least loaded tunnel.
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
    let healthiest = || open().filter(|(_, c)| c.health == health);
    let current = healthiest().find(|(_, c)| c.id == present);
    let may_replace = |c: &Candidate| c.proven || current.is_none_or(|(_, p)| c.rank >= p.rank);
    let ranks = healthiest().filter(|(_, c)| may_replace(c));
    let rank = ranks.map(|(_, c)| c.rank).min()?;
    let best = || healthiest().filter(|(_, c)| c.rank == rank);
    let (freest, candidate) = best().min_by_key(|(_, c)| (c.open_streams, c.id))?;
    // Requests do not move among node agents, because each move is a switch.
    let has_lead = |c: &Candidate| c.rank == 0 && c.open_streams >= candidate.open_streams + LEAD;
    let stays = best()
        .find(|(_, c)| c.id == present)
        .filter(|(_, c)| !has_lead(c));
    Some(stays.map_or(freest, |(index, _)| index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(id: u64, health: Health, open_streams: usize) -> Candidate {
        Candidate {
            id,
            rank: 0,
            health,
            proven: health == Health::Healthy,
            open_streams,
            usable: true,
        }
    }

    /// A tunnel of a node agent on a control-plane node.
    fn of_node(id: u64, health: Health) -> Candidate {
        Candidate {
            rank: 1,
            ..candidate(id, health, 0)
        }
    }

    #[test]
    fn node_agent_is_selected_only_without_a_healthier_agent() {
        use Health::{ApiServerDown, Healthy, Silent};
        let (c, n) = (candidate, of_node);
        let worker = Candidate {
            rank: 2,
            ..n(3, Healthy)
        };
        let busy = Candidate {
            open_streams: 900,
            ..n(2, Healthy)
        };
        for (candidates, present, expected) in [
            (vec![n(2, Healthy), c(1, Healthy, 900)], 0, Some(1)),
            (vec![n(2, Healthy), c(1, Healthy, 900)], 2, Some(1)),
            (vec![n(2, Healthy), c(1, ApiServerDown, 0)], 1, Some(0)),
            (vec![n(2, Healthy), c(1, Silent, 0)], 1, Some(0)),
            (
                vec![n(2, ApiServerDown), c(1, ApiServerDown, 0)],
                0,
                Some(1),
            ),
            (
                vec![n(2, ApiServerDown), c(1, ApiServerDown, 0)],
                2,
                Some(0),
            ),
            (vec![n(2, ApiServerDown), c(1, Silent, 0)], 1, Some(0)),
            (vec![worker, n(2, Healthy)], 0, Some(1)),
            (vec![worker, n(2, Silent)], 2, Some(0)),
            (vec![busy, n(4, Healthy)], 2, Some(0)),
        ] {
            assert_eq!(
                choose(&candidates, present),
                expected,
                "{candidates:?} {present}"
            );
        }
    }

    #[test]
    fn new_tunnel_of_the_agent_replaces_a_node_agent_after_three_successful_probes() {
        use Probe::{Answered, Down};
        let new = Candidate {
            proven: false,
            ..candidate(3, Health::Healthy, 0)
        };
        let node = of_node(2, Health::Healthy);
        assert_eq!(choose(&[node, new], 2), Some(0));
        assert_eq!(choose(&[node, new], 0), Some(1), "no tunnel is in use");
        let proven = Candidate {
            proven: true,
            ..new
        };
        assert_eq!(choose(&[node, proven], 2), Some(1));
        let closed = Candidate {
            usable: false,
            ..node
        };
        assert_eq!(choose(&[closed, new], 2), Some(1));
        let history = |probes: &[Probe]| {
            let add = |history: History, probe: &Probe| history.with(*probe);
            probes.iter().fold(History::new(), add).is_proven()
        };
        assert!(!history(&[Answered, Answered]));
        assert!(history(&[Answered, Answered, Answered]));
        assert!(!history(&[Answered, Answered, Down, Answered]));
        assert!(history(&[Answered, Answered, Answered, Down, Answered]));
        assert!(!history(&[Answered, Answered, Answered, Down, Down]));
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
