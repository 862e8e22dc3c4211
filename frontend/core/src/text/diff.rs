//! The difference of two texts, line by line.

/// A line of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffLine<'a> {
    /// A line that both texts contain.
    Same(&'a str),
    /// A line that only the old text contains.
    Removed(&'a str),
    /// A line that only the new text contains.
    Added(&'a str),
}

/// The maximum size of the comparison table. Larger differences list all old and all new lines.
const MAX_TABLE: usize = 4_000_000;

/// Returns the difference of two texts: a longest common subsequence of lines, and the other lines.
pub fn diff<'a>(old: &'a str, new: &'a str) -> Vec<DiffLine<'a>> {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let equal = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let start = old.iter().zip(&new).take_while(equal).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(equal)
        .count();
    let (old_middle, tail) = old_rest.split_at(old_rest.len() - end);
    let new_middle = &new_rest[..new_rest.len() - end];
    let mut lines: Vec<_> = old[..start]
        .iter()
        .map(|line| DiffLine::Same(line))
        .collect();
    lines.extend(middle(old_middle, new_middle));
    lines.extend(tail.iter().map(|line| DiffLine::Same(line)));
    lines
}

fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    if old.len().saturating_mul(new.len()) > MAX_TABLE {
        let removed = old.iter().map(|line| DiffLine::Removed(line));
        return removed
            .chain(new.iter().map(|line| DiffLine::Added(line)))
            .collect();
    }
    let common = common_lengths(old, new);
    let (mut row, mut column) = (0, 0);
    let mut lines = Vec::new();
    while row < old.len() || column < new.len() {
        if row < old.len() && column < new.len() && old[row] == new[column] {
            lines.push(DiffLine::Same(old[row]));
            (row, column) = (row + 1, column + 1);
        } else if column == new.len()
            || (row < old.len() && common[row + 1][column] >= common[row][column + 1])
        {
            lines.push(DiffLine::Removed(old[row]));
            row += 1;
        } else {
            lines.push(DiffLine::Added(new[column]));
            column += 1;
        }
    }
    lines
}

/// Returns the lengths of the longest common subsequences of all suffixes.
fn common_lengths(old: &[&str], new: &[&str]) -> Vec<Vec<u32>> {
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            common[row][column] = if old[row] == new[column] {
                common[row + 1][column + 1] + 1
            } else {
                common[row + 1][column].max(common[row][column + 1])
            };
        }
    }
    common
}

/// Returns the lines that changed, each with up to `context` unchanged lines before and after.
pub fn with_context<'a>(lines: &[DiffLine<'a>], context: usize) -> Vec<DiffLine<'a>> {
    let is_change = |line: &DiffLine<'_>| !matches!(line, DiffLine::Same(_));
    let kept = lines.iter().enumerate().filter(|(at, _)| {
        let first = at.saturating_sub(context);
        let last = lines.len().min(at + context + 1);
        lines[first..last].iter().any(is_change)
    });
    kept.map(|(_, line)| *line).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::DiffLine::{Added, Removed, Same};
    use super::*;

    #[test]
    fn changed_line_is_removed_and_added_with_its_context() {
        let lines = diff("a\nb\nc\nd\n", "a\nb\nx\nd\n");
        let expected = [Same("a"), Same("b"), Removed("c"), Added("x"), Same("d")];
        assert_eq!(lines, expected);
        assert_eq!(with_context(&lines, 1), expected[1..]);
        assert!(with_context(&diff("a\n", "a\n"), 3).is_empty());
    }

    proptest! {
        #[test]
        fn difference_contains_both_texts(
            old in prop::collection::vec("[abc]", 0..12),
            new in prop::collection::vec("[abc]", 0..12),
        ) {
            let (old_text, new_text) = (old.join("\n"), new.join("\n"));
            let lines = diff(&old_text, &new_text);
            let of_old: Vec<_> = lines.iter().filter_map(|line| match line {
                Same(text) | Removed(text) => Some(*text),
                Added(_) => None,
            }).collect();
            let of_new: Vec<_> = lines.iter().filter_map(|line| match line {
                Same(text) | Added(text) => Some(*text),
                Removed(_) => None,
            }).collect();
            prop_assert_eq!(of_old, old);
            prop_assert_eq!(of_new, new);
        }
    }
}
