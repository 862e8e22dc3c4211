//! Runs the fuzz targets on their corpora.

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
fn report_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("report", properties::report);
}

#[test]
fn connect_proof_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("proof", properties::proof);
}

#[test]
fn audit_position_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("continue", properties::position);
}

#[test]
fn review_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("review", properties::review);
}

#[test]
fn proxy_protocol_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("proxy_header", properties::proxy_header);
}

#[test]
fn forwarded_address_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("forwarded", properties::forwarded);
}
