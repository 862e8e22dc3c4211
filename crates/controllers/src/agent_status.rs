//! The reported status of a cluster: the report stream, merged line by line. Pure.
//!
//! An agent may say what it likes, and all of it goes to the hub: so it is cut to what an honest
//! one needs.

mod bound;

use drover_api::drift::Drift;
use drover_api::kinds::ComponentHealth;
use drover_api::report::{AgentReport, EventReport, NodesReport, Refusal, Report};

use self::bound::bounded;

/// Number of owners whose digest is kept; an agent reports fewer.
const MAX_OWNERS: usize = 64;

/// The latest of each section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedStatus {
    /// `gitVersion`.
    pub version: Option<String>,
    /// UID of the cluster's namespace kube-system.
    pub cluster_uid: Option<String>,
    /// Nodes and sums.
    pub nodes: Option<NodesReport>,
    /// Components of the control plane.
    pub components: Option<Vec<ComponentHealth>>,
    /// The agent's own Deployment; `None` also where the agent runs outside of the cluster.
    pub agent: Option<AgentReport>,
    /// Digests of the applied objects, by owner.
    pub drift: Drift,
}

/// What a line brought that is told once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Requests that the agent refused.
    pub refusals: Vec<Refusal>,
    /// Warning events of the cluster.
    pub events: Vec<EventReport>,
}

impl ReportedStatus {
    /// Merges a line of either protocol: a missing section has not changed.
    pub fn merge(&mut self, line: Report) -> News {
        fn newer<T>(present: &mut Option<T>, line: Option<T>) {
            if line.is_some() {
                *present = line;
            }
        }
        let line = bounded(line);
        newer(&mut self.version, line.kubernetes_version);
        newer(&mut self.cluster_uid, line.cluster_uid);
        newer(&mut self.nodes, line.nodes);
        newer(&mut self.components, line.components);
        newer(&mut self.agent, line.agent);
        self.drift.merge(line.drift, MAX_OWNERS);
        News {
            refusals: line.refusals,
            events: line.events,
        }
    }
}

/// Cuts a byte stream into lines of bounded length.
#[derive(Debug, Default)]
pub struct Lines {
    rest: Vec<u8>,
}

/// A line was longer than an agent may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line of the report is longer than {} bytes", Lines::LONGEST)]
pub struct LineTooLong;

impl Lines {
    /// Longest line, in bytes.
    pub const LONGEST: usize = 1024 * 1024;

    /// Adds bytes and takes the whole lines out.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, LineTooLong> {
        let mut lines = Vec::new();
        for (index, part) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if index > 0 {
                lines.push(std::mem::take(&mut self.rest));
            }
            if self.rest.len() + part.len() > Self::LONGEST {
                return Err(LineTooLong);
            }
            self.rest.extend_from_slice(part);
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn version(text: &str) -> Report {
        Report {
            kubernetes_version: Some(text.into()),
            ..Report::default()
        }
    }

    #[test]
    fn a_missing_section_has_not_changed() {
        let mut reported = ReportedStatus::default();
        reported.merge(version("v1"));
        reported.merge(Report {
            components: Some(Vec::new()),
            ..Report::default()
        });
        reported.merge(Report::default());
        assert_eq!(reported.version.as_deref(), Some("v1"));
        assert_eq!(reported.components, Some(Vec::new()));
        reported.merge(version("v2"));
        assert_eq!(reported.version.as_deref(), Some("v2"));
    }

    #[test]
    fn an_endless_line_ends_the_stream() {
        let mut lines = Lines::default();
        let part = vec![b'x'; 64 * 1024];
        let ended = (0..17).find_map(|_| lines.push(&part).err());
        assert_eq!(ended, Some(LineTooLong));
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_are_cut(
            text in "[ab\n]{0,64}",
            cuts in proptest::collection::vec(0..64_usize, 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut lines = Lines::default();
            let mut found = Vec::new();
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= bytes.len()).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            for pair in cuts.windows(2) {
                found.extend(lines.push(&bytes[pair[0]..pair[1]]).unwrap());
            }
            let whole: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
            prop_assert_eq!(found, &whole[..whole.len() - 1]);
        }
    }
}
