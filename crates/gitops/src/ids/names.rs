//! Names that Fleet derives from other names.

use aws_lc_rs::digest::{SHA256, digest};

use super::content::{hex, sha256_hex};

/// Maximum length of the names of Helm releases and bundles.
const RELEASE_NAME_LENGTH: usize = 53;
/// Number of hexadecimal digits in shortened names.
const SHORT_HASH: usize = 5;

/// Joins parts with `-`. The result has at most 63 characters: the end of a longer text is replaced
/// by a hash.
#[must_use]
pub fn safe_concat_name(parts: &[&str]) -> String {
    let whole = parts.join("-");
    if whole.len() < 64 {
        return whole;
    }
    let hash = sha256_hex(whole.as_bytes());
    let last = whole.as_bytes()[56];
    if last.is_ascii_lowercase() || last.is_ascii_digit() {
        format!("{}-{}", head(&whole, 57), &hash[..5])
    } else {
        format!("{}-{}", head(&whole, 56), &hash[..6])
    }
}

/// Returns 12 hexadecimal digits of the SHA-256 of the first 100 bytes of a text.
#[must_use]
pub fn key_hash(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut hash = sha256_hex(&bytes[..bytes.len().min(100)]);
    hash.truncate(12);
    hash
}

/// Returns the first hexadecimal digits of the MD5 sum of a text. The sum is not a security measure.
#[must_use]
pub fn short_hash(text: &str, length: usize) -> String {
    let mut hash = hex(&md5::compute(text).0);
    hash.truncate(length);
    hash
}

/// Limits a text to `length` bytes. The end of a longer text is replaced by a hash.
#[must_use]
pub fn shorten(text: &str, length: usize) -> String {
    if text.len() <= length {
        return text.to_owned();
    }
    if length <= SHORT_HASH + 1 {
        return head(text, length).to_owned();
    }
    let head = head(text, length - SHORT_HASH - 1);
    let separator = if head.ends_with('-') { "" } else { "-" };
    format!("{head}{separator}{}", short_hash(text, SHORT_HASH))
}

/// Returns the first `length` bytes of a text, less if the end is inside of a character.
fn head(text: &str, length: usize) -> &str {
    let end = (0..=length.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// Returns the name of the bundle of a folder. The name is valid for a Helm release.
///
/// `path` is the folder in the repository. `options_file` is the fleet.yaml of a driven scan, or
/// empty.
#[must_use]
pub fn bundle_name(repo: &str, path: &str, options_file: &str) -> String {
    let mut joined = join(&[repo, path]);
    if !options_file.is_empty() {
        joined = join(&[&joined, without_extension(options_file)]);
    }
    release_name(&joined)
}

/// Joins path segments, without `.` and empty segments. A segment `..` removes its parent.
fn join(parts: &[&str]) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in parts.iter().flat_map(|part| part.split('/')) {
        match segment {
            "" | "." => {}
            ".." if segments.last().is_some_and(|last| *last != "..") => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    segments.join("/")
}

fn without_extension(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    match name.rfind('.') {
        Some(dot) => &file[..file.len() - (name.len() - dot)],
        None => file,
    }
}

/// Returns the name of the Helm release of a text, for example of the name of a bundle deployment.
#[must_use]
pub fn release_name(text: &str) -> String {
    let mut name = text.replace('/', "-");
    let is_kept = |char: char| char.is_ascii_alphanumeric() || char == '-';
    // Different texts must not have equal names after the replacement of characters.
    if name != name.to_lowercase() || !name.chars().all(is_kept) {
        name = format!("{name}-{}", short_hash(&name, 8));
    }
    let mut clean = String::new();
    for char in name.to_lowercase().chars() {
        let char = if is_kept(char) { char } else { '-' };
        if char != '-' || !clean.ends_with('-') {
            clean.push(char);
        }
    }
    let clean = clean.trim_matches('-');
    if clean.is_empty() {
        return short_hash(text, 24);
    }
    shorten(clean, RELEASE_NAME_LENGTH)
}

/// Returns the name of the namespace with the bundle deployments of a cluster.
#[must_use]
pub fn cluster_namespace(namespace: &str, name: &str) -> String {
    let hash = key_hash(&format!("{namespace}::{name}"));
    safe_concat_name(&["cluster", namespace, name, &hash])
}

/// Returns the name of the Cluster of an agent that registers with an unknown client ID.
#[must_use]
pub fn cluster_name(client_id: &str) -> String {
    safe_concat_name(&["cluster", &key_hash(client_id)])
}

/// Returns the name of the Secret with the credential of a registered agent.
#[must_use]
pub fn credential_secret_name(client_id: &str, client_random: &str) -> String {
    let hash = digest(&SHA256, format!("{client_id}{client_random}").as_bytes());
    let mut name = format!("c-{}", hex(hash.as_ref()));
    name.truncate(63);
    name
}
