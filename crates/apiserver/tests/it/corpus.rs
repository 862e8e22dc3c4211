//! The fuzzers' corpora, as ordinary tests.

#[path = "../../fuzz/access.rs"]
mod access;
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
fn corpus_of_field_sets_holds() {
    replay("fields", properties::fields);
}

#[test]
fn corpus_of_label_selectors_holds() {
    replay("labels", properties::labels);
}

#[test]
fn corpus_of_field_selectors_holds() {
    replay("field-selector", properties::field_selector);
}

#[test]
fn corpus_of_patches_holds() {
    replay("patch", properties::patch);
}

#[test]
fn corpus_of_owners_holds() {
    replay("owners", properties::owners);
}

#[test]
fn corpus_of_tokens_holds() {
    replay("token", access::token);
}

#[test]
fn corpus_of_impersonation_holds() {
    replay("impersonation", access::impersonation);
}

#[test]
fn corpus_of_stored_values_holds() {
    replay("stored", properties::stored);
}
