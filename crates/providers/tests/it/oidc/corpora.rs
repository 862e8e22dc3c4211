//! The fuzzers' corpora, as ordinary tests.

#[path = "../../../fuzz/properties/oidc.rs"]
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
fn corpus_of_callbacks_holds() {
    replay("oidc_callback", properties::callback);
}

#[test]
fn corpus_of_id_tokens_holds() {
    replay("oidc_id_token", properties::id_token);
}

#[test]
fn corpus_of_discovery_documents_holds() {
    replay("oidc_metadata", properties::metadata);
}

#[test]
fn corpus_of_keys_holds() {
    replay("oidc_keys", properties::keys);
}

#[test]
fn corpus_of_claims_holds() {
    replay("oidc_claims", properties::claims);
}
