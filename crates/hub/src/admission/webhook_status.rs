//! How things stand with the rules on the hub, for those who do not read the server's log.

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use drover_telemetry::{Health, Metrics};

/// How often it may be tried in vain to find out how things stand before somebody should know.
const TRIES: u32 = 3;

/// Whether others' writes to the hub are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookState {
    /// It is not known, yet or any more, or another server sees to it.
    Unknown,
    /// They are.
    InForce,
    /// They are not: the hub was not told to ask, because it would not reach the server.
    Missing,
    /// They may be refused: the hub was told to ask, and does not reach the server any more.
    Unanswered,
}

impl WebhookState {
    const ALL: [Self; 4] = [
        Self::Unknown,
        Self::InForce,
        Self::Missing,
        Self::Unanswered,
    ];

    const fn label(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::InForce => "in_force",
            Self::Missing => "missing",
            Self::Unanswered => "unanswered",
        }
    }

    /// What is wrong, for anybody to read: neither addresses nor what others said. That nothing
    /// is known is wrong after some tries.
    fn check(self, tries: u32) -> Result<(), String> {
        let why = match self {
            Self::InForce => return Ok(()),
            Self::Unknown if tries < TRIES => return Ok(()),
            Self::Unknown => {
                "nobody knows whether somebody who writes to the hub directly is judged; the \
                 server's log says why"
            }
            Self::Missing => {
                "whoever writes to the hub directly is not judged; the server's log says why, and \
                 --hub-webhook names an address at which the hub reaches the server"
            }
            Self::Unanswered => {
                "the hub does not reach the server, and refuses what it would ask about; name an \
                 address with --hub-webhook, or: kubectl delete validatingwebhookconfiguration \
                 drover-rules"
            }
        };
        Err(why.to_owned())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

/// The standing at present; clones share it.
#[derive(Clone, Debug)]
pub struct WebhookStatus {
    now: Arc<Mutex<Now>>,
    shown: Family<StateLabel, Gauge>,
}

#[derive(Clone, Copy, Debug)]
struct Now {
    standing: WebhookState,
    /// How often it was tried in vain to put the rules into force since they last were.
    tries: u32,
}

impl WebhookStatus {
    /// Shown as the metric `drover_hub_rules` and as a line of `/readyz`, which does not fail for it.
    pub fn new(first: WebhookState, metrics: &Metrics, health: &Health) -> Self {
        let shown = Family::default();
        metrics.register(|registry| {
            let help = "Whether direct writes to the hub are judged: 1 for the present state";
            registry.register("hub_rules", help, shown.clone());
        });
        let standing = Self {
            now: Arc::new(Mutex::new(Now {
                standing: first,
                tries: 0,
            })),
            shown,
        };
        let noted = standing.clone();
        health.note("rules", move || {
            let Now { standing, tries } = *noted.now.lock();
            standing.check(tries)
        });
        standing.set(first);
        standing
    }

    /// From now on it is this.
    pub fn set(&self, standing: WebhookState) {
        {
            let mut now = self.now.lock();
            now.standing = standing;
            if standing == WebhookState::InForce {
                now.tries = 0;
            }
        }
        for state in WebhookState::ALL {
            let label = StateLabel {
                state: state.label(),
            };
            let gauge = self.shown.get_or_create(&label);
            gauge.set(i64::from(state == standing));
        }
    }

    /// It was tried in vain to put the rules into force.
    pub fn record_failed_attempt(&self) {
        let mut now = self.now.lock();
        now.tries = now.tries.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_are_not_in_force_are_seen_without_reading_logs_and_stop_no_server() {
        let (metrics, health) = (Metrics::new(), Health::new());
        let standing = WebhookStatus::new(WebhookState::Unknown, &metrics, &health);
        for (now, label, said) in [
            (WebhookState::Unknown, "unknown", "[+]rules ok"),
            (WebhookState::Missing, "missing", "--hub-webhook"),
            (WebhookState::Unanswered, "unanswered", "kubectl delete"),
            (WebhookState::InForce, "in_force", "[+]rules ok"),
        ] {
            standing.set(now);
            let text = metrics.encode().unwrap();
            for state in WebhookState::ALL {
                let value = u8::from(state == now);
                let line = format!("drover_hub_rules{{state=\"{}\"}} {value}\n", state.label());
                assert!(text.contains(&line), "{now:?}: {line}\n{text}");
            }
            assert_eq!(now.label(), label);
            let findings = health.examine();
            assert!(findings.all_passed(), "{now:?}");
            let report = findings.report("readyz");
            assert!(report.contains(said), "{now:?}: {report}");
            assert!(report.ends_with("readyz check passed\n"), "{report}");
        }
    }

    #[test]
    fn a_standing_that_nobody_can_find_out_is_noted_after_some_tries() {
        let (metrics, health) = (Metrics::new(), Health::new());
        let standing = WebhookStatus::new(WebhookState::Unknown, &metrics, &health);
        let said = || health.examine().report("readyz");
        for _ in 1..TRIES {
            standing.record_failed_attempt();
            assert!(said().contains("[+]rules ok"), "{}", said());
        }
        standing.record_failed_attempt();
        assert!(said().contains("[!]rules: nobody knows"), "{}", said());
        assert!(health.examine().all_passed());
        // What was tried before the rules were in force is past.
        standing.set(WebhookState::InForce);
        standing.set(WebhookState::Unknown);
        assert!(said().contains("[+]rules ok"), "{}", said());
    }
}
