//! Divides the memory limit of the process among the components of the process.
//!
//! The limits apply to data whose size depends on clients and clusters. Four sixteenths remain
//! for the program, the stores, SQLite and TLS.

use std::fmt;

use drover_agent_gateway::tunnels::TunnelMemory;
use drover_apiserver::server::{ByteLimit, MemoryBounds};
use drover_hub::embedded::HubMemory;
use drover_tunnel::Limits;
use drover_tunnel::memory::MemoryLimit;

/// Fractions of the memory limit, in sixteenths.
const ANSWERS: u64 = 2;
const WATCHES: u64 = 2;
const EVENTS: u64 = 1;
const BODIES: u64 = 2;
const TUNNELS: u64 = 3;
const ROWS: u64 = 2;
/// Maximum size of the rows of lists in bytes.
const MAX_ROWS: usize = 1 << 30;
/// Part of the memory of rows that the history of objects uses instead.
const HISTORY_OF_ROWS: usize = 8;
/// Maximum size of the history of objects in bytes.
const MAX_HISTORY: usize = 64 << 20;
/// Ratio of a total limit to the limit per caller or per tunnel.
const SHARE_OF_ONE: usize = 4;

/// The memory limits of the process's components, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// The memory limit of the whole process.
    pub limit: MemoryLimit,
    /// The limits of the embedded hub.
    pub hub: HubMemory,
    /// The limits for response data that clients have not read yet: in total, and per tunnel.
    pub tunnels: TunnelMemory,
    /// The limit for the rows of lists in open pages.
    pub rows: usize,
    /// The limit for the history of objects.
    pub history: usize,
}

impl MemoryPlan {
    /// Divides the memory limit of the process into limits of its components.
    pub fn of(limit: MemoryLimit) -> Self {
        let most = MemoryBounds::default();
        let part = |sixteenths, most: ByteLimit| {
            let of_all = limit.share(sixteenths, most.of_all);
            ByteLimit {
                of_caller: (of_all / SHARE_OF_ONE).min(most.of_caller),
                of_all,
            }
        };
        let rows = limit.share(ROWS, MAX_ROWS);
        let history = (rows / HISTORY_OF_ROWS).min(MAX_HISTORY);
        let tunnels = limit.share(TUNNELS, Limits::SERVER.buffered_bytes);
        Self {
            limit,
            hub: HubMemory {
                requests: MemoryBounds {
                    answers: part(ANSWERS, most.answers),
                    watches: part(WATCHES, most.watches),
                    bodies: part(BODIES, most.bodies),
                },
                events: limit.share(EVENTS, HubMemory::default().events),
            },
            tunnels: TunnelMemory {
                all: tunnels,
                one: (tunnels / SHARE_OF_ONE).min(Limits::TUNNEL.buffered_bytes),
            },
            rows: rows - history,
            history,
        }
    }

    /// Returns the sum of all limits, in bytes.
    pub fn divided(&self) -> usize {
        let MemoryBounds {
            answers,
            watches,
            bodies,
        } = self.hub.requests;
        let parts = [answers.of_all, watches.of_all, bodies.of_all];
        parts.iter().sum::<usize>() + self.hub.events + self.tunnels.all + self.rows + self.history
    }
}

/// Formats the limits in MiB, for the log.
impl fmt::Display for MemoryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: usize| bytes >> 20;
        let MemoryBounds {
            answers,
            watches,
            bodies,
        } = self.hub.requests;
        write!(
            f,
            "{} MiB ({}): answers {}, watches {}, events {}, bodies {}, tunnels {}, rows {}, history {}",
            self.limit.bytes >> 20,
            self.limit.source,
            mib(answers.of_all),
            mib(watches.of_all),
            mib(self.hub.events),
            mib(bodies.of_all),
            mib(self.tunnels.all),
            mib(self.rows),
            mib(self.history),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(bytes: u64) -> MemoryPlan {
        MemoryPlan::of(MemoryLimit::new(Some(bytes)))
    }

    #[test]
    fn sum_of_memory_budgets_stays_below_every_memory_limit() {
        for mib in [64_u64, 128, 256, 512, 1024, 2048, 4096, 65_536] {
            let plan = plan(mib << 20);
            let divided = u64::try_from(plan.divided()).unwrap();
            assert!(divided <= (mib << 20) / 16 * 12, "{plan}");
            assert!(plan.tunnels.one <= plan.tunnels.all);
            let answers = plan.hub.requests.answers;
            assert!(answers.of_caller > 0 && answers.of_caller <= answers.of_all);
        }
    }

    #[test]
    fn memory_budgets_for_the_chart_default_of_one_gib_match_the_documentation() {
        let reported = plan(1 << 30).to_string();
        assert_eq!(
            reported,
            "1024 MiB (setting): answers 128, watches 128, events 64, bodies 128, tunnels 192, rows 112, history 16"
        );
    }

    #[test]
    fn memory_budgets_have_fixed_maximums_on_large_machines() {
        let plan = plan(1 << 40);
        assert_eq!(plan.hub, HubMemory::default());
        assert_eq!(plan.tunnels, TunnelMemory::default());
        assert_eq!(
            (plan.rows, plan.history),
            (MAX_ROWS - MAX_HISTORY, MAX_HISTORY)
        );
    }
}
