//! Divides the memory of this process among the parts that clients, clusters and watches can fill.
//!
//! All such limits are defined here. Each part grows with data that others send or do not read. The
//! rest of the process (program, stores, SQLite, TLS) has no such limit and gets six sixteenths.

use std::fmt;

use drover_agent_gateway::tunnels::TunnelMemory;
use drover_apiserver::server::{ByteLimit, MemoryBounds};
use drover_hub::embedded::HubMemory;
use drover_tunnel::Limits;
use drover_tunnel::memory::MemoryLimit;

/// Sixteenths of the limit for each part.
const ANSWERS: u64 = 2;
const WATCHES: u64 = 2;
const EVENTS: u64 = 1;
const BODIES: u64 = 2;
const TUNNELS: u64 = 3;
/// Divisor of a part's limit for one caller or one tunnel.
const SHARE_OF_ONE: usize = 4;

/// The memory limit of each part of the process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// The divided limit.
    pub limit: MemoryLimit,
    /// The embedded hub.
    pub hub: HubMemory,
    /// Bytes from clusters that clients have not read, on all tunnels and on one.
    pub tunnels: TunnelMemory,
}

impl MemoryPlan {
    /// Divides a limit.
    pub fn of(limit: MemoryLimit) -> Self {
        let most = MemoryBounds::default();
        let part = |sixteenths, most: ByteLimit| {
            let of_all = limit.share(sixteenths, most.of_all);
            ByteLimit {
                of_caller: (of_all / SHARE_OF_ONE).min(most.of_caller),
                of_all,
            }
        };
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
        }
    }

    /// Sum of all parts.
    pub fn divided(&self) -> usize {
        let MemoryBounds {
            answers,
            watches,
            bodies,
        } = self.hub.requests;
        let parts = [answers.of_all, watches.of_all, bodies.of_all];
        parts.iter().sum::<usize>() + self.hub.events + self.tunnels.all
    }
}

/// In MiB, for the log.
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
            "{} MiB ({}): answers {}, watches {}, events {}, bodies {}, tunnels {}",
            self.limit.bytes >> 20,
            self.limit.source,
            mib(answers.of_all),
            mib(watches.of_all),
            mib(self.hub.events),
            mib(bodies.of_all),
            mib(self.tunnels.all),
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
    fn memory_budget_parts_fit_into_every_limit() {
        for mib in [64_u64, 128, 256, 512, 1024, 2048, 4096, 65_536] {
            let plan = plan(mib << 20);
            let divided = u64::try_from(plan.divided()).unwrap();
            assert!(divided <= (mib << 20) / 16 * 10, "{plan}");
            assert!(plan.tunnels.one <= plan.tunnels.all);
            let answers = plan.hub.requests.answers;
            assert!(answers.of_caller > 0 && answers.of_caller <= answers.of_all);
        }
    }

    #[test]
    fn chart_default_of_one_gib_is_divided_as_documented() {
        let told = plan(1 << 30).to_string();
        assert_eq!(
            told,
            "1024 MiB (setting): answers 128, watches 128, events 64, bodies 128, tunnels 192"
        );
    }

    #[test]
    fn large_machines_keep_the_fixed_upper_bounds() {
        let plan = plan(1 << 40);
        assert_eq!(plan.hub, HubMemory::default());
        assert_eq!(plan.tunnels, TunnelMemory::default());
    }
}
