//! Runs the fuzz targets on their corpora.

#[path = "../../fuzz/properties.rs"]
mod properties;

use drover_fuzz_corpus::replay;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn report_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "report", properties::report);
}

#[test]
fn connect_proof_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "proof", properties::proof);
}

#[test]
fn audit_position_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "continue", properties::position);
}

#[test]
fn review_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "review", properties::review);
}

#[test]
fn proxy_protocol_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "proxy_header", properties::proxy_header);
}

#[test]
fn forwarded_address_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "forwarded", properties::forwarded);
}
