//! Quotes words of command lines that users copy, and contains the script of uploads.
//!
//! A word that begins with `-` is not quoted: kubectl accepts any word as an option's value, and
//! `drover` accepts any text after `--option=`.

/// The script of the web UI that writes the standard input to the file of the first parameter. The
/// shell does not interpret the parameter. The output is the size of the written file.
pub const UPLOAD_SCRIPT: &str = r#"cat >"$1" && wc -c <"$1""#;
/// [`UPLOAD_SCRIPT`] in the query of the web UI's request. The audit log recognizes uploads by this
/// text.
pub const ENCODED_UPLOAD_SCRIPT: &str = "cat%20%3E%22%241%22%20%26%26%20wc%20-c%20%3C%22%241%22";

/// Returns `text` as one word of a POSIX shell, in single quotes if required.
pub fn word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@,+%".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Returns `text` as one word of a POSIX shell, always in single quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_metacharacters_are_quoted() {
        for (text, expected) in [
            ("info,drover_server=debug", "info,drover_server=debug"),
            ("", "''"),
            ("the backup", "'the backup'"),
            ("$(id)", "'$(id)'"),
            ("it's; id", r"'it'\''s; id'"),
            ("~root", "'~root'"),
            ("a\nb", "'a\nb'"),
        ] {
            assert_eq!(word(text), expected);
        }
        assert_eq!(quoted("https://d:8443"), "'https://d:8443'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
