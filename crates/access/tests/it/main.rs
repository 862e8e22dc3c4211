//! Checks the properties of the fuzzers with their stored corpora, as ordinary tests.

#[path = "../../fuzz/properties.rs"]
mod properties;

use drover_fuzz_corpus::replay;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn path_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "path", properties::path);
}

#[test]
fn header_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "headers", properties::headers);
}

#[test]
fn token_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "token", properties::token);
}

#[test]
fn account_token_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "account_token", properties::account_token);
}

#[test]
fn setting_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "setting", properties::setting);
}

#[test]
fn endpoint_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "endpoint", properties::endpoint);
}
