//! Pure functions that merge the lines of a cluster's report stream into the reported status.
//!
//! The agent is not trusted, and the hub stores the reported values. The server therefore truncates
//! the values to the maximum size of a valid report.

mod bound;

use drover_api::drift::Drift;
use drover_api::kinds::{ComponentHealth, NodeFacts};
use drover_api::report::{AgentReport, EventReport, NodesReport, Refusal, Report, TunnelNode};

use self::bound::bounded;

/// Maximum number of owners in the drift report. An unmodified agent reports fewer owners.
const MAX_OWNERS: usize = 64;

/// The latest value of each section of the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedStatus {
    /// Name of the node whose node agent sends the reports. `None` for the cluster agent.
    pub node: Option<String>,
    /// `gitVersion` of the API server.
    pub version: Option<String>,
    /// UID of the cluster's namespace kube-system.
    pub cluster_uid: Option<String>,
    /// Number of nodes, and sums of the nodes' resources.
    pub nodes: Option<NodesReport>,
    /// The nodes that are candidates for tunnels of node agents.
    pub tunnel_nodes: Option<Vec<TunnelNode>>,
    /// Facts about nodes: control-plane nodes first, then nodes with problems.
    pub node_facts: Option<Vec<NodeFacts>>,
    /// Health of the control plane's components.
    pub components: Option<Vec<ComponentHealth>>,
    /// The agent's own Deployment. `None` before the first report, and if the agent runs outside of
    /// the cluster.
    pub agent: Option<AgentReport>,
    /// Digests of the applied objects, by owner.
    pub drift: Drift,
}

/// The events of a report line. The server publishes each event once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportEvents {
    /// Requests that the agent rejected.
    pub refusals: Vec<Refusal>,
    /// Warning events of the cluster.
    pub events: Vec<EventReport>,
}

impl ReportedStatus {
    /// Merges a report line of any protocol version. A section that the line lacks keeps its
    /// previous value.
    pub fn merge(&mut self, line: Report) -> ReportEvents {
        fn newer<T>(present: &mut Option<T>, line: Option<T>) {
            if line.is_some() {
                *present = line;
            }
        }
        let line = bounded(line);
        newer(&mut self.version, line.kubernetes_version);
        newer(&mut self.cluster_uid, line.cluster_uid);
        newer(&mut self.nodes, line.nodes);
        newer(&mut self.tunnel_nodes, line.tunnel_nodes);
        newer(&mut self.node_facts, line.node_facts);
        newer(&mut self.components, line.components);
        newer(&mut self.agent, line.agent);
        self.drift.merge(line.drift, MAX_OWNERS);
        ReportEvents {
            refusals: line.refusals,
            events: line.events,
        }
    }
}

/// A parser that splits a byte stream into lines of bounded length.
#[derive(Debug, Default)]
pub struct Lines {
    rest: Vec<u8>,
}

/// A report line exceeded the maximum length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a line of the agent's report is longer than {max_length} bytes",
    max_length = Lines::MAX_LENGTH
)]
pub struct LineTooLong;

impl Lines {
    /// Maximum line length in bytes.
    pub const MAX_LENGTH: usize = 1024 * 1024;

    /// Adds bytes, and returns the complete lines.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, LineTooLong> {
        let mut lines = Vec::new();
        for (index, part) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if index > 0 {
                lines.push(std::mem::take(&mut self.rest));
            }
            if self.rest.len() + part.len() > Self::MAX_LENGTH {
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
    fn section_omitted_from_agent_report_retains_its_previous_value() {
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
    fn report_line_above_the_size_limit_closes_the_stream() {
        let mut lines = Lines::default();
        let part = vec![b'x'; 64 * 1024];
        let ended = (0..17).find_map(|_| lines.push(&part).err());
        assert_eq!(ended, Some(LineTooLong));
    }

    proptest! {
        #[test]
        fn agent_report_lines_are_parsed_independently_of_chunk_boundaries(
            text in "[ab\n]{0,64}",
            cuts in proptest::collection::vec(0..64_usize, 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut lines = Lines::default();
            let mut found = Vec::new();
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|truncate| *truncate <= bytes.len()).collect();
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
