//! Checks the form of source files.

use std::collections::BTreeMap;

use crate::{files, members, read};

/// The maximum number of lines in a file.
const LONGEST_FILE: usize = 800;
/// The maximum number of lines in 90 % of the files.
const LONG_FILE: usize = 400;
/// The maximum number of lines in the root file of a program, without module declarations.
const LONGEST_MAIN: usize = 20;
/// The maximum number of source files in a folder, without subfolders.
const MAX_FILES_IN_FOLDER: usize = 20;
/// Module names that do not describe the content.
const EMPTY_NAMES: &[&str] = &[
    "utils", "util", "common", "helpers", "helper", "manager", "misc",
];

/// Returns the path of each module with the attribute `#[cfg(test)]`. The paths have no file
/// suffix.
fn test_modules() -> Vec<String> {
    let mut found = Vec::new();
    for file in files(".rs") {
        let text = read(&file);
        for declaration in text.split("#[cfg(test)]\n").skip(1) {
            let line = declaration.trim_start().lines().next().unwrap_or_default();
            let line = line
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub ");
            if let Some(name) = line
                .strip_prefix("mod ")
                .and_then(|rest| rest.strip_suffix(';'))
            {
                let parent = file.trim_end_matches(".rs");
                let parent = parent.trim_end_matches("/lib").trim_end_matches("/main");
                found.push(format!("{parent}/{name}"));
            }
        }
    }
    found
}

/// Reports whether a file is compiled only for tests.
fn only_for_tests(file: &str) -> bool {
    file.contains("/tests/")
        || file.ends_with("/tests.rs")
        || file.ends_with("_tests.rs")
        || file.contains("/fuzz/")
        || file.starts_with("crates/testkit/")
        || file.starts_with("crates/fuzz-corpus/")
}

/// Returns the text of a source file before the module with the attribute `#[cfg(test)]`.
fn before_tests(text: &str) -> &str {
    ["\n#[cfg(test)]\nmod ", "\n#[cfg(test)]\npub(crate) mod "]
        .iter()
        .filter_map(|start| text.find(start))
        .min()
        .map_or(text, |end| &text[..end])
}

/// Folder of the message catalogues. Each file contains the messages of one language, and has no
/// maximum length.
const MESSAGES: &str = "frontend/core/src/messages/";

#[test]
fn source_files_have_at_most_500_lines() {
    let mut lengths: Vec<(usize, String)> = files(".rs")
        .into_iter()
        .filter(|file| !file.starts_with(MESSAGES))
        .map(|file| (read(&file).lines().count(), file))
        .collect();
    lengths.sort();
    let (longest, file) = lengths.last().unwrap();
    assert!(
        *longest <= LONGEST_FILE,
        "{file} has {longest} lines: split it"
    );
    let (length, file) = &lengths[lengths.len() * 9 / 10];
    assert!(
        *length <= LONG_FILE,
        "one file in ten has more than {LONG_FILE} lines, from {file} on"
    );
}

#[test]
fn folders_have_at_most_20_source_files() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for file in files(".rs") {
        let (folder, _) = file.rsplit_once('/').unwrap();
        *counts.entry(folder.to_owned()).or_default() += 1;
    }
    for (folder, count) in counts {
        assert!(
            count <= MAX_FILES_IN_FOLDER,
            "{folder} has {count} source files side by side: group them in modules"
        );
    }
}

#[test]
fn module_files_are_not_named_mod_rs() {
    let found = files("/mod.rs");
    assert!(
        found.is_empty(),
        "{found:?}: write foo.rs and foo/, not foo/mod.rs"
    );
}

#[test]
fn module_names_are_not_generic() {
    for file in files(".rs") {
        let parts = file.trim_end_matches(".rs").split('/');
        for part in parts {
            assert!(
                !EMPTY_NAMES.contains(&part),
                "{file}: the name {part} does not describe the content"
            );
        }
    }
}

#[test]
fn code_outside_tests_does_not_unwrap() {
    let test_modules = test_modules();
    let is_test = |file: &str| {
        let module = file.trim_end_matches(".rs");
        let below = |test: &String| {
            module
                .strip_prefix(test.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        only_for_tests(file) || test_modules.iter().any(below)
    };
    for file in files(".rs").iter().filter(|file| !is_test(file)) {
        for (number, line) in before_tests(&read(file)).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            assert!(
                !code.contains(".unwrap()"),
                "{file}:{}: return an error, or `expect` the invariant",
                number + 1
            );
        }
    }
}

#[test]
fn main_files_of_programs_have_few_lines() {
    let programs = |file: &&String| !only_for_tests(file) && !file.contains("/examples/");
    for file in files("main.rs").iter().filter(programs) {
        let text = read(file);
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("mod "))
            .count();
        assert!(
            lines <= LONGEST_MAIN,
            "{file} has {lines} lines besides its modules; main only starts"
        );
    }
}

#[test]
fn sources_contain_no_allow_attributes() {
    for file in files(".rs") {
        if file.starts_with("xtask/tests/rules/") {
            continue;
        }
        let text = read(&file);
        for attribute in ["#[allow(", "#![allow("] {
            assert!(
                !text.contains(attribute),
                "{file}: #[expect(lint, reason = \"…\")]"
            );
        }
    }
}

#[test]
fn tests_are_not_ignored() {
    for file in files(".rs") {
        if !file.starts_with("xtask/tests/rules/") {
            assert!(
                !read(&file).contains("#[ignore"),
                "{file}: run or delete the ignored test"
            );
        }
    }
}

/// The parameter types of the write methods of `kube::Api`. The rule detects a direct write by these
/// names, so a write with inferred parameters is not detected.
const WRITE_PARAMS: &[&str] = &["PostParams", "PatchParams", "DeleteParams"];

/// Files outside `drover-hub` that write with `kube::Api`, with the reason why the file does not
/// write with `drover_hub::Writer`.
const DIRECT_WRITES: &[(&str, &str)] = &[
    (
        "crates/agent-gateway/src/registration/hub_token.rs",
        "the hub stores no TokenRequest",
    ),
    (
        "crates/agent-gateway/src/registration/notice/series.rs",
        "the server does not store Events of the hub",
    ),
    (
        "crates/controllers/src/access/unmanaged.rs",
        "managed cluster",
    ),
    ("crates/controllers/src/endpoint/act.rs", "managed cluster"),
    ("crates/controllers/src/projects/act.rs", "managed cluster"),
    ("crates/controllers/src/removal.rs", "managed cluster"),
    ("crates/controllers/src/tunnel_nodes.rs", "managed cluster"),
    ("crates/controllers/src/upgrade.rs", "managed cluster"),
    (
        "crates/fleet/src/clusters.rs",
        "the hub's stores have no kinds of Fleet",
    ),
    (
        "crates/fleet/src/registration/import/target.rs",
        "imported cluster",
    ),
    (
        "crates/fleet/src/registration/tokens.rs",
        "the hub's stores have no kinds of Fleet",
    ),
    (
        "crates/fleet/src/writes.rs",
        "the hub's stores have no kinds of Fleet",
    ),
    (
        "crates/git-hosting/src/access.rs",
        "the hub stores no SubjectAccessReview",
    ),
    (
        "crates/identity/src/accounts/review.rs",
        "the hub stores no TokenReview",
    ),
    (
        "crates/proxy/src/acting_as.rs",
        "the hub stores no SubjectAccessReview",
    ),
    (
        "server/src/demo/example.rs",
        "the server has no stores of these kinds",
    ),
    ("server/src/demo/join.rs", "simulated cluster"),
];

#[test]
fn only_the_writer_of_the_hub_crate_writes_hub_objects() {
    let folders: Vec<String> = members()
        .into_iter()
        .filter(|member| {
            let hub = ("drover-hub".to_owned(), "normal".to_owned());
            member.dependencies.contains(&hub)
        })
        .map(|member| format!("{}/src/", member.folder))
        .collect();
    assert!(!folders.is_empty(), "no package depends on drover-hub");
    let writing = files(".rs").into_iter().filter(|file| {
        folders.iter().any(|folder| file.starts_with(folder))
            && !only_for_tests(file)
            && WRITE_PARAMS
                .iter()
                .any(|params| before_tests(&read(file)).contains(params))
    });
    let writing: Vec<String> = writing.collect();
    let allowed: Vec<&str> = DIRECT_WRITES.iter().map(|(file, _)| *file).collect();
    assert_eq!(
        writing, allowed,
        "write hub objects with `Hub::writer`; list the files that write other objects in \
         DIRECT_WRITES with the reason"
    );
}
