//! What people type, as it is meant: spaces around it and empty lines say nothing.

/// A text; `None` if nothing is said.
pub fn non_empty(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Things of which one stands on a line.
pub fn lines(text: &str) -> impl Iterator<Item = &str> + Clone {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_and_empty_lines_say_nothing() {
        assert_eq!(non_empty(" the shop "), Some("the shop".to_owned()));
        assert_eq!(non_empty(" \n"), None);
        assert_eq!(lines("a\n\n b \n").collect::<Vec<_>>(), ["a", "b"]);
    }
}
