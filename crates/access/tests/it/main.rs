//! Runs the fuzzers' corpora as ordinary tests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../fuzz/properties.rs"]
mod properties;

fn replay(target: &str, property: fn(&[u8])) {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut seen = 0;
    for entry in std::fs::read_dir(&corpus).unwrap() {
        property(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= 5, "{} has only {seen} entries", corpus.display());
}

#[test]
fn properties_hold_for_corpus_of_paths() {
    replay("path", properties::path);
}

#[test]
fn properties_hold_for_corpus_of_headers() {
    replay("headers", properties::headers);
}

#[test]
fn properties_hold_for_corpus_of_tokens() {
    replay("token", properties::token);
}

#[test]
fn properties_hold_for_corpus_of_account_tokens() {
    replay("account_token", properties::account_token);
}

#[test]
fn properties_hold_for_corpus_of_settings() {
    replay("setting", properties::setting);
}
