//! The lines of the report stream.

use bytes::Bytes;
use drover_api::report::{Refusal, Report};
use drover_tunnel::protocol::Version;

/// The composer of the lines of a report stream. In protocol 1, a line contains all sections. In
/// protocol 2, a line contains only changed sections.
#[derive(Debug)]
pub struct Composer {
    protocol: Version,
    sent: Report,
}

impl Composer {
    /// Creates the composer of a new report stream.
    pub fn new(protocol: Version) -> Self {
        Self {
            protocol,
            sent: Report::default(),
        }
    }

    /// Returns the next line. Returns `None` if no section changed and no heartbeat is due. `now`
    /// contains all sections with known values, and the events since the previous call.
    pub fn next(&mut self, mut now: Report, refusals: Vec<Refusal>, due: bool) -> Option<Report> {
        let events = std::mem::take(&mut now.events);
        let mut changes = difference(&self.sent, &now);
        let quiet = changes == Report::default() && events.is_empty() && refusals.is_empty();
        if quiet && !due {
            return None;
        }
        if self.protocol == Version::V1 {
            changes = now.clone();
        }
        self.sent = now;
        changes.events = events;
        changes.refusals = refusals;
        Some(changes)
    }
}

/// Returns the sections of `now` that differ from the sections in `sent`.
fn difference(sent: &Report, now: &Report) -> Report {
    fn changed<T: Clone + PartialEq>(sent: Option<&T>, now: Option<&T>) -> Option<T> {
        now.filter(|now| sent != Some(*now)).cloned()
    }
    Report {
        kubernetes_version: changed(
            sent.kubernetes_version.as_ref(),
            now.kubernetes_version.as_ref(),
        ),
        cluster_uid: changed(sent.cluster_uid.as_ref(), now.cluster_uid.as_ref()),
        nodes: changed(sent.nodes.as_ref(), now.nodes.as_ref()),
        tunnel_nodes: changed(sent.tunnel_nodes.as_ref(), now.tunnel_nodes.as_ref()),
        node_facts: changed(sent.node_facts.as_ref(), now.node_facts.as_ref()),
        components: changed(sent.components.as_ref(), now.components.as_ref()),
        agent: changed(sent.agent.as_ref(), now.agent.as_ref()),
        drift: now.drift.changed_since(&sent.drift),
        refusals: Vec::new(),
        events: Vec::new(),
    }
}

/// Encodes a line as JSON with a final newline.
pub(crate) fn encode(report: &Report) -> Bytes {
    let mut line = serde_json::to_vec(report).expect("a report can be serialized as JSON");
    line.push(b'\n');
    line.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Report {
        Report {
            kubernetes_version: Some(text.to_owned()),
            ..Report::default()
        }
    }

    fn refusal() -> Refusal {
        Refusal {
            lane: "user".into(),
            reason: "NoUser".into(),
            message: "m".into(),
            count: 1,
        }
    }

    #[test]
    fn report_line_of_protocol_2_contains_only_changed_sections() {
        let mut composer = Composer::new(Version::V2);
        assert_eq!(
            composer.next(version("1"), vec![], false),
            Some(version("1"))
        );
        assert_eq!(composer.next(version("1"), vec![], false), None);
        assert_eq!(
            composer.next(version("1"), vec![], true),
            Some(Report::default())
        );
        assert_eq!(
            composer.next(version("2"), vec![], false),
            Some(version("2"))
        );
        assert_eq!(encode(&Report::default()).as_ref(), b"{}\n");
    }

    #[test]
    fn report_line_of_protocol_1_contains_all_sections() {
        let mut composer = Composer::new(Version::V1);
        assert_eq!(
            composer.next(version("1"), vec![], true),
            Some(version("1"))
        );
        assert_eq!(composer.next(version("1"), vec![], false), None);
        assert_eq!(
            composer.next(version("1"), vec![], true),
            Some(version("1"))
        );
    }

    #[test]
    fn each_refusal_and_event_is_sent_to_the_server_only_once() {
        for protocol in Version::KNOWN {
            let mut composer = Composer::new(protocol);
            let _ = composer.next(version("1"), vec![], true);
            let line = composer.next(version("1"), vec![refusal()], false).unwrap();
            assert_eq!(line.refusals.len(), 1);
            assert_eq!(composer.next(version("1"), vec![], false), None);
        }
    }
}
