//! Names of releases, equal to Fleet's names.

mod md5;

use md5::md5;

/// Maximum length of the name of a Helm release.
const MAX_RELEASE_NAME: usize = 53;
/// Number of hexadecimal digits that mark a shortened name.
const SHORTENED_DIGITS: usize = 5;
/// Number of hexadecimal digits that mark a name with changed characters.
const CHANGED_DIGITS: usize = 8;
/// Number of hexadecimal digits of a name without valid characters.
const HASH_DIGITS: usize = 24;
/// Maximum length of the value of a label.
const MAX_LABEL: usize = 63;

/// Returns the name of the release for a bundle deployment without a configured name.
pub fn release_name(deployment: &str) -> String {
    let mut name = deployment.replace('/', "-");
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name
        .chars()
        .any(|c| !is_allowed(c) || c.is_ascii_uppercase())
        || name != name.to_lowercase()
    {
        name = format!("{name}-{}", hash(&name, CHANGED_DIGITS));
    }
    let mut clean = String::with_capacity(name.len());
    for c in name.to_lowercase().chars() {
        let c = if is_allowed(c) { c } else { '-' };
        if c != '-' || !clean.ends_with('-') {
            clean.push(c);
        }
    }
    let clean = clean.trim_matches('-');
    if clean.is_empty() {
        return hash(deployment, HASH_DIGITS);
    }
    limit(clean, MAX_RELEASE_NAME)
}

/// Returns the value of the label of the objects of a bundle deployment.
pub fn label_value(deployment: &str) -> String {
    limit(deployment, MAX_LABEL)
}

/// Shortens an ASCII text, and marks the short text with a hash.
fn limit(text: &str, length: usize) -> String {
    if text.len() <= length {
        return text.to_owned();
    }
    let mut end = length - SHORTENED_DIGITS - 1;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let start = &text[..end];
    let separator = if start.ends_with('-') { "" } else { "-" };
    format!("{start}{separator}{}", hash(text, SHORTENED_DIGITS))
}

/// Returns the first digits of the MD5 hash. Fleet uses the hash in names, not for security.
fn hash(text: &str, digits: usize) -> String {
    let mut hex = hex(&md5(text.as_bytes()));
    hex.truncate(digits);
    hex
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_release_names_stay_unchanged() {
        assert_eq!(release_name("web-frontend"), "web-frontend");
        let longest = "a".repeat(53);
        assert_eq!(release_name(&longest), longest);
    }

    #[test]
    fn long_release_name_ends_with_a_hash() {
        let name = release_name(&"a".repeat(54));
        assert_eq!(
            name,
            format!("{}-{}", "a".repeat(47), &hash(&"a".repeat(54), 5))
        );
        assert_eq!(name.len(), 53);
    }

    #[test]
    fn changed_release_names_differ_from_each_other() {
        let names = ["Web", "web", "w.eb", "w_eb"].map(release_name);
        let mut unique = names.to_vec();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), 4, "{names:?}");
        for name in names {
            assert!(
                name.bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            );
        }
    }

    #[test]
    fn release_name_without_valid_characters_is_a_hash() {
        assert_eq!(release_name("///").len(), HASH_DIGITS);
    }
}
