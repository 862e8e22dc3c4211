//! Normalizes entered text: spaces at both ends and empty lines are ignored.

/// Trims a text. Returns `None` if the text is empty.
pub fn non_empty(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the trimmed lines of a text, without empty lines.
pub fn lines(text: &str) -> impl Iterator<Item = &str> + Clone {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_input_ignores_whitespace_and_empty_lines() {
        assert_eq!(non_empty(" the shop "), Some("the shop".to_owned()));
        assert_eq!(non_empty(" \n"), None);
        assert_eq!(lines("a\n\n b \n").collect::<Vec<_>>(), ["a", "b"]);
    }
}
