//! Checks that references in documents point to existing files, tests and commands.

use std::path::Path;

use drover_ci::suites::SUITES;

use crate::{files, members, read, root};

#[test]
fn architecture_document_names_every_crate() {
    let architecture = read("docs/ARCHITECTURE.md");
    for member in members() {
        assert!(
            architecture.contains(&format!("`{}`", member.folder)),
            "docs/ARCHITECTURE.md does not name `{}`",
            member.folder
        );
    }
}

/// Returns the relative links `[text](target)` of a Markdown text.
fn links(text: &str) -> Vec<String> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#', ' ']).next())
        .filter(|target| {
            !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn links_between_documents_have_an_existing_target() {
    for file in files(".md") {
        let folder = Path::new(&file).parent().unwrap();
        for link in links(&read(&file)) {
            let target = root().join(folder).join(&link);
            assert!(
                target.exists(),
                "{file} links to {link}, which does not exist"
            );
        }
    }
}

#[test]
fn make_targets_in_documents_exist() {
    let makefile = read("Makefile");
    for file in files(".md") {
        for target in read(&file)
            .split("`make ")
            .skip(1)
            .filter_map(|rest| rest.split(['`', ' ']).next())
        {
            assert!(
                makefile.contains(&format!("\n{target}:")),
                "{file} names `make {target}`, which does not exist in the Makefile"
            );
        }
    }
}

/// Returns the word after the option.
fn value_of<'a>(words: &[&'a str], option: &str) -> Option<&'a str> {
    let position = words.iter().position(|word| *word == option)?;
    words.get(position + 1).copied()
}

#[test]
fn make_test_runs_every_integration_test() {
    let suites = || SUITES.iter().filter(|suite| suite.group.belongs_to("test"));
    for member in members() {
        for name in member.tests {
            let runs = |command: &str| {
                let words: Vec<&str> = command.split_whitespace().collect();
                words.windows(2).any(|pair| pair == ["--test", &name])
                    && value_of(&words, "--package").is_none_or(|folder| folder == member.folder)
            };
            assert!(
                suites().any(|suite| runs(suite.command)),
                "{}: no suite of `make test` runs `--test {name}`",
                member.folder
            );
        }
    }
}

#[test]
fn decision_records_are_numbered_without_a_gap() {
    let mut numbers: Vec<usize> = files(".md")
        .iter()
        .filter_map(|file| file.strip_prefix("docs/adr/"))
        .map(|name| name[..4].parse().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>());
}

/// Returns the words in backticks in a text.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Reports whether a word in backticks is the name of a test. A test name has more underscores than
/// names of metrics and fields.
fn is_test_name(word: &str) -> bool {
    word.matches('_').count() >= 3
        && word
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
}

#[test]
fn security_document_has_a_section_per_attack_group_and_its_tests_exist() {
    let sources: Vec<String> = files(".rs").iter().map(|file| read(file)).collect();
    let security = read("docs/security.md");
    let (_, attacks) = security.split_once("\n## Attacks\n").unwrap();
    let (attacks, _) = attacks.split_once("\n## ").unwrap();
    let sections: Vec<&str> = attacks.split("\n### ").skip(1).collect();
    assert_eq!(
        sections.len(),
        36,
        "docs/security.md has one section a group"
    );
    let mut names = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        let group = index + 1;
        assert!(
            section.starts_with(&format!("{group}. ")),
            "group {group}: {section}"
        );
        for part in ["**Attack:** ", "**Defence:** ", "**Tests:**\n"] {
            assert!(section.contains(part), "group {group} has no part {part}");
        }
        let (_, tests) = section.split_once("**Tests:**").unwrap();
        assert!(
            quoted(tests).next().is_some(),
            "group {group} names no test"
        );
        names.extend(quoted(tests));
    }
    names.extend(quoted(&security).filter(|word| is_test_name(word)));
    for test in names {
        assert!(
            sources
                .iter()
                .any(|source| source.contains(&format!("fn {test}("))),
            "docs/security.md names the test {test}, which does not exist"
        );
    }
}
