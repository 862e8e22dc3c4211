//! Checks the properties of the fuzzers with their stored corpora, as ordinary tests.

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
fn credential_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("credential", properties::credential);
}

#[test]
fn response_head_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("response_head", properties::response_head);
}
