//! A patch that removes one defence and names the test that must fail.
//!
//! ```text
//! Group: 2
//! Defence: a caller's Impersonate-User header is removed
//! Package: drover-access
//! Target: lib
//! Test: headers::tests::callers_impersonation_is_removed
//!
//! --- a/crates/access/src/headers.rs
//! +++ b/crates/access/src/headers.rs
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::suite::{Suite, Target};

/// An error in a patch file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatchError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    /// A header line is missing.
    #[error("cannot parse {name}: the line `{field}: …` is missing above the patch")]
    Missing { name: String, field: &'static str },
    /// A header line has an invalid value.
    #[error(
        "cannot parse {name}: unknown `Target: {value}`; write `lib`, or the name of an \
         integration test such as `it`"
    )]
    Target { name: String, value: String },
}

/// A patch of `e2e/weaken`.
#[derive(Debug)]
pub(crate) struct Patch {
    /// Name of the patch file.
    pub(crate) name: String,
    /// Content of the patch file. git ignores all lines before the first line that starts with
    /// `---`.
    pub(crate) text: String,
    /// The attack groups of docs/security.md that the defence prevents.
    pub(crate) group: String,
    /// Description of the removed defence.
    pub(crate) defence: String,
    /// The test binary that contains the test.
    pub(crate) suite: Suite,
    /// Name of the test that must fail.
    pub(crate) test: String,
    /// Name of a second test that must fail, because it also depends on the defence.
    pub(crate) also: Option<String>,
}

impl Patch {
    pub(crate) fn read(path: &Path) -> Result<Self, PatchError> {
        let text = fs::read_to_string(path).map_err(|source| PatchError::Read {
            path: path.to_owned(),
            source,
        })?;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Self::parse(name, text)
    }

    pub(super) fn parse(name: String, text: String) -> Result<Self, PatchError> {
        let field = |field: &'static str| {
            let head = text.lines().take_while(|line| !line.starts_with("--- "));
            head.filter_map(|line| line.split_once(": "))
                .find(|(key, _)| *key == field)
                .map(|(_, value)| value.trim().to_owned())
                .ok_or_else(|| PatchError::Missing {
                    name: name.clone(),
                    field,
                })
        };
        let target = field("Target")?;
        let target = Target::parse(&target).ok_or_else(|| PatchError::Target {
            name: name.clone(),
            value: target,
        })?;
        Ok(Self {
            group: field("Group")?,
            defence: field("Defence")?,
            suite: Suite {
                package: field("Package")?,
                module: field("Module").ok(),
                target,
            },
            test: field("Test")?,
            also: field("Also").ok(),
            name,
            text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Group: 2, 3\nDefence: a name: it is checked\nPackage: drover-access\n\
                        Target: lib\nTest: names::tests::x\n\n--- a/x\n+++ b/x\nTest: other\n";

    #[test]
    fn patch_header_ends_before_the_diff() {
        let patch = Patch::parse("x.patch".to_owned(), HEAD.to_owned()).unwrap();
        assert_eq!(patch.group, "2, 3");
        assert_eq!(patch.defence, "a name: it is checked");
        assert_eq!(patch.test, "names::tests::x");
        assert_eq!(patch.suite.target, Target::Library);
    }

    #[test]
    fn missing_patch_header_line_returns_an_error() {
        let text = HEAD.replace("Test: names", "Tset: names");
        let error = Patch::parse("x.patch".to_owned(), text).unwrap_err();
        assert!(error.to_string().contains("`Test: …`"), "{error}");
    }
}
