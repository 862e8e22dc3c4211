//! Parses and validates labels.

pub mod plan;

use std::collections::BTreeMap;

use drover_api::group::GROUP;

use crate::messages::t;

/// The labels of an object: key and value.
pub type Labels = BTreeMap<String, String>;

/// The maximum length of key names and values, in characters.
const MAX_LENGTH: usize = 63;
/// The maximum length of key prefixes, in characters.
const MAX_PREFIX: usize = 253;

/// Parses labels in the format `env=prod team=shop`. Commas are also separators. The error is a
/// text for the user.
pub fn read(text: &str) -> Result<Labels, String> {
    let words = text
        .split([' ', ',', '\t', '\n'])
        .filter(|word| !word.is_empty());
    let mut labels = Labels::new();
    for word in words {
        let (key, value) = match word.split_once('=') {
            Some((key, value)) if !key.is_empty() => (key, value),
            _ => return Err(t().cluster_labels.not_key_value(word)),
        };
        check_key(key)?;
        if is_reserved(key) {
            return Err(t().cluster_labels.reserved(key));
        }
        check_value(key, value)?;
        if labels.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(t().cluster_labels.duplicate(key));
        }
    }
    Ok(labels)
}

/// Reports whether a label is reserved for Drover.
pub fn is_reserved(key: &str) -> bool {
    let prefix = key.split_once('/').map(|(prefix, _)| prefix);
    prefix == Some(GROUP)
}

/// Returns the labels that users can change.
pub fn user_labels(labels: &Labels) -> Labels {
    let mut labels = labels.clone();
    labels.retain(|key, _| !is_reserved(key));
    labels
}

/// Formats labels as text that [`read`] can parse.
pub fn written(labels: &Labels) -> String {
    let pairs = labels.iter().map(|(key, value)| format!("{key}={value}"));
    pairs.collect::<Vec<_>>().join(" ")
}

/// Validates a label key, such as `team` or `example.com/team`.
pub fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix.filter(|prefix| !is_subdomain(prefix)) {
        return Err(t().cluster_labels.bad_prefix(key, prefix));
    }
    if name.is_empty() {
        return Err(t().cluster_labels.no_name(key));
    }
    if name.len() > MAX_LENGTH {
        return Err(t().cluster_labels.key_too_long(key, MAX_LENGTH));
    }
    if !is_name(name) {
        return Err(t().cluster_labels.bad_key(key));
    }
    Ok(())
}

/// Validates a label value. An empty value is valid.
pub fn check_value(key: &str, value: &str) -> Result<(), String> {
    if value.len() > MAX_LENGTH {
        return Err(t().cluster_labels.value_too_long(key, MAX_LENGTH));
    }
    if !value.is_empty() && !is_name(value) {
        return Err(t().cluster_labels.bad_value(key, value));
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    let ends = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    text.chars()
        .all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
        && ends(text.chars().next())
        && ends(text.chars().next_back())
}

fn is_subdomain(text: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.iter().all(|byte| lower(*byte) || *byte == b'-')
            && bytes.first().is_some_and(|byte| lower(*byte))
            && bytes.last().is_some_and(|byte| lower(*byte))
    };
    text.len() <= MAX_PREFIX && text.split('.').all(part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn label_input_accepts_the_kubectl_form() {
        let labels = read(" env=prod,team=shop  empty= ").unwrap();
        assert_eq!(written(&labels), "empty= env=prod team=shop");
        assert_eq!(read("").map(|labels| labels.len()), Ok(0));
        assert_eq!(
            read("env=prod shop"),
            Err("“shop” does not have the form key=value.".to_owned())
        );
        assert!(read("=x").is_err());
        assert!(read("env=prod env=test").unwrap_err().contains("Duplicate"));
    }

    #[test]
    fn label_validation_matches_kubernetes() {
        let long = "a".repeat(63);
        for (text, good) in [
            ("a=b", true),
            ("A.b_c-d=1.2", true),
            ("example.com/team=shop", true),
            ("a.b-c.d/x=", true),
            (&format!("{long}={long}"), true),
            (&format!("{long}a=b"), false),
            (&format!("a={long}a"), false),
            (&format!("{}/a=b", "a".repeat(254)), false),
            ("-a=b", false),
            ("a-=b", false),
            ("a=.b", false),
            ("a=b_", false),
            ("/a=b", false),
            ("example.com/=b", false),
            ("Example.com/a=b", false),
            ("a/b/c=d", false),
            ("a=b=c", false),
            ("ä=b", false),
            ("a=“b”", false),
        ] {
            assert_eq!(read(text).is_ok(), good, "{text:?}: {:?}", read(text));
        }
    }

    #[test]
    fn labels_reserved_for_drover_are_rejected_and_hidden() {
        let own = "management.drover.dev/simulated";
        assert!(read(&format!("{own}=true")).is_err());
        let mut labels = read("env=prod drover.dev/x=1").unwrap();
        let peoples = labels.clone();
        labels.insert(own.to_owned(), "true".to_owned());
        assert_eq!(user_labels(&labels), peoples);
    }

    proptest! {
        #[test]
        fn formatted_labels_parse_to_the_same_labels(text in "[a-z=., /-]{0,40}") {
            if let Ok(labels) = read(&text) {
                prop_assert_eq!(read(&written(&labels)), Ok(labels));
            }
        }

        #[test]
        fn arbitrary_label_text_does_not_panic(text in "\\PC{0,80}") {
            let _ = read(&text);
        }
    }
}
