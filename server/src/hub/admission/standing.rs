//! How things stand with the rules on the hub, for those who do not read the server's log.

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::telemetry::{Health, Metrics};

/// Whether others' writes to the hub are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is not known yet, or another server sees to it.
    Unknown,
    /// They are.
    InForce,
    /// They are not: the hub was not told to ask, because it would not reach the server.
    Missing,
    /// They may be refused: the hub was told to ask, and does not reach the server any more.
    Unanswered,
}

impl Standing {
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

    /// What is wrong, for anybody to read: neither addresses nor what others said.
    fn check(self) -> Result<(), String> {
        let why = match self {
            Self::Unknown | Self::InForce => return Ok(()),
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
pub struct RulesStanding {
    now: Arc<Mutex<Standing>>,
    shown: Family<StateLabel, Gauge>,
}

impl RulesStanding {
    /// Shown as the metric `drover_hub_rules` and as a line of `/readyz`, which does not fail for it.
    pub fn new(first: Standing, metrics: &Metrics, health: &Health) -> Self {
        let shown = Family::default();
        metrics.register(|registry| {
            let help = "Whether direct writes to the hub are judged: 1 for the present state";
            registry.register("hub_rules", help, shown.clone());
        });
        let standing = Self {
            now: Arc::new(Mutex::new(first)),
            shown,
        };
        let noted = standing.clone();
        health.note("rules", move || noted.now.lock().check());
        standing.set(first);
        standing
    }

    /// From now on it is this.
    pub fn set(&self, standing: Standing) {
        *self.now.lock() = standing;
        for state in Standing::ALL {
            let label = StateLabel {
                state: state.label(),
            };
            let gauge = self.shown.get_or_create(&label);
            gauge.set(i64::from(state == standing));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_are_not_in_force_are_seen_without_reading_logs_and_stop_no_server() {
        let (metrics, health) = (Metrics::new(), Health::new());
        let standing = RulesStanding::new(Standing::Unknown, &metrics, &health);
        for (now, label, said) in [
            (Standing::Unknown, "unknown", "[+]rules ok"),
            (Standing::Missing, "missing", "--hub-webhook"),
            (Standing::Unanswered, "unanswered", "kubectl delete"),
            (Standing::InForce, "in_force", "[+]rules ok"),
        ] {
            standing.set(now);
            let text = metrics.encode().unwrap();
            for state in Standing::ALL {
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
}
