//! A three-way merge of texts, line by line.

use super::diff::{DiffLine, diff};

/// The lines that enclose a conflict, as in git.
const MINE: &str = "<<<<<<< my changes";
const SEPARATOR: &str = "=======";
const THEIRS: &str = ">>>>>>> cluster";

/// The result of a three-way merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The merged text. Conflicts contain both versions between markers.
    pub text: String,
    /// The number of conflicts.
    pub conflicts: usize,
}

/// Merges two changed versions of a base text. Lines that only one version changed are taken from
/// this version.
pub fn merge(base: &str, mine: &str, theirs: &str) -> Merged {
    let lines: Vec<_> = base.lines().collect();
    let (my_places, their_places) = (places(base, mine), places(base, theirs));
    let (mine, theirs): (Vec<_>, Vec<_>) = (mine.lines().collect(), theirs.lines().collect());
    let mut merged = Output::default();
    let (mut of_base, mut of_mine, mut of_theirs) = (0, 0, 0);
    for (at, line) in lines.iter().enumerate() {
        let (Some(my_place), Some(their_place)) = (my_places[at], their_places[at]) else {
            continue;
        };
        merged.chunk(
            &lines[of_base..at],
            &mine[of_mine..my_place],
            &theirs[of_theirs..their_place],
        );
        merged.lines.push(line);
        (of_base, of_mine, of_theirs) = (at + 1, my_place + 1, their_place + 1);
    }
    merged.chunk(&lines[of_base..], &mine[of_mine..], &theirs[of_theirs..]);
    let mut text = merged.lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    Merged {
        text,
        conflicts: merged.conflicts,
    }
}

/// Reports whether a text contains a conflict marker of [`merge`].
pub fn has_conflict(text: &str) -> bool {
    text.lines().any(|line| [MINE, THEIRS].contains(&line))
}

/// Returns the line numbers in `changed` of the unchanged lines of `base`.
fn places(base: &str, changed: &str) -> Vec<Option<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    for line in diff(base, changed) {
        match line {
            DiffLine::Same(_) => {
                places.push(Some(at));
                at += 1;
            }
            DiffLine::Removed(_) => places.push(None),
            DiffLine::Added(_) => at += 1,
        }
    }
    places
}

#[derive(Default)]
struct Output<'a> {
    lines: Vec<&'a str>,
    conflicts: usize,
}

impl<'a> Output<'a> {
    /// Adds the lines between two lines that all texts contain.
    fn chunk(&mut self, base: &[&'a str], mine: &[&'a str], theirs: &[&'a str]) {
        if mine == base {
            self.lines.extend(theirs);
        } else if theirs == base || mine == theirs {
            self.lines.extend(mine);
        } else {
            self.conflicts += 1;
            self.lines.push(MINE);
            self.lines.extend(mine);
            self.lines.push(SEPARATOR);
            self.lines.extend(theirs);
            self.lines.push(THEIRS);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes_of_different_lines_are_merged() {
        let base = "replicas: 1\nimage: a\nversion: \"1\"\n";
        let mine = "replicas: 3\nimage: a\nversion: \"1\"\n";
        let theirs = "replicas: 1\nimage: a\nversion: \"2\"\nextra: x\n";
        let merged = merge(base, mine, theirs);
        let text = "replicas: 3\nimage: a\nversion: \"2\"\nextra: x\n";
        assert_eq!(merged.text, text);
        assert_eq!(merged.conflicts, 0);
    }

    #[test]
    fn different_changes_of_a_line_are_a_conflict() {
        let merged = merge("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n");
        let text = "a\n<<<<<<< my changes\nx\n=======\ny\n>>>>>>> cluster\nc\n";
        assert_eq!(merged.text, text);
        assert_eq!(merged.conflicts, 1);
        assert!(has_conflict(text));
        assert!(!has_conflict("a: \"=======\"\n"));
        assert_eq!(merge("a\n", "b\n", "b\n").conflicts, 0);
    }

    proptest! {
        #[test]
        fn version_without_a_change_does_not_affect_the_merge(
            base in prop::collection::vec("[abc]", 0..10),
            changed in prop::collection::vec("[abc]", 0..10),
        ) {
            let lines = |lines: &[String]| lines.iter().flat_map(|it| [it, "\n"]).collect::<String>();
            let (base, changed) = (lines(&base), lines(&changed));
            let expected = Merged { text: changed.clone(), conflicts: 0 };
            prop_assert_eq!(merge(&base, &changed, &base), expected.clone());
            prop_assert_eq!(merge(&base, &base, &changed), expected);
        }
    }
}
