//! The words of an incomplete command line.

use std::ffi::OsString;

/// Short and long options with a value, of the commands that complete objects.
const OPTIONS_WITH_VALUE: [&str; 25] = [
    "-n",
    "--namespace",
    "-l",
    "--selector",
    "-o",
    "--output",
    "-c",
    "--container",
    "--cluster",
    "--clusters",
    "--context",
    "--server",
    "--token-file",
    "--ca-file",
    "--config",
    "--request-timeout",
    "--field-selector",
    "--sort-by",
    "--chunk-size",
    "--dry-run",
    "--since",
    "--tail",
    "--max-log-requests",
    "--address",
    "--image",
];

/// The words before the cursor, and the incomplete word at the cursor.
#[derive(Clone, Debug, Default)]
pub(super) struct Words(Vec<String>);

impl Words {
    /// Returns the words after the separator `--`, which shells add before the command line.
    pub(super) fn after_separator(arguments: &[OsString]) -> Self {
        let separator = arguments.iter().position(|argument| argument == "--");
        let first = separator.map_or(arguments.len(), |at| at + 1);
        Self::of(&arguments[first..])
    }

    /// Returns the words of a command line. The first word is the program.
    pub(super) fn of(arguments: &[OsString]) -> Self {
        let words = arguments
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        Self(words.collect())
    }

    /// Returns the value of an option.
    pub(super) fn value(&self, names: &[&str]) -> Option<String> {
        self.values(names).pop()
    }

    /// Returns all values of an option.
    pub(super) fn values(&self, names: &[&str]) -> Vec<String> {
        let following = self.0.iter().zip(self.0.iter().skip(1));
        let separate = following.filter(|(word, _)| names.contains(&word.as_str()));
        let separate = separate.map(|(_, value)| value.clone());
        let joined = self.0.iter().filter_map(|word| {
            let (name, value) = word.split_once('=')?;
            names.contains(&name).then(|| value.to_owned())
        });
        separate
            .chain(joined)
            .filter(|value| !value.is_empty())
            .collect()
    }

    /// Returns the words after the command that are neither options nor their values, without the
    /// word at the cursor.
    pub(super) fn positional(&self) -> Vec<&str> {
        let mut found = Vec::new();
        let mut is_value = false;
        let complete = self.0.len().saturating_sub(1);
        for word in self.0.iter().take(complete).skip(2) {
            if !is_value && !word.starts_with('-') {
                found.push(word.as_str());
            }
            is_value = OPTIONS_WITH_VALUE.contains(&word.as_str());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Words {
        let words: Vec<OsString> = text.split(' ').map(OsString::from).collect();
        Words::after_separator(&words)
    }

    #[test]
    fn options_and_positional_words_are_separated() {
        let words = words("drover -- drover get -n shop --cluster=a --cluster b pods -A web ");
        assert_eq!(words.positional(), ["pods", "web"]);
        assert_eq!(words.value(&["-n", "--namespace"]).as_deref(), Some("shop"));
        let mut clusters = words.values(&["--cluster"]);
        clusters.sort();
        assert_eq!(clusters, ["a", "b"]);
        assert_eq!(words.value(&["--context"]), None);
    }

    #[test]
    fn value_at_the_cursor_is_not_a_positional_word() {
        assert!(words("drover -- drover get po").positional().is_empty());
        assert!(words("drover -- drover").positional().is_empty());
        assert!(words("drover").positional().is_empty());
    }
}
