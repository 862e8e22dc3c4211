//! Names of repositories.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Ending of a repository's folder and of the path segment in URLs.
const ENDING: &str = ".git";
/// Maximum length of a name, in bytes.
const LONGEST: usize = 63;

/// Name of a repository: a DNS label (RFC 1123). A name is safe as a part of a path, because a name
/// contains no dot, no slash and no uppercase letter, and does not begin with `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryName(String);

/// The text is not the name of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the name of a repository has 1 to {LONGEST} lowercase letters, digits and \"-\", and begins and \
     ends with a letter or digit"
)]
pub struct NameError;

impl RepositoryName {
    /// Parses the path segment of a URL, or the name of a folder: `NAME.git`.
    pub fn from_segment(segment: &str) -> Result<Self, NameError> {
        segment.strip_suffix(ENDING).ok_or(NameError)?.parse()
    }

    /// Returns the path segment and the name of the folder: `NAME.git`.
    pub fn segment(&self) -> String {
        format!("{}{ENDING}", self.0)
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RepositoryName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let fits = (1..=LONGEST).contains(&text.len()) && text.bytes().all(inside);
        if fits && !text.starts_with('-') && !text.ends_with('-') {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError)
        }
    }
}

impl fmt::Display for RepositoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_dns_label_with_the_ending_is_a_repository() {
        for segment in ["example.git", "a.git", "0-1.git"] {
            let name = RepositoryName::from_segment(segment).unwrap();
            assert_eq!(name.segment(), segment);
        }
        let long = format!("{}.git", "a".repeat(64));
        for segment in [
            "",
            ".git",
            "..git",
            "...git",
            "..",
            "example",
            "example.git.git",
            "a/b.git",
            "-a.git",
            "a-.git",
            "A.git",
            "a.GIT",
            "a.git/",
            "../a.git",
            "a\0.git",
            "ä.git",
            "a b.git",
            &long,
        ] {
            assert_eq!(
                RepositoryName::from_segment(segment),
                Err(NameError),
                "{segment:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn path_of_a_valid_name_is_one_plain_component(segment in ".*") {
            if let Ok(name) = RepositoryName::from_segment(&segment) {
                let folder = name.segment();
                let mut components = std::path::Path::new(&folder).components();
                let first = components.next();
                prop_assert!(matches!(first, Some(std::path::Component::Normal(_))));
                prop_assert!(components.next().is_none());
            }
        }
    }
}
