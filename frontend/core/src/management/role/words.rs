//! Formats and parses lists of names in one line.

/// The text for the core API group, whose name is empty.
const CORE: &str = "core";

/// The type of the names in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameListKind {
    /// API groups. The text `core` means the empty group name.
    Groups,
    /// Names without special values.
    Plain,
}

/// Joins names with commas. Ambiguous names are quoted.
pub fn line(names: &[String], words: NameListKind) -> String {
    let names = names.iter().map(|name| match (words, name.as_str()) {
        (NameListKind::Groups, "") => CORE.to_owned(),
        (NameListKind::Groups, CORE) => quoted(CORE),
        (_, name) if is_plain(name) => name.to_owned(),
        (_, name) => quoted(name),
    });
    names.collect::<Vec<_>>().join(", ")
}

fn is_plain(name: &str) -> bool {
    let parts = |c: char| c == ',' || c == '"' || c == '\\' || c.is_whitespace();
    !name.is_empty() && !name.contains(parts)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Splits text into names at commas and spaces, and removes quotes.
pub fn names(line: &str, words: NameListKind) -> Vec<String> {
    let (mut names, mut chars) = (Vec::new(), line.chars().peekable());
    while let Some(&next) = chars.peek() {
        if next == ',' || next.is_whitespace() {
            chars.next();
        } else if next == '"' {
            chars.next();
            names.push(in_quotes(&mut chars));
        } else {
            let mut name = String::new();
            while let Some(c) = chars.next_if(|c| *c != ',' && !c.is_whitespace()) {
                name.push(c);
            }
            if words == NameListKind::Groups && name == CORE {
                name.clear();
            }
            names.push(name);
        }
    }
    names
}

/// Parses a quoted name. Without a closing quote, the name ends at the end of the line.
fn in_quotes(chars: &mut impl Iterator<Item = char>) -> String {
    let mut name = String::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => name.extend(chars.next()),
            c => name.push(c),
        }
    }
    name
}
