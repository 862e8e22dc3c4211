//! The fuzzers' corpora, as ordinary tests.

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
fn corpus_of_links_holds() {
    replay("link", properties::link);
}

#[test]
fn corpus_of_withheld_organizations_holds() {
    replay("withheld", properties::withheld);
}

#[test]
fn corpus_of_returns_holds() {
    replay("callback", properties::callback);
}
