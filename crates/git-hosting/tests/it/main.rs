//! Checks the properties of the fuzzers with their stored corpora, as ordinary tests.

#[path = "../../fuzz/properties.rs"]
mod properties;

use drover_fuzz_corpus::replay;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn credential_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "credential", properties::credential);
}

#[test]
fn response_head_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "response_head", properties::response_head);
}
