//! Checks the properties of the fuzzers with their stored corpora, as ordinary tests.

#[path = "../../fuzz/properties.rs"]
mod properties;

use drover_fuzz_corpus::{entries, replay};

#[test]
fn document_parser_property_tests_pass_for_the_fuzz_corpus() {
    for entry in entries(env!("CARGO_MANIFEST_DIR"), "documents", 6) {
        properties::documents(&entry);
    }
}

#[test]
fn resource_decoder_property_tests_pass_for_the_fuzz_corpus() {
    replay(
        env!("CARGO_MANIFEST_DIR"),
        "resources",
        properties::resources,
    );
}
