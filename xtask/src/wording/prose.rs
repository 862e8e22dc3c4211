//! Extracts the sentences of Markdown documents.

use super::{Category, Sample};

/// Minimum number of words in a sentence. Shorter table cells and list entries are labels.
const MIN_WORDS: usize = 4;

/// Returns the sentences of a document: paragraphs, list entries and table cells, but neither
/// headings nor code blocks.
pub(super) fn extract(file: &str, text: &str) -> Vec<Sample> {
    let mut found = Vec::new();
    for (line, paragraph) in paragraphs(text) {
        for sentence in sentences(&paragraph) {
            if words(&sentence) >= MIN_WORDS {
                found.push(Sample {
                    category: Category::Documentation,
                    file: file.to_owned(),
                    line,
                    text: sentence,
                });
            }
        }
    }
    found
}

/// Returns the number of words outside inline code.
fn words(sentence: &str) -> usize {
    let text = sentence.split('`').step_by(2);
    let words = text.flat_map(str::split_whitespace);
    words
        .filter(|word| word.contains(char::is_alphabetic))
        .count()
}

/// Returns the paragraphs, list entries and table cells. Each result is one line of text, with the
/// number of its first line in the document.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    let mut in_code = false;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            (in_code, open) = (!in_code, false);
            continue;
        }
        let indented = line.starts_with("    ") && !open;
        if in_code || indented || trimmed.is_empty() || is_markup(trimmed) {
            open = false;
            continue;
        }
        if trimmed.starts_with('|') {
            let cells = trimmed.trim_matches('|').split(" | ");
            found.extend(cells.map(|cell| (number + 1, cell.trim().to_owned())));
            open = false;
            continue;
        }
        let (marker, content) = list_entry(trimmed);
        match found.last_mut() {
            Some((_, paragraph)) if open && !marker => {
                paragraph.push(' ');
                paragraph.push_str(content);
            }
            _ => found.push((number + 1, content.to_owned())),
        }
        open = true;
    }
    found
}

/// Reports whether the line is a heading, a table rule, a picture or HTML.
fn is_markup(line: &str) -> bool {
    line.starts_with('#')
        || line.starts_with("![")
        || line.starts_with('<')
        || line.chars().all(|letter| "|-: ".contains(letter))
}

/// Reports whether the line starts a list entry or a quotation. Also returns the text after the
/// list or quotation marker.
fn list_entry(line: &str) -> (bool, &str) {
    for marker in ["- ", "* ", "+ ", "> "] {
        if let Some(rest) = line.strip_prefix(marker) {
            return (true, rest);
        }
    }
    match line.split_once(". ") {
        Some((number, rest)) if number.parse::<u8>().is_ok() => (true, rest),
        _ => (false, line),
    }
}

/// Splits a paragraph after `.`, `!` and `?`. Also splits after `:` if a code block or a list
/// follows.
fn sentences(paragraph: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut in_code = false;
    for (at, letter) in paragraph.char_indices() {
        if letter == '`' {
            in_code = !in_code;
        }
        if in_code || !['.', '!', '?'].contains(&letter) {
            continue;
        }
        let rest = &paragraph[at + 1..];
        let next = rest.trim_start().chars().next();
        let starts = next.is_some_and(|next| next.is_uppercase() || "`[*\"".contains(next));
        let abbreviated = ["e.g", "i.e", "etc"]
            .iter()
            .any(|word| paragraph[start..at].ends_with(word));
        if rest.starts_with([' ', ')']) && starts && !abbreviated {
            found.push(paragraph[start..=at].trim().to_owned());
            start = at + 1;
        }
    }
    let last = paragraph[start..].trim();
    if !last.is_empty() {
        found.push(last.to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(markdown: &str) -> Vec<(usize, String)> {
        extract("a.md", markdown)
            .into_iter()
            .map(|sample| (sample.line, sample.text))
            .collect()
    }

    fn pairs(expected: &[(usize, &str)]) -> Vec<(usize, String)> {
        expected
            .iter()
            .map(|(line, text)| (*line, (*text).to_owned()))
            .collect()
    }

    #[test]
    fn sentences_of_a_paragraph_are_separate_texts() {
        let text = "# Title of a page here\n\nThe server reads `a. B` once.\nThe agent waits for it. End here.\n";
        assert_eq!(
            texts(text),
            pairs(&[
                (3, "The server reads `a. B` once."),
                (3, "The agent waits for it.")
            ])
        );
    }

    #[test]
    fn wording_sample_omits_code_blocks_and_short_table_cells() {
        let text = "```sh\nrun this command with care\n```\n| `a b c d e` | The server reads its file |\n|---|---|\n";
        assert_eq!(texts(text), pairs(&[(4, "The server reads its file")]));
    }

    #[test]
    fn list_entries_are_separate_paragraphs() {
        let text = "- The first entry has\n  two lines of text\n- The second entry has one\n1. The third entry is numbered\n";
        assert_eq!(
            texts(text),
            pairs(&[
                (1, "The first entry has two lines of text"),
                (3, "The second entry has one"),
                (4, "The third entry is numbered"),
            ])
        );
    }
}
