//! Validation of names (apimachinery `util/validation`).

use std::sync::LazyLock;

use regex::Regex;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const WILDCARD: &str = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const CONFIG_KEY: &str = "[-._a-zA-Z0-9]+";

/// A function that validates a name and returns one message per error.
pub type NameCheck = fn(&str) -> Vec<String>;

/// Returns an error message with examples and the regular expression.
pub(crate) fn regex_message(message: &str, format: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{message} (regex used for validation is '{format}')");
    }
    let examples: Vec<String> = examples.iter().map(|text| format!("'{text}', ")).collect();
    let examples = examples.join(" or ");
    format!("{message} (e.g. {examples}regex used for validation is '{format}')")
}

macro_rules! pattern {
    ($name:ident, $format:expr) => {
        fn $name(text: &str) -> bool {
            static PATTERN: LazyLock<Option<Regex>> =
                LazyLock::new(|| Regex::new(&format!("^(?:{})$", $format)).ok());
            PATTERN
                .as_ref()
                .is_some_and(|pattern| pattern.is_match(text))
        }
    };
}

pattern!(is_label, LABEL);
pattern!(is_subdomain, SUBDOMAIN);
pattern!(is_wildcard, WILDCARD);
pattern!(is_dns_1035, DNS_1035);
pattern!(is_qualified, QUALIFIED);
pattern!(is_label_value, LABEL_VALUE);
pattern!(is_config_key, CONFIG_KEY);

fn too_long(text: &str, most: usize, unit: &str) -> Vec<String> {
    if text.len() > most {
        vec![format!("must be no more than {most} {unit}")]
    } else {
        Vec::new()
    }
}

/// Validates an RFC 1123 label.
pub fn dns_label(text: &str) -> Vec<String> {
    let mut found = too_long(text, 63, "characters");
    if !is_label(text) {
        found.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            regex_message(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
                 '-', and must start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    found
}

/// Validates an RFC 1123 subdomain.
pub fn dns_subdomain(text: &str) -> Vec<String> {
    let mut found = too_long(text, 253, "characters");
    if !is_subdomain(text) {
        found.push(regex_message(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
             '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        ));
    }
    found
}

/// Validates an RFC 1123 subdomain with a wildcard prefix, such as `*.example.com`.
pub fn wildcard_subdomain(text: &str) -> Vec<String> {
    let mut found = too_long(text, 253, "characters");
    if !is_wildcard(text) {
        found.push(regex_message(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS \
             subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and \
             end with an alphanumeric character",
            WILDCARD,
            &["*.example.com"],
        ));
    }
    found
}

/// Validates an RFC 1035 label.
pub fn dns_1035_label(text: &str) -> Vec<String> {
    let mut found = too_long(text, 63, "characters");
    if !is_dns_1035(text) {
        found.push(regex_message(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start \
             with an alphabetic character, and end with an alphanumeric character",
            DNS_1035,
            &["my-name", "abc-123"],
        ));
    }
    found
}

/// Validates a path segment (`path.IsValidPathSegmentName`). Names of RBAC objects must be path
/// segments.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    ['/', '%']
        .iter()
        .filter(|c| text.contains(**c))
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}

/// Validates a key of labels or annotations.
pub fn qualified_name(text: &str) -> Vec<String> {
    const MESSAGE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must \
                           start and end with an alphanumeric character";
    const EXAMPLES: &[&str] = &["MyName", "my.name", "123-abc"];
    let mut found = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                found.push("prefix part must be non-empty".to_owned());
            } else {
                let wrong = dns_subdomain(prefix);
                found.extend(wrong.into_iter().map(|said| {
                    format!(
                        "prefix part {}",
                        said.replace("253 characters", "253 bytes")
                    )
                }));
            }
            *name
        }
        _ => {
            let said = regex_message(MESSAGE, QUALIFIED, EXAMPLES);
            found.push(format!(
                "a valid label key {said} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            ));
            return found;
        }
    };
    if name.is_empty() {
        found.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        found.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified(name) {
        let said = regex_message(MESSAGE, QUALIFIED, EXAMPLES);
        found.push(format!("name part {said}"));
    }
    found
}

/// Validates a label value.
pub fn label_value(text: &str) -> Vec<String> {
    let mut found = too_long(text, 63, "bytes");
    if !is_label_value(text) {
        found.push(regex_message(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', \
             '_' or '.', and must start and end with an alphanumeric character",
            LABEL_VALUE,
            &["MyValue", "my_value", "12345"],
        ));
    }
    found
}

/// Validates a data key of a ConfigMap or Secret.
pub fn config_key(text: &str) -> Vec<String> {
    let mut found = too_long(text, 253, "characters");
    if !is_config_key(text) {
        found.push(regex_message(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            CONFIG_KEY,
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match text {
        "." | ".." => found.push(format!("must not be '{text}'")),
        _ if text.starts_with("..") => found.push("must not start with '..'".to_owned()),
        _ => {}
    }
    found
}

/// Validates a port name (IANA_SVC_NAME).
pub fn port_name(text: &str) -> Vec<String> {
    let mut found = too_long(text, 15, "characters");
    let right = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let mut add = |wrong: bool, message: &str| {
        if wrong {
            found.push(message.to_owned());
        }
    };
    add(
        text.is_empty() || !text.chars().all(right),
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    );
    add(
        !text.chars().any(|c| c.is_ascii_lowercase()),
        "must contain at least one letter (a-z)",
    );
    add(text.contains("--"), "must not contain consecutive hyphens");
    add(
        text.starts_with('-') || text.ends_with('-'),
        "must not begin or end with a hyphen",
    );
    found
}

/// Validates the name of an environment variable (`IsRelaxedEnvVarName`).
pub fn environment_name(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.is_empty() {
        found.push("environment variable name must be non-empty".to_owned());
    }
    if !text.chars().all(|c| (' '..='~').contains(&c) && c != '=') {
        found.push(
            "a valid environment variable name must consist only of printable ASCII characters \
             other than '='"
                .to_owned(),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_validation_messages_match_apimachinery() {
        assert_eq!(
            dns_subdomain("Bad_Name"),
            [
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                 characters, '-' or '.', and must start and end with an alphanumeric character \
                 (e.g. 'example.com', regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ]
        );
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
        assert!(dns_label("my-name").is_empty());
        assert!(qualified_name("example.com/My_Name").is_empty());
        assert_eq!(qualified_name("/x"), ["prefix part must be non-empty"]);
        assert!(!label_value("-x").is_empty() && label_value("").is_empty());
        assert_eq!(
            path_segment("a/b%c"),
            ["may not contain '/'", "may not contain '%'"]
        );
    }
}
