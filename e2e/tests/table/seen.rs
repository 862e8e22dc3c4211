//! The normalized output of a comparison row: values that differ between runs are replaced.

use std::fmt::Write as _;

use drover_e2e::Output;

use super::{DIRECT, Side, THROUGH};

/// The output and exit status of a row, normalized for comparison.
#[derive(Debug, Default)]
pub(crate) struct Seen(String);

impl Seen {
    /// Creates a result from the output and the exit status of a command.
    pub(crate) fn of(side: &Side<'_>, output: &Output) -> Self {
        let mut text = normal(side, &output.stdout);
        if !output.stderr.is_empty() {
            write!(
                text,
                "--- standard error:\n{}",
                normal(side, &output.stderr)
            )
            .unwrap();
        }
        writeln!(text, "--- {}", output.status).unwrap();
        Self(text)
    }

    /// Creates a result from a text, for rows that do not compare the output of a command.
    pub(crate) fn text(side: &Side<'_>, text: &str) -> Self {
        Self(normal(side, text))
    }

    pub(crate) fn add(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }

    /// Returns the lines in which two results differ, if any.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        if self.0 == other.0 {
            return None;
        }
        let mut text = String::new();
        let (mut remaining, mut right) = (self.0.lines(), other.0.lines());
        loop {
            match (remaining.next(), right.next()) {
                (None, None) => return Some(text),
                (one, two) if one == two => {}
                (one, two) => {
                    let show = |line: Option<&str>| {
                        let line = line.unwrap_or("(nothing)");
                        line.chars().take(400).collect::<String>()
                    };
                    writeln!(text, "direct:  {}\nthrough: {}", show(one), show(two)).unwrap();
                    if text.len() > 4000 {
                        return Some(text + "…");
                    }
                }
            }
        }
    }
}

/// Replaces values that differ between runs: the server's URL, the folder, the namespace, times,
/// ages and object versions.
fn normal(side: &Side<'_>, text: &str) -> String {
    let text = text
        .replace(&side.url, "SERVER")
        .replace(&side.folder.display().to_string(), "FOLDER")
        .replace(DIRECT, "NAMESPACE")
        .replace(THROUGH, "NAMESPACE");
    let mut lines = String::new();
    for line in text.lines().map(without_log_prefix) {
        let indent = line.len() - line.trim_start().len();
        let words: Vec<_> = line.split_whitespace().collect();
        lines.push_str(&line[..indent]);
        lines.push_str(&steady(&words.join(" ")));
        lines.push('\n');
    }
    lines
}

/// Replaces the values in a line that differ between runs, such as times and ages.
fn steady(line: &str) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || "-:.+_".contains(c);
    let mut out = String::new();
    let mut version_next = false;
    let mut rest = line;
    while !rest.is_empty() {
        let word = &rest[..rest.find(|c| !part(c)).unwrap_or(rest.len())];
        if word.is_empty() {
            let end = rest.find(part).unwrap_or(rest.len());
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        rest = &rest[word.len()..];
        if version_next && word == ":" {
            out.push_str(word);
            continue;
        }
        // YAML writes the colon right after the word.
        let bare = word.trim_end_matches(':');
        out.push_str(match () {
            () if version_next => "VERSION",
            () if is_uid(bare) => "UID",
            () if is_digest(bare) => "DIGEST",
            () if is_time(bare) => "TIME",
            () if is_age(bare) => "AGE",
            () if is_clock(bare) => "CLOCK",
            () => word,
        });
        version_next = ["resourceVersion", "ResourceVersion"].contains(&bare);
    }
    out
}

fn is_uid(word: &str) -> bool {
    let groups: Vec<_> = word.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups
            .iter()
            .all(|group| group.chars().all(|c| c.is_ascii_hexdigit()))
}

/// Returns true if a word is the ID of a container.
fn is_digest(word: &str) -> bool {
    word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit())
}

fn is_time(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 19
        && bytes[4] == b'-'
        && bytes[10] == b'T'
        && bytes[13] == b':'
        && bytes[..4].iter().all(u8::is_ascii_digit)
}

/// Returns true if a word is a time of day such as `05:30:48`, optionally with a fraction.
fn is_clock(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 8
        && (bytes[2], bytes[5]) == (b':', b':')
        && word.chars().all(|c| c.is_ascii_digit() || ":.".contains(c))
}

/// Removes the time and the process ID from a line of kubectl's log: `W1121 05:31:11.2 300 a.go:1]
/// …`.
fn without_log_prefix(line: &str) -> &str {
    let mut start = line.chars();
    let level = start.next().is_some_and(|c| "IWEF".contains(c));
    let date = start.by_ref().take(4).filter(char::is_ascii_digit).count() == 4;
    match line.split_once(".go:") {
        Some((_, rest)) if level && date => rest,
        _ => line,
    }
}

/// Returns true if a word is an age such as `5s`, `2m3s` or `4d`.
fn is_age(word: &str) -> bool {
    let mut digits = 0;
    for c in word.chars() {
        match c {
            '0'..='9' => digits += 1,
            's' | 'm' | 'h' | 'd' if digits > 0 => digits = 0,
            _ => return false,
        }
    }
    digits == 0 && !word.is_empty()
}
