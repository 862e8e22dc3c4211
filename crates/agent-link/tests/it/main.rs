//! Checks the properties of the fuzzer with its stored corpus, as ordinary tests.

#[path = "../../fuzz/properties.rs"]
mod properties;

use drover_fuzz_corpus::replay;

#[test]
fn binding_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(env!("CARGO_MANIFEST_DIR"), "binding", properties::binding);
}
