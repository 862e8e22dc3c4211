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
fn corpus_of_reports_holds() {
    replay("report", properties::report);
}

#[test]
fn corpus_of_proofs_holds() {
    replay("proof", properties::proof);
}

#[test]
fn corpus_of_places_in_the_audit_log_holds() {
    replay("continue", properties::position);
}

#[test]
fn corpus_of_reviews_holds() {
    replay("review", properties::review);
}

#[test]
fn corpus_of_proxy_headers_holds() {
    replay("proxy_header", properties::proxy_header);
}

#[test]
fn corpus_of_forwarded_addresses_holds() {
    replay("forwarded", properties::forwarded);
}
