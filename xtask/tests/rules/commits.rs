//! Checks that commit subjects have the form `area: imperative subject`. The rule applies to
//! commits after the commit that added this file. In a shallow clone, the oldest commit appears to
//! add every file, so the rule applies to all later commits.

use crate::run;

const FILE: &str = "xtask/tests/rules/commits.rs";
const MAX_SUBJECT: usize = 72;
const MAX_LINE: usize = 120;
/// Verbs whose base form has the ending of an inflected verb, such as `-ed`, `-ing` or `-s`.
const VERBS: &[&str] = &[
    "bring", "embed", "exceed", "feed", "focus", "need", "proceed", "seed", "shed", "speed",
];

/// Returns a description of the problem of a commit message. Returns `None` for a valid message.
fn problem(message: &str) -> Option<String> {
    let mut lines = message.trim_end().lines();
    let subject = lines.next().unwrap_or_default();
    let Some((area, text)) = subject.split_once(": ") else {
        return Some("the subject is not `area: imperative subject`".to_owned());
    };
    let is_area = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-/".contains(letter)
    };
    if area.is_empty() || !area.chars().all(is_area) {
        return Some(format!("the area {area:?} is not one lower-case word"));
    }
    let verb = text.split(' ').next().unwrap_or_default();
    if !verb.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Some(format!("{verb:?} is not a lower-case verb"));
    }
    let third_person = verb.ends_with('s') && !verb.ends_with("ss");
    let other_form = third_person || verb.ends_with("ed") || verb.ends_with("ing");
    if other_form && !VERBS.contains(&verb) {
        return Some(format!("{verb:?} is not in the imperative"));
    }
    if text.ends_with('.') {
        return Some("the subject ends with a full stop".to_owned());
    }
    if subject.chars().count() > MAX_SUBJECT {
        return Some(format!(
            "the subject has more than {MAX_SUBJECT} characters"
        ));
    }
    if lines.next().is_some_and(|line| !line.is_empty()) {
        return Some("no empty line follows the subject".to_owned());
    }
    // A long word, such as a URL, cannot be wrapped.
    let mut long =
        lines.filter(|line| line.chars().count() > MAX_LINE && line.trim().contains(' '));
    long.next()
        .map(|line| format!("a line has more than {MAX_LINE} characters: {line:?}"))
}

#[test]
fn commits_have_an_area_and_an_imperative_subject() {
    let added = run(
        "git",
        &["log", "--diff-filter=A", "--format=%H", "--", FILE],
    );
    let Some(start) = added.lines().last() else {
        // The file of this rule is not committed yet.
        return;
    };
    let shallow = run("git", &["rev-parse", "--is-shallow-repository"]);
    let range = format!("{start}..HEAD");
    let messages = run(
        "git",
        &["log", "--no-merges", "--format=%H%n%B%x00", &range],
    );
    let mut checked = 0;
    let mut problems = Vec::new();
    for entry in messages
        .split('\0')
        .map(str::trim_start)
        .filter(|entry| !entry.is_empty())
    {
        let (hash, message) = entry.split_once('\n').unwrap();
        checked += 1;
        if let Some(problem) = problem(message) {
            let subject = message.lines().next().unwrap_or_default();
            problems.push(format!("{} {subject:?}: {problem}", &hash[..12]));
        }
    }
    println!(
        "checked {checked} commits after {start}; shallow clone: {}",
        shallow.trim()
    );
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn commit_subject_with_area_and_verb_is_accepted() {
    for message in [
        "proxy: reject duplicate Authorization headers\n\nThe reason.\n",
        "apiserver: pass the deadline",
        "docs: link https\n\nhttps://example.com/a/very/long/address/that/cannot/be/wrapped/and/has/no/spaces/in/it\n",
    ] {
        assert_eq!(problem(message), None, "{message}");
    }
}

#[test]
fn invalid_commit_subjects_are_rejected() {
    let long = format!("proxy: reject {}", "x".repeat(MAX_SUBJECT));
    let body = format!("proxy: reject it\n\n{}", "word ".repeat(30));
    for message in [
        "A qualification less",
        "Proxy: reject headers",
        "proxy: Reject headers",
        "proxy: rejects headers",
        "proxy: rejected headers",
        "proxy: rejecting headers",
        "proxy: reject headers.",
        "proxy: reject headers\nwithout an empty line",
        &long,
        &body,
    ] {
        assert!(problem(message).is_some(), "{message}");
    }
}
