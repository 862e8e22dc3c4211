//! Paths in a repository: safe names, and the selection of files by paths and patterns.

use crate::error::{GitError, printable};
use crate::limits::Limits;

/// Checks the name of an entry of a folder. `parent` is the folder's path, for the error.
pub(crate) fn check_name<'a>(parent: &str, name: &'a [u8]) -> Result<&'a str, GitError> {
    let unsafe_name = |reason: &str| GitError::UnsafePath {
        path: printable(&join(parent, &String::from_utf8_lossy(name))),
        reason: reason.to_owned(),
    };
    let Ok(name) = std::str::from_utf8(name) else {
        return Err(unsafe_name("the name is not UTF-8"));
    };
    if name.is_empty() || name == "." || name == ".." {
        return Err(unsafe_name("the name is empty, `.` or `..`"));
    }
    if name.eq_ignore_ascii_case(".git") {
        return Err(unsafe_name("the name `.git` is reserved"));
    }
    if name
        .chars()
        .any(|char| matches!(char, '/' | '\\') || char.is_control())
    {
        return Err(unsafe_name(
            "the name contains a slash, backslash or control character",
        ));
    }
    Ok(name)
}

/// Checks a complete path that a worker has sent.
pub(crate) fn check_path(path: &str, limits: &Limits) -> Result<(), GitError> {
    if path.len() > limits.path_bytes {
        return Err(GitError::limit("bytes of a path", limits.path_bytes as u64));
    }
    path.split('/')
        .try_for_each(|name| check_name("", name.as_bytes()).map(drop))
}

/// Appends a name to a path.
pub(crate) fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        name.to_owned()
    } else {
        format!("{parent}/{name}")
    }
}

/// The files that a request selects.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// The patterns, each as a list of names. An empty list selects all files.
    patterns: Vec<Vec<String>>,
}

/// The result of comparing a path with a [`Selection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selected {
    /// The path and everything below it is selected.
    Yes,
    /// Only paths below the path can be selected.
    Below,
    /// Neither the path nor a path below it is selected.
    No,
}

impl Selection {
    /// Parses the paths of a request. A path names a file or a folder, and can contain `*`, `?` and
    /// `[a-z]`, which match within one name. An empty list selects all files.
    pub(crate) fn parse(paths: &[String], limits: &Limits) -> Result<Self, GitError> {
        if paths.len() > limits.paths {
            return Err(GitError::limit("paths in the request", limits.paths as u64));
        }
        let patterns = paths
            .iter()
            .map(|path| {
                if path.len() > limits.path_bytes {
                    return Err(GitError::limit("bytes of a path", limits.path_bytes as u64));
                }
                let names: Vec<String> = path
                    .split('/')
                    .filter(|name| !name.is_empty() && *name != ".")
                    .map(str::to_owned)
                    .collect();
                if names.iter().any(|name| name == "..") {
                    return Err(GitError::invalid(
                        "path",
                        path,
                        "`..` leaves the repository",
                    ));
                }
                Ok(names)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { patterns })
    }

    /// Compares a path with the selection.
    pub(crate) fn selected(&self, path: &str) -> Selected {
        if self.patterns.is_empty() {
            return Selected::Yes;
        }
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let mut below = false;
        for pattern in &self.patterns {
            let agree = pattern
                .iter()
                .zip(&names)
                .all(|(pattern, name)| matches(pattern.as_bytes(), name.as_bytes()));
            if agree && pattern.len() <= names.len() {
                return Selected::Yes;
            }
            below |= agree;
        }
        if below { Selected::Below } else { Selected::No }
    }
}

/// Compares a name with a pattern of Go's `filepath.Match`. The time is proportional to the product
/// of both lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut position) = (0, 0);
    // The last `*`, and the position in the name at which the text after the `*` starts.
    let mut star: Option<(usize, usize)> = None;
    while position < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, position));
            at += 1;
            continue;
        }
        if let Some(length) = matches_one(&pattern[at..], name[position]) {
            at += length;
            position += 1;
            continue;
        }
        let Some((star_at, star_position)) = star else {
            return false;
        };
        at = star_at + 1;
        position = star_position + 1;
        star = Some((star_at, position));
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Compares one byte with the start of a pattern. Returns the length of the matched start.
fn matches_one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [b'[', ..] => matches_class(pattern, byte),
        [literal, ..] => (*literal == byte).then_some(1),
        [] => None,
    }
}

fn matches_class(pattern: &[u8], byte: u8) -> Option<usize> {
    let mut at = 1;
    let negated = pattern.get(at) == Some(&b'^');
    at += usize::from(negated);
    let mut found = false;
    let mut first = true;
    while first || pattern.get(at) != Some(&b']') {
        first = false;
        let (low, length) = class_byte(pattern.get(at..)?)?;
        at += length;
        let high = if pattern.get(at) == Some(&b'-') {
            let (high, length) = class_byte(pattern.get(at + 1..)?)?;
            at += 1 + length;
            high
        } else {
            low
        };
        found |= (low..=high).contains(&byte);
    }
    (found != negated).then_some(at + 1)
}

fn class_byte(pattern: &[u8]) -> Option<(u8, usize)> {
    match pattern {
        [b'\\', byte, ..] => Some((*byte, 2)),
        [byte, ..] => Some((*byte, 1)),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn selection(paths: &[&str]) -> Selection {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        Selection::parse(&paths, &Limits::default()).unwrap()
    }

    #[test]
    fn paths_select_files_folders_and_patterns() {
        let selection = selection(&["apps/*/prod", "./one.yaml", "lib-[a-c]?/"]);
        for (path, expected) in [
            ("apps", Selected::Below),
            ("apps/web", Selected::Below),
            ("apps/web/prod", Selected::Yes),
            ("apps/web/prod/a/b.yaml", Selected::Yes),
            ("apps/web/test", Selected::No),
            ("one.yaml", Selected::Yes),
            ("two.yaml", Selected::No),
            ("lib-b1/x", Selected::Yes),
            ("lib-d1/x", Selected::No),
            ("lib-b/x", Selected::No),
        ] {
            assert_eq!(selection.selected(path), expected, "{path}");
        }
    }

    #[test]
    fn empty_list_and_root_path_select_all_files() {
        assert_eq!(selection(&[]).selected("a/b"), Selected::Yes);
        assert_eq!(selection(&["/"]).selected("a/b"), Selected::Yes);
        assert_eq!(selection(&["."]).selected(""), Selected::Yes);
    }

    #[test]
    fn path_that_leaves_the_repository_is_rejected() {
        let paths = ["a/../../b".to_owned()];
        assert!(Selection::parse(&paths, &Limits::default()).is_err());
    }

    #[test]
    fn unsafe_names_are_rejected() {
        let names: [&[u8]; 9] = [
            b"", b".", b"..", b".git", b".GIT", b"a/b", b"a\\b", b"a\nb", b"\xff",
        ];
        for name in names {
            assert!(check_name("dir", name).is_err(), "{name:?}");
        }
        assert_eq!(check_name("", b".gitmodules").unwrap(), ".gitmodules");
    }

    proptest! {
        #[test]
        fn literal_pattern_matches_only_the_same_name(one in "[a-z.]{0,6}", two in "[a-z.]{0,6}") {
            prop_assert_eq!(matches(one.as_bytes(), two.as_bytes()), one == two);
        }

        #[test]
        fn any_pattern_ends_without_a_panic(pattern in ".{0,12}", name in ".{0,12}") {
            let _ = matches(pattern.as_bytes(), name.as_bytes());
        }

        #[test]
        fn star_matches_any_middle(start in "[a-z]{0,3}", middle in "[a-z]{0,9}", end in "[a-z]{0,3}") {
            let pattern = format!("{start}*{end}");
            let name = format!("{start}{middle}{end}");
            prop_assert!(matches(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
