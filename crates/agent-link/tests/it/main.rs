//! Checks the properties of the fuzzer with its stored corpus, as ordinary tests.

#[path = "../../fuzz/properties.rs"]
mod properties;

#[test]
fn binding_parser_property_tests_pass_for_the_fuzz_corpus() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/binding");
    let mut count = 0;
    for entry in std::fs::read_dir(&corpus).unwrap() {
        properties::binding(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 5, "{} has only {count} entries", corpus.display());
}
