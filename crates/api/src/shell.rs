//! Words of command lines that people copy.
//!
//! A word may begin with `-`: kubectl takes any word for an option's value, and `drover` what follows
//! `--option=`.

/// A text as one word of a POSIX shell, whatever is in it; quoted only if it must be.
pub fn word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@,+%".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// A text as one word of a POSIX shell, whatever is in it, always in single quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_word_and_nothing_else() {
        for (text, wanted) in [
            ("info,drover_server=debug", "info,drover_server=debug"),
            ("", "''"),
            ("the backup", "'the backup'"),
            ("$(id)", "'$(id)'"),
            ("it's; id", r"'it'\''s; id'"),
            ("~root", "'~root'"),
            ("a\nb", "'a\nb'"),
        ] {
            assert_eq!(word(text), wanted);
        }
        assert_eq!(quoted("https://d:8443"), "'https://d:8443'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
