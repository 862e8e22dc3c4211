//! What the next line of the stream holds.

use bytes::Bytes;
use drover_api::report::{Refusal, Report};
use drover_tunnel::protocol::Version;

/// Composes lines: whole snapshots in protocol 1, changed sections in protocol 2.
#[derive(Debug)]
pub struct Composer {
    protocol: Version,
    said: Report,
}

impl Composer {
    /// A stream that has said nothing yet.
    pub fn new(protocol: Version) -> Self {
        Self {
            protocol,
            said: Report::default(),
        }
    }

    /// The next line: `None` when there is nothing to say and no heartbeat is due.
    ///
    /// `now` holds every section that is known, and the events since the last call.
    pub fn next(&mut self, mut now: Report, refusals: Vec<Refusal>, due: bool) -> Option<Report> {
        let events = std::mem::take(&mut now.events);
        let mut changes = difference(&self.said, &now);
        let quiet = changes == Report::default() && events.is_empty() && refusals.is_empty();
        if quiet && !due {
            return None;
        }
        if self.protocol == Version::V1 {
            changes = now.clone();
        }
        self.said = now;
        changes.events = events;
        changes.refusals = refusals;
        Some(changes)
    }
}

/// The sections of `now` that `said` does not hold.
fn difference(said: &Report, now: &Report) -> Report {
    fn changed<T: Clone + PartialEq>(said: Option<&T>, now: Option<&T>) -> Option<T> {
        now.filter(|now| said != Some(*now)).cloned()
    }
    Report {
        kubernetes_version: changed(
            said.kubernetes_version.as_ref(),
            now.kubernetes_version.as_ref(),
        ),
        cluster_uid: changed(said.cluster_uid.as_ref(), now.cluster_uid.as_ref()),
        nodes: changed(said.nodes.as_ref(), now.nodes.as_ref()),
        components: changed(said.components.as_ref(), now.components.as_ref()),
        agent: changed(said.agent.as_ref(), now.agent.as_ref()),
        access: changed(said.access.as_ref(), now.access.as_ref()),
        projects: changed(said.projects.as_ref(), now.projects.as_ref()),
        refusals: Vec::new(),
        events: Vec::new(),
    }
}

/// One line as it goes on the wire.
pub(super) fn encode(report: &Report) -> Bytes {
    let mut line = serde_json::to_vec(report).expect("a report is maps of text and numbers");
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
    fn protocol_2_says_a_section_when_it_changes_and_beats_when_nothing_does() {
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
    fn protocol_1_says_everything_each_time() {
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
    fn refusals_and_events_are_said_once() {
        for protocol in Version::KNOWN {
            let mut composer = Composer::new(protocol);
            let _ = composer.next(version("1"), vec![], true);
            let line = composer.next(version("1"), vec![refusal()], false).unwrap();
            assert_eq!(line.refusals.len(), 1);
            assert_eq!(composer.next(version("1"), vec![], false), None);
        }
    }
}
