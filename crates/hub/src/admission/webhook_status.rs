//! The state of the admission webhook as a metric and as a line of `/readyz`.

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use drover_telemetry::{Health, Metrics};

/// The number of failed attempts after which `/readyz` reports an unknown state.
const MAX_UNREPORTED_ATTEMPTS: u32 = 3;

/// State of the admission webhook for direct writes to the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookState {
    /// The state is unknown, or this server is not the leader.
    Unknown,
    /// The hub calls the webhook for direct writes.
    InForce,
    /// The webhook is not installed, because the hub cannot connect to the server.
    Missing,
    /// The webhook is installed, but the hub cannot connect to the server. The hub therefore
    /// rejects matching writes.
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

    /// Returns the problem as a text for `/readyz`. The text contains no addresses and no messages
    /// of other programs, because unauthenticated clients can read `/readyz`. An unknown state is a
    /// problem only after several attempts.
    fn check(self, tries: u32) -> Result<(), String> {
        let problem = match self {
            Self::InForce => return Ok(()),
            Self::Unknown if tries < MAX_UNREPORTED_ATTEMPTS => return Ok(()),
            Self::Unknown => {
                "it is unknown whether the hub checks direct writes; see the server's log"
            }
            Self::Missing => {
                "the hub does not check direct writes; see the server's log, and set --hub-webhook to \
                 an address at which the hub reaches the server"
            }
            Self::Unanswered => {
                "the hub does not reach the server and rejects writes that need a check; set \
                 --hub-webhook, or run: kubectl delete validatingwebhookconfiguration drover-rules"
            }
        };
        Err(problem.to_owned())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

/// The current state of the webhook. All clones share one state.
#[derive(Clone, Debug)]
pub struct WebhookStatus {
    now: Arc<Mutex<Current>>,
    gauges: Family<StateLabel, Gauge>,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    standing: WebhookState,
    /// The number of failed attempts since the last state [`WebhookState::InForce`].
    tries: u32,
}

impl WebhookStatus {
    /// Registers the metric `drover_hub_rules` and an informational line of `/readyz`.
    pub fn new(first: WebhookState, metrics: &Metrics, health: &Health) -> Self {
        let gauges = Family::default();
        metrics.register(|registry| {
            let help = "State of the admission rules for direct writes to the hub: 1 for the current state";
            registry.register("hub_rules", help, gauges.clone());
        });
        let standing = Self {
            now: Arc::new(Mutex::new(Current {
                standing: first,
                tries: 0,
            })),
            gauges,
        };
        let noted = standing.clone();
        health.note("rules", move || {
            let Current { standing, tries } = *noted.now.lock();
            standing.check(tries)
        });
        standing.set(first);
        standing
    }

    /// Sets the state. [`WebhookState::InForce`] resets the number of failed attempts.
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
            let gauge = self.gauges.get_or_create(&label);
            gauge.set(i64::from(state == standing));
        }
    }

    /// Counts a failed attempt to install the webhook.
    pub fn record_failed_attempt(&self) {
        let mut now = self.now.lock();
        now.tries = now.tries.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unhealthy_webhook_is_reported_in_metrics_and_readyz_without_failing_readiness() {
        let (metrics, health) = (Metrics::new(), Health::new());
        let standing = WebhookStatus::new(WebhookState::Unknown, &metrics, &health);
        for (now, label, expected) in [
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
            assert!(report.contains(expected), "{now:?}: {report}");
            assert!(report.ends_with("readyz check passed\n"), "{report}");
        }
    }

    #[test]
    fn unknown_webhook_state_is_reported_after_repeated_failures() {
        let (metrics, health) = (Metrics::new(), Health::new());
        let standing = WebhookStatus::new(WebhookState::Unknown, &metrics, &health);
        let report = || health.examine().report("readyz");
        for _ in 1..MAX_UNREPORTED_ATTEMPTS {
            standing.record_failed_attempt();
            assert!(report().contains("[+]rules ok"), "{}", report());
        }
        standing.record_failed_attempt();
        assert!(report().contains("[!]rules: it is unknown"), "{}", report());
        assert!(health.examine().all_passed());
        // [`WebhookState::InForce`] resets the failed attempts.
        standing.set(WebhookState::InForce);
        standing.set(WebhookState::Unknown);
        assert!(report().contains("[+]rules ok"), "{}", report());
    }
}
