//! Texts of notes about nodes in lists.

use drover_rows::Note;
use drover_rows::note::{NodeCondition, Taint};

use crate::messages::t;

/// The text of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteText {
    /// The text.
    pub words: String,
    /// The details, shown in a tooltip.
    pub hint: String,
}

impl NoteText {
    /// Returns the text of a note.
    pub fn of(note: &Note) -> Self {
        match note {
            Note::Condition(condition) => Self {
                words: condition_words(condition),
                hint: condition.message.clone().unwrap_or_default(),
            },
            Note::Taint(taint) => Self {
                words: taint_words(taint),
                hint: t().workloads.taint(&taint.key, &taint.effect),
            },
        }
    }
}

fn condition_words(condition: &NodeCondition) -> String {
    match (condition.r#type.as_str(), condition.status.as_str()) {
        ("Ready", "False") => t().workloads.kubelet_not_ready().to_owned(),
        ("Ready", _) => t().workloads.kubelet_silent().to_owned(),
        (kind, _) => kind.to_owned(),
    }
}

fn taint_words(taint: &Taint) -> String {
    let name = taint.key.rsplit('/').next().unwrap_or_default();
    let name = match taint.value.as_deref().filter(|value| !value.is_empty()) {
        Some(value) => format!("{name}={value}"),
        None => name.to_owned(),
    };
    let effect = match taint.effect.as_str() {
        "NoSchedule" => t().workloads.no_schedule(),
        "PreferNoSchedule" => t().workloads.prefer_no_schedule(),
        "NoExecute" => t().workloads.no_execute(),
        other => other,
    };
    format!("{name}: {effect}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_name_the_effect_of_a_condition_or_taint() {
        let condition = |kind: &str, status: &str| {
            Note::Condition(NodeCondition {
                r#type: kind.to_owned(),
                status: status.to_owned(),
                message: None,
            })
        };
        let taint = |key: &str, value: Option<&str>, effect: &str| {
            Note::Taint(Taint {
                key: key.to_owned(),
                value: value.map(str::to_owned),
                effect: effect.to_owned(),
            })
        };
        for (note, words) in [
            (condition("MemoryPressure", "True"), "MemoryPressure"),
            (condition("Ready", "Unknown"), "kubelet does not report"),
            (
                taint("node-role.kubernetes.io/control-plane", None, "NoSchedule"),
                "control-plane: no new pods",
            ),
            (
                taint("gpu", Some("a100"), "NoExecute"),
                "gpu=a100: evicts pods",
            ),
        ] {
            assert_eq!(NoteText::of(&note).words, words);
        }
    }
}
