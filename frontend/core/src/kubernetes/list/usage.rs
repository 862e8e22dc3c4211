//! Texts of the usage of CPU and memory in lists.

use std::collections::{BTreeMap, BTreeSet};

use drover_rows::Row;
use drover_rows::protocol::{ListProblem, SourceStatus};
use drover_rows::usage::Resource;

use crate::kind::Kind;
use crate::messages::t;
use crate::problem::sentence;
use crate::quantity::{bytes, cores};

/// The usage of a resource in a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageText {
    /// The amount: `0.25` or `512 MiB`.
    pub amount: String,
    /// The percentage of the requested or allocatable amount, which can exceed 100.
    pub percent: Option<String>,
}

impl UsageText {
    /// Returns the length of the text.
    pub fn letters(&self) -> usize {
        let percent = self.percent.as_ref();
        let percent = percent.map_or(0, |percent| percent.chars().count() + 1);
        self.amount.chars().count() + percent
    }
}

/// Returns the text of a row's usage. Returns `None` if the cluster has no metrics of the object.
pub fn usage_text(row: &Row, resource: Resource) -> Option<UsageText> {
    let used = row.usage?.of(resource);
    let share = row.usage_share(resource);
    Some(UsageText {
        amount: amount_text(used, resource),
        percent: share.map(|share| format!("{:.0} %", share * 100.0)),
    })
}

/// Formats millicores of CPU, or bytes of memory.
#[expect(
    clippy::cast_precision_loss,
    reason = "amounts above 2^53 are not plausible"
)]
pub(super) fn amount_text(amount: u64, resource: Resource) -> String {
    let amount = amount as f64;
    match resource {
        Resource::Cpu => cores(amount / 1000.0),
        Resource::Memory => bytes(amount),
    }
}

/// The number of clusters that a note names.
const NAMED: usize = 3;

/// Returns the note about clusters without usage: the program to install, or the missing permission.
/// A note has one sentence per cause.
pub fn usage_note(kind: Kind, sources: &[SourceStatus]) -> Option<String> {
    let mut causes = BTreeMap::<u16, (&ListProblem, BTreeSet<&str>)>::new();
    for source in sources {
        if let Some(problem) = &source.usage {
            let (_, clusters) = causes
                .entry(problem.code)
                .or_insert((problem, BTreeSet::new()));
            clusters.insert(&source.cluster);
        }
    }
    let sentence = |(problem, clusters): (&ListProblem, BTreeSet<&str>)| {
        let clusters = named(&clusters);
        match problem.code {
            404 => t().kinds.usage_not_installed(&clusters),
            403 => t().kinds.usage_forbidden(kind.plural, &clusters),
            _ => t()
                .kinds
                .usage_failed(&clusters, &sentence(problem.message.clone())),
        }
    };
    let notes: Vec<String> = causes.into_values().map(sentence).collect();
    (!notes.is_empty()).then(|| notes.join(" "))
}

/// Returns the names of the first clusters, and the number of the other clusters.
pub(super) fn named(clusters: &BTreeSet<&str>) -> String {
    let names: Vec<&str> = clusters.iter().copied().take(NAMED).collect();
    match clusters.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        others => t().kinds.and_others(&names.join(", "), others),
    }
}

#[cfg(test)]
mod tests {
    use drover_rows::row::RowContent;
    use drover_rows::{Amounts, Columns};
    use jiff::Timestamp;

    use super::*;
    use drover_rows::protocol::SourceState;

    #[test]
    fn usage_shows_the_amount_and_the_share_of_the_request() {
        let content = RowContent {
            reserved: Amounts {
                cpu: 100,
                memory: 0,
            },
            ..RowContent::default()
        };
        let columns = Columns::from([]);
        let mut row = Row::new("a".into(), columns, content, Timestamp::UNIX_EPOCH);
        assert_eq!(usage_text(&row, Resource::Cpu), None);
        row.usage = Some(Amounts {
            cpu: 680,
            memory: 512 << 20,
        });
        let cpu = usage_text(&row, Resource::Cpu).unwrap();
        assert_eq!(
            (cpu.amount.as_str(), cpu.percent.as_deref()),
            ("0.68", Some("680 %"))
        );
        let memory = usage_text(&row, Resource::Memory).unwrap();
        assert_eq!(
            (memory.amount.as_str(), memory.percent),
            ("512 MiB", None),
            "a pod without a request"
        );
    }

    #[test]
    fn note_about_missing_usage_names_the_program_or_the_permission() {
        let source = |cluster: &str, code: Option<u16>| SourceStatus {
            cluster: cluster.to_owned(),
            namespace: String::new(),
            state: SourceState::Live,
            rows: 1,
            truncated: false,
            usage: code.map(|code| ListProblem {
                code,
                ..ListProblem::default()
            }),
        };
        let note = |sources: &[SourceStatus]| usage_note(Kind::PODS, sources);
        assert_eq!(note(&[source("a", None)]), None);
        let text = note(&[source("b", Some(404)), source("a", Some(404))]).unwrap();
        assert!(
            text.contains("metrics-server") && text.contains("a, b"),
            "{text}"
        );
        let text = note(&[source("a", None), source("b", Some(403))]).unwrap();
        assert!(text.contains("pods.metrics.k8s.io"), "{text}");
        let text = note(&[source("a", Some(404)), source("b", Some(403))]).unwrap();
        assert!(
            text.contains("in b. Requires") && text.contains("in a. Install"),
            "{text}"
        );
        let many = ["a", "b", "c", "d", "e"].map(|cluster| source(cluster, Some(404)));
        let text = note(&many).unwrap();
        assert!(text.contains("a, b, c and 2 more"), "{text}");
    }
}
