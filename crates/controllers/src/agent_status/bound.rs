//! Reports cut to size. Pure.

use std::collections::BTreeMap;

use drover_api::drift::Drift;
use drover_api::kinds::ComponentHealth;
use drover_api::report::{EventReport, MAX_NOT_READY, NodesReport, Refusal, Report};

/// Entries of one list or map.
const MOST: usize = 64;
/// Characters of one text.
const LONGEST: usize = 256;
/// Characters of an image: a Cluster may name one of 512, and what runs is compared with it.
const LONGEST_IMAGE: usize = 1024;

/// Characters of a digest.
const LONGEST_DIGEST: usize = 64;

/// A report without what no honest agent sends.
pub(super) fn bounded(mut line: Report) -> Report {
    let text = |text: String| cut(&text, LONGEST);
    if let Some(agent) = &mut line.agent {
        agent.image = cut(&agent.image, LONGEST_IMAGE);
    }
    Report {
        kubernetes_version: line.kubernetes_version.map(text),
        cluster_uid: line.cluster_uid.map(text),
        nodes: line.nodes.as_ref().map(nodes),
        components: line.components.map(components),
        agent: line.agent,
        drift: drift(&line.drift),
        refusals: line.refusals.iter().take(MOST).map(refusal).collect(),
        events: line.events.iter().take(MOST).map(event).collect(),
    }
}

/// The first characters of a text, without those that steer terminals and break lines.
fn cut(text: &str, most: usize) -> String {
    text.chars()
        .filter(|character| !character.is_control())
        .take(most)
        .collect()
}

fn nodes(nodes: &NodesReport) -> NodesReport {
    NodesReport {
        count: nodes.count,
        not_ready: names(&nodes.not_ready),
        pods: nodes.pods,
        capacity: amounts(&nodes.capacity),
        allocatable: amounts(&nodes.allocatable),
        requests: amounts(&nodes.requests),
        usage: amounts(&nodes.usage),
    }
}

fn names(names: &[String]) -> Vec<String> {
    let bounded = names.iter().take(MAX_NOT_READY);
    bounded.map(|name| cut(name, LONGEST)).collect()
}

fn amounts(amounts: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let bounded = amounts.iter().take(MOST);
    bounded
        .map(|(name, amount)| (cut(name, LONGEST), cut(amount, LONGEST)))
        .collect()
}

fn drift(drift: &Drift) -> Drift {
    let bounded = drift.iter().take(MOST);
    bounded
        .map(|(owner, digest)| (cut(owner, LONGEST), cut(digest, LONGEST_DIGEST)))
        .collect()
}

/// What fails is never what is left out.
fn components(components: Vec<ComponentHealth>) -> Vec<ComponentHealth> {
    let failing = components
        .iter()
        .filter(|component| !component.healthy)
        .count();
    let mut healthy = MOST.saturating_sub(failing);
    let chosen = components.into_iter().filter(|component| {
        let room = !component.healthy || healthy > 0;
        healthy = healthy.saturating_sub(usize::from(component.healthy));
        room
    });
    chosen
        .take(MOST)
        .map(|component| ComponentHealth {
            name: cut(&component.name, LONGEST),
            healthy: component.healthy,
            message: component.message.map(|message| cut(&message, LONGEST)),
        })
        .collect()
}

fn refusal(refusal: &Refusal) -> Refusal {
    Refusal {
        lane: cut(&refusal.lane, LONGEST),
        reason: cut(&refusal.reason, LONGEST),
        message: cut(&refusal.message, LONGEST),
        count: refusal.count,
    }
}

fn event(event: &EventReport) -> EventReport {
    EventReport {
        regarding: cut(&event.regarding, LONGEST),
        reason: cut(&event.reason, LONGEST),
        message: cut(&event.message, LONGEST),
        last_seen: event.last_seen,
        count: event.count,
    }
}

#[cfg(test)]
mod tests {
    use drover_api::report::AgentReport;

    use super::*;

    #[test]
    fn whatever_an_agent_says_fits_into_a_cluster() {
        let text = |repeats| "\u{1b}[31mx\n".repeat(repeats);
        let long = || text(100_000);
        // A list multiplies the memory of its texts: 1,000 entries of 6 KB are 6 MB.
        let entry = || text(1000);
        let entries = || (0..1000).map(|n| (format!("{n}{}", entry()), entry()));
        let component = |healthy| ComponentHealth {
            name: entry(),
            healthy,
            message: Some(entry()),
        };
        let refusal = Refusal {
            lane: entry(),
            reason: entry(),
            message: entry(),
            count: 1,
        };
        let said = Report {
            kubernetes_version: Some(long()),
            nodes: Some(NodesReport {
                capacity: entries().collect(),
                not_ready: vec![entry(); 1000],
                ..NodesReport::default()
            }),
            components: Some(vec![component(true); 100]),
            agent: Some(AgentReport {
                image: long(),
                ..AgentReport::default()
            }),
            drift: entries().collect(),
            refusals: vec![refusal; 100],
            ..Report::default()
        };
        let kept = serde_json::to_string(&bounded(said)).unwrap();
        assert!(kept.len() < 150_000, "{}", kept.len());
        assert!(!kept.contains("\\u001b") && !kept.contains("\\n"));
    }

    #[test]
    fn a_component_that_fails_is_not_hidden_behind_many_that_do_not() {
        let component = |name: String, healthy| ComponentHealth {
            name,
            healthy,
            message: None,
        };
        let mut all: Vec<_> = (0..1000).map(|n| component(n.to_string(), true)).collect();
        all.push(component("etcd".to_owned(), false));
        let kept = components(all);
        assert_eq!(kept.len(), MOST);
        assert!(kept.iter().any(|component| !component.healthy));
        assert_eq!(kept[0].name, "0");
    }
}
