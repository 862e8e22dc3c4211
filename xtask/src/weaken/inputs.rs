//! Finds the files on which the result of a patch mainly depends: the patch, the patched files and
//! the file of the named test.

use std::collections::BTreeSet;

use super::patch::Patch;
use super::suite::Target;

/// The files of the repository, and the folders of its packages.
pub(super) struct Sources<'a> {
    files: &'a BTreeSet<String>,
    /// The names and folders of packages.
    packages: Vec<(String, String)>,
}

impl<'a> Sources<'a> {
    /// `read` returns the content of a file in `files`.
    pub(super) fn new(files: &'a BTreeSet<String>, read: impl Fn(&str) -> String) -> Self {
        let packages = files
            .iter()
            .filter_map(|file| {
                let folder = file.strip_suffix("/Cargo.toml")?;
                let name = read(file)
                    .lines()
                    .find_map(|line| line.strip_prefix("name = "))?
                    .trim_matches('"')
                    .to_owned();
                Some((name, folder.to_owned()))
            })
            .collect();
        Self { files, packages }
    }

    /// Returns the paths of a patch's inputs.
    pub(super) fn inputs(&self, patch: &Patch) -> BTreeSet<String> {
        let mut inputs = patched(&patch.text);
        inputs.insert(format!("e2e/weaken/{}", patch.name));
        inputs.extend(self.test_file(patch));
        inputs
    }

    /// Returns the file of the named test. A test in the module `a::tests` is in the file `a/tests.rs`,
    /// or in the file of its nearest parent module.
    fn test_file(&self, patch: &Patch) -> Option<String> {
        let (_, folder) = self
            .packages
            .iter()
            .find(|(name, _)| *name == patch.suite.package)?;
        let (modules, roots) = match &patch.suite.target {
            Target::Library => (
                format!("{folder}/src"),
                [format!("{folder}/src/lib.rs"), String::new()],
            ),
            Target::Integration(name) => {
                let test = format!("{folder}/tests/{name}");
                (
                    test.clone(),
                    [format!("{test}/main.rs"), format!("{test}.rs")],
                )
            }
        };
        let mut modules_of_test: Vec<&str> = patch.test.split("::").collect();
        while modules_of_test.pop().is_some() && !modules_of_test.is_empty() {
            let file = format!("{modules}/{}.rs", modules_of_test.join("/"));
            if self.files.contains(&file) {
                return Some(file);
            }
        }
        roots.into_iter().find(|file| self.files.contains(file))
    }
}

/// Returns the files that a patch changes.
fn patched(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| {
            line.strip_prefix("--- a/")
                .or_else(|| line.strip_prefix("+++ b/"))
        })
        .map(|path| path.split('\t').next().unwrap_or(path).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(target: &str, test: &str) -> Vec<String> {
        let files = [
            "crates/access/Cargo.toml",
            "crates/access/src/headers.rs",
            "crates/access/src/lib.rs",
            "crates/access/src/paths/tests.rs",
            "crates/access/tests/it/main.rs",
            "crates/access/tests/it/proxy/cluster.rs",
        ]
        .map(str::to_owned)
        .into();
        let content = format!(
            "Group: 2\nDefence: a check\nPackage: drover-access\nTarget: {target}\nTest: {test}\n\n\
             --- a/crates/access/src/patched.rs\n+++ b/crates/access/src/patched.rs\n"
        );
        let patch = Patch::parse("x.patch".to_owned(), content).unwrap();
        Sources::new(&files, |_| {
            "[package]\nname = \"drover-access\"\n".to_owned()
        })
        .inputs(&patch)
        .into_iter()
        .collect()
    }

    #[test]
    fn inputs_are_the_patch_the_patched_file_and_the_file_of_the_test() {
        for (target, test, file) in [
            ("lib", "headers::tests::x", "crates/access/src/headers.rs"),
            ("lib", "paths::tests::x", "crates/access/src/paths/tests.rs"),
            ("lib", "tests::x", "crates/access/src/lib.rs"),
            (
                "it",
                "proxy::cluster::x",
                "crates/access/tests/it/proxy/cluster.rs",
            ),
            ("it", "x", "crates/access/tests/it/main.rs"),
        ] {
            let mut expected = [
                file.to_owned(),
                "crates/access/src/patched.rs".to_owned(),
                "e2e/weaken/x.patch".to_owned(),
            ];
            expected.sort();
            assert_eq!(inputs(target, test), expected, "{target} {test}");
        }
    }
}
