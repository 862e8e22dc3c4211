//! The keys of lists, as in k9s. The handler, the dialog and docs/web-ui.md use the same table.

use crate::messages::t;

/// An action of a key in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKey {
    /// Focuses the next row.
    Down,
    /// Focuses the previous row.
    Up,
    /// Focuses the first row.
    First,
    /// Focuses the last row.
    Last,
    /// Opens the object.
    Open,
    /// Focuses the text filter.
    Filter,
    /// Selects or deselects the object.
    Select,
    /// Deselects all objects.
    Clear,
    /// Opens the overview of the object.
    Describe,
    /// Opens the manifest of the object.
    Yaml,
    /// Opens the logs of the object.
    Logs,
    /// Opens a terminal in the object.
    Shell,
    /// Opens the editor for the manifest of the object.
    Edit,
    /// Deletes the selected objects, or the object of the row.
    Delete,
    /// Restarts the selected workloads, or the workload of the row.
    Restart,
    /// Opens the command palette.
    Palette,
    /// Shows all keys.
    Help,
}

/// A key, with or without Ctrl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// The value of `KeyboardEvent.key`.
    key: &'static str,
    ctrl: bool,
}

impl Stroke {
    const fn of(key: &'static str) -> Self {
        Self { key, ctrl: false }
    }

    const fn ctrl(key: &'static str) -> Self {
        Self { key, ctrl: true }
    }

    /// Returns the label of the key.
    pub fn words(self) -> String {
        let key = match self.key {
            "ArrowDown" => "↓".to_owned(),
            "ArrowUp" => "↑".to_owned(),
            " " => t().keys.space().to_owned(),
            "Escape" => "Esc".to_owned(),
            key if self.ctrl => key.to_uppercase(),
            key => key.to_owned(),
        };
        if self.ctrl {
            format!("Ctrl+{key}")
        } else {
            key
        }
    }

    /// Reports whether the key is a single character. Users of speech control can press such keys
    /// by mistake, so they can be turned off (WCAG 2.1.4).
    fn is_single(self) -> bool {
        !self.ctrl && self.key.chars().count() == 1
    }
}

impl ListKey {
    /// All actions with their keys, in the order of the dialog.
    pub const ALL: &'static [(Self, &'static [Stroke])] = &[
        (Self::Down, &[Stroke::of("j"), Stroke::of("ArrowDown")]),
        (Self::Up, &[Stroke::of("k"), Stroke::of("ArrowUp")]),
        (Self::First, &[Stroke::of("g")]),
        (Self::Last, &[Stroke::of("G")]),
        (Self::Open, &[Stroke::of("Enter")]),
        (Self::Filter, &[Stroke::of("/")]),
        (Self::Select, &[Stroke::of(" ")]),
        (Self::Clear, &[Stroke::of("Escape")]),
        (Self::Describe, &[Stroke::of("d")]),
        (Self::Yaml, &[Stroke::of("y")]),
        (Self::Logs, &[Stroke::of("l")]),
        (Self::Shell, &[Stroke::of("s")]),
        (Self::Edit, &[Stroke::of("e")]),
        (Self::Delete, &[Stroke::ctrl("d")]),
        (Self::Restart, &[Stroke::of("r")]),
        (Self::Palette, &[Stroke::of(":")]),
        (Self::Help, &[Stroke::of("?")]),
    ];

    /// Returns the action of a key. `with_single` is false if the user has turned off keys with a
    /// single character.
    pub fn of(key: &str, ctrl: bool, with_single: bool) -> Option<Self> {
        let is_pressed = |stroke: &Stroke| {
            stroke.key == key && stroke.ctrl == ctrl && (with_single || !stroke.is_single())
        };
        let mut bindings = Self::ALL.iter();
        let (action, _) = bindings.find(|(_, strokes)| strokes.iter().any(is_pressed))?;
        Some(*action)
    }

    /// Returns the description of the action.
    pub fn words(self) -> &'static str {
        match self {
            Self::Down => t().keys.down(),
            Self::Up => t().keys.up(),
            Self::First => t().keys.first(),
            Self::Last => t().keys.last(),
            Self::Open => t().keys.open(),
            Self::Filter => t().keys.filter(),
            Self::Select => t().keys.select(),
            Self::Clear => t().keys.clear(),
            Self::Describe => t().keys.describe(),
            Self::Yaml => t().keys.yaml(),
            Self::Logs => t().keys.logs(),
            Self::Shell => t().keys.shell(),
            Self::Edit => t().keys.edit(),
            Self::Delete => t().keys.delete(),
            Self::Restart => t().keys.restart(),
            Self::Palette => t().keys.palette(),
            Self::Help => t().keys.help(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_one_action() {
        let mut strokes: Vec<_> = ListKey::ALL
            .iter()
            .flat_map(|(_, strokes)| *strokes)
            .collect();
        let count = strokes.len();
        strokes.sort_by_key(|stroke| (stroke.key, stroke.ctrl));
        strokes.dedup();
        assert_eq!(strokes.len(), count);
        assert_eq!(ListKey::of("j", false, true), Some(ListKey::Down));
        assert_eq!(ListKey::of("d", true, true), Some(ListKey::Delete));
        assert_eq!(
            ListKey::of("r", true, true),
            None,
            "Ctrl+R reloads the page"
        );
    }

    #[test]
    fn without_single_keys_only_special_keys_and_keys_with_ctrl_act() {
        for (action, strokes) in ListKey::ALL {
            for stroke in *strokes {
                let found = ListKey::of(stroke.key, stroke.ctrl, false);
                let is_special = stroke.ctrl || stroke.key.len() > 1;
                assert_eq!(found, is_special.then_some(*action), "{stroke:?}");
            }
        }
    }

    #[test]
    fn documentation_lists_each_key() {
        let text = include_str!("../../../docs/web-ui.md");
        for (action, strokes) in ListKey::ALL {
            let keys: Vec<_> = strokes
                .iter()
                .map(|it| format!("`{}`", it.words()))
                .collect();
            let line = format!("| {} | {} |", keys.join(", "), action.words());
            assert!(
                text.contains(&line),
                "docs/web-ui.md does not contain: {line}"
            );
        }
    }
}
