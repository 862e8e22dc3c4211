//! Checks the properties of the fuzzers with their stored corpora, as ordinary tests.

use std::path::Path;

#[path = "../../fuzz/properties.rs"]
mod properties;

#[test]
fn document_parser_property_tests_pass_for_the_fuzz_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/documents");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        properties::documents(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 6);
}
