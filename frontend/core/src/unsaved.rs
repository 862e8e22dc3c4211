//! Decisions of the guard against the loss of unsaved changes.

/// The state of the guard in the browser's history.
///
/// A browser reports a history step after it changed the URL, and a page cannot prevent the step. The
/// guard therefore undoes the step, asks the user, and repeats the step after the confirmation.
#[derive(Clone, Copy, Debug, Default)]
pub struct HistoryGuard {
    /// The history index of the screen, if the browser reports the index.
    index: Option<i32>,
    /// True if the user confirmed the next history step.
    confirmed: bool,
    /// The history step that the guard undoes.
    undone: Option<i32>,
}

/// A history step of the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryStep {
    /// The history index after the step, if the browser reports the index.
    pub index: Option<i32>,
    /// True if the step stays on the screen, for example if only the query changes.
    pub stays: bool,
    /// True if the screen has unsaved changes.
    pub has_changes: bool,
}

/// The reaction to a history step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryAction {
    /// The router handles the step.
    Pass,
    /// The browser shows the screen again. Hide the step from the router, and ask the user. After the
    /// confirmation, repeat the step of this number of entries.
    Ask(i32),
    /// Hide the step from the router, and move by this number of entries to undo the step. If the
    /// browser refuses the move, call [`HistoryGuard::undo_refused`] and restore the screen.
    Undo(i32),
    /// Hide the step from the router, and restore the screen with a new history entry.
    Restore,
}

impl HistoryGuard {
    /// Creates the guard of a screen with this history index.
    pub fn new(index: Option<i32>) -> Self {
        Self {
            index,
            ..Self::default()
        }
    }

    /// Sets the index after the page has created or replaced a history entry.
    pub fn entry_changed(&mut self, index: Option<i32>) {
        self.index = index;
    }

    /// Records that the user confirmed the next step. `accepted` is false if the browser refused the
    /// step.
    pub fn confirmed(&mut self, accepted: bool) {
        self.confirmed = accepted;
    }

    /// Records that the browser refused to undo a step.
    pub fn undo_refused(&mut self) {
        self.undone = None;
    }

    /// Decides the reaction to a step.
    pub fn step(&mut self, step: HistoryStep) -> HistoryAction {
        let confirmed = std::mem::take(&mut self.confirmed);
        let undone = self.undone.take().filter(|_| step.index == self.index);
        if let Some(undone) = undone {
            return HistoryAction::Ask(undone);
        }
        if confirmed || step.stays || !step.has_changes {
            self.index = step.index;
            return HistoryAction::Pass;
        }
        let distance = step.index.zip(self.index).map(|(to, from)| to - from);
        match distance.filter(|distance| *distance != 0) {
            Some(distance) => {
                self.undone = Some(distance);
                HistoryAction::Undo(-distance)
            }
            None => HistoryAction::Restore,
        }
    }
}

/// A click on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkClick<'a> {
    /// The pressed mouse button. The main button is 0.
    pub button: i16,
    /// True if the user held a modifier key, for example to open a new tab.
    pub modified: bool,
    /// The origin of the page and of the link.
    pub origins: (&'a str, &'a str),
    /// The URL path of the page and of the link.
    pub paths: (&'a str, &'a str),
    /// The attribute `rel` of the link.
    pub rel: &'a str,
    /// The attribute `target` of the link.
    pub target: &'a str,
    /// True if the browser saves the target of the link as a file.
    pub downloads: bool,
}

impl LinkClick<'_> {
    /// Reports whether the click replaces the screen with another screen of the page.
    pub fn leaves_screen(&self) -> bool {
        let external = self.rel.split_ascii_whitespace().any(|it| it == "external");
        self.button == 0
            && !self.modified
            && self.origins.0 == self.origins.1
            && self.paths.0 != self.paths.1
            && !external
            && self.target.is_empty()
            && !self.downloads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(index: i32, has_changes: bool) -> HistoryStep {
        HistoryStep {
            index: Some(index),
            stays: false,
            has_changes,
        }
    }

    #[test]
    fn step_with_unsaved_changes_is_undone_before_the_user_is_asked() {
        for (from, to) in [(3, 2), (3, 4), (5, 1)] {
            let mut guard = HistoryGuard::new(Some(from));
            assert_eq!(guard.step(step(to, true)), HistoryAction::Undo(from - to));
            // The browser reports the undone step as a step back to the screen.
            let asked = guard.step(step(from, true));
            assert_eq!(asked, HistoryAction::Ask(to - from));
        }
    }

    #[test]
    fn confirmed_step_reaches_the_router_once() {
        let mut guard = HistoryGuard::new(Some(3));
        guard.step(step(2, true));
        guard.step(step(3, true));
        guard.confirmed(true);
        assert_eq!(guard.step(step(2, true)), HistoryAction::Pass);
        assert_eq!(guard.step(step(1, true)), HistoryAction::Undo(1));
    }

    #[test]
    fn user_is_asked_again_after_a_cancelled_step() {
        let mut guard = HistoryGuard::new(Some(3));
        for _ in 0..2 {
            assert_eq!(guard.step(step(2, true)), HistoryAction::Undo(1));
            assert_eq!(guard.step(step(3, true)), HistoryAction::Ask(-1));
        }
    }

    #[test]
    fn step_passes_without_changes_or_on_the_same_screen() {
        let mut guard = HistoryGuard::new(Some(3));
        assert_eq!(guard.step(step(2, false)), HistoryAction::Pass);
        let same_screen = HistoryStep {
            stays: true,
            ..step(1, true)
        };
        assert_eq!(guard.step(same_screen), HistoryAction::Pass);
        // The distance starts at the last passed step.
        assert_eq!(guard.step(step(0, true)), HistoryAction::Undo(1));
    }

    #[test]
    fn screen_is_restored_if_the_distance_is_unknown() {
        for (from, to) in [
            (None, Some(2)),
            (Some(2), None),
            (None, None),
            (Some(2), Some(2)),
        ] {
            let unknown = HistoryStep {
                index: to,
                stays: false,
                has_changes: true,
            };
            let mut guard = HistoryGuard::new(from);
            assert_eq!(
                guard.step(unknown),
                HistoryAction::Restore,
                "{from:?} {to:?}"
            );
        }
    }

    #[test]
    fn new_history_entry_is_the_start_of_the_next_step() {
        let mut guard = HistoryGuard::new(Some(3));
        guard.entry_changed(Some(4));
        assert_eq!(guard.step(step(3, true)), HistoryAction::Undo(1));
    }

    #[test]
    fn step_after_a_refused_undo_is_a_new_step() {
        let mut guard = HistoryGuard::new(Some(3));
        guard.step(step(2, true));
        guard.undo_refused();
        assert_eq!(guard.step(step(3, true)), HistoryAction::Restore);
    }

    #[test]
    fn refused_step_needs_a_new_confirmation() {
        let mut guard = HistoryGuard::new(Some(3));
        guard.confirmed(false);
        assert_eq!(guard.step(step(2, true)), HistoryAction::Undo(1));
    }

    #[test]
    fn only_plain_clicks_on_other_screens_leave_the_screen() {
        let plain = LinkClick {
            button: 0,
            modified: false,
            origins: ("https://drover", "https://drover"),
            paths: ("/roles/a", "/roles"),
            rel: "",
            target: "",
            downloads: false,
        };
        assert!(plain.leaves_screen());
        let rel = LinkClick {
            rel: "noopener",
            ..plain
        };
        assert!(rel.leaves_screen());
        for other in [
            LinkClick { button: 1, ..plain },
            LinkClick {
                modified: true,
                ..plain
            },
            LinkClick {
                origins: ("https://drover", "https://other"),
                ..plain
            },
            LinkClick {
                paths: ("/roles", "/roles"),
                ..plain
            },
            LinkClick {
                rel: "noopener external",
                ..plain
            },
            LinkClick {
                target: "_blank",
                ..plain
            },
            LinkClick {
                downloads: true,
                ..plain
            },
        ] {
            assert!(!other.leaves_screen(), "{other:?}");
        }
    }
}
