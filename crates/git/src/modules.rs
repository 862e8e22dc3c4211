//! The file `.gitmodules`.

use std::collections::BTreeMap;

/// Most submodules that the parser returns.
const MAX_MODULES: usize = 10_000;

/// Returns the URL of each submodule by its path. Ignores lines that are not valid, as git does for
/// unknown settings.
pub(crate) fn parse(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut section = Section::default();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('[') {
            section.finish(&mut found);
            section = Section {
                is_submodule: line.starts_with("[submodule"),
                ..Section::default()
            };
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let value = unquoted(value.trim());
        match key.trim().to_ascii_lowercase().as_str() {
            "path" => section.path = Some(value),
            "url" => section.url = Some(value),
            _ => {}
        }
    }
    section.finish(&mut found);
    found
}

/// A section of the file.
#[derive(Default)]
struct Section {
    is_submodule: bool,
    path: Option<String>,
    url: Option<String>,
}

impl Section {
    fn finish(&mut self, found: &mut BTreeMap<String, String>) {
        if let (true, Some(path), Some(url)) =
            (self.is_submodule, self.path.take(), self.url.take())
            && found.len() < MAX_MODULES
        {
            found.insert(path.trim_matches('/').to_owned(), url);
        }
    }
}

/// Removes quotation marks, escapes and a comment from a value.
fn unquoted(value: &str) -> String {
    let mut text = String::new();
    let mut quoted = false;
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => quoted = !quoted,
            '\\' => text.extend(chars.next()),
            '#' | ';' if !quoted => break,
            other => text.push(other),
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_urls_of_submodules_are_parsed() {
        let text = "[core]\n\tpath = x\n\turl = y\n# comment\n[submodule \"a\"]\n\tpath = libs/a\n\turl = ../a.git ; note\n\tbranch = x\n[submodule \"b\"]\nurl = \"https://host/b#c\"\npath = b/\n[submodule \"c\"]\npath = c\n";
        let expected = [("b", "https://host/b#c"), ("libs/a", "../a.git")];
        let found = parse(text);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(found, expected);
    }
}
