//! Replays the fuzzers' corpora as tests.

#[path = "../../fuzz/access.rs"]
mod access;
#[path = "../../fuzz/edge.rs"]
mod edge;
#[path = "../../fuzz/kinds.rs"]
mod kinds;
#[path = "../../fuzz/properties.rs"]
mod properties;

/// Replays a corpus of the fuzzers. `testkit` has a function with the same purpose. This crate
/// cannot use that function, because `testkit` depends on the tunnel crate.
fn replay(target: &str, property: fn(&[u8])) {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut seen = 0;
    for entry in std::fs::read_dir(&corpus).unwrap() {
        property(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(
        seen >= 5,
        "the corpus {} has only {seen} entries",
        corpus.display()
    );
}

#[test]
fn field_set_property_tests_pass_for_the_fuzz_corpus() {
    replay("fields", properties::fields);
}

#[test]
fn label_selector_property_tests_pass_for_the_fuzz_corpus() {
    replay("labels", properties::labels);
}

#[test]
fn field_selector_property_tests_pass_for_the_fuzz_corpus() {
    replay("field-selector", properties::field_selector);
}

#[test]
fn patch_property_tests_pass_for_the_fuzz_corpus() {
    replay("patch", properties::patch);
}

#[test]
fn field_owner_property_tests_pass_for_the_fuzz_corpus() {
    replay("owners", properties::owners);
}

#[test]
fn token_property_tests_pass_for_the_fuzz_corpus() {
    replay("token", access::token);
}

#[test]
fn impersonation_property_tests_pass_for_the_fuzz_corpus() {
    replay("impersonation", access::impersonation);
}

#[test]
fn stored_value_property_tests_pass_for_the_fuzz_corpus() {
    replay("stored", properties::stored);
}

#[test]
fn request_path_property_tests_pass_for_the_fuzz_corpus() {
    replay("path", edge::path);
}

#[test]
fn query_property_tests_pass_for_the_fuzz_corpus() {
    replay("query", edge::query);
}

#[test]
fn accept_header_property_tests_pass_for_the_fuzz_corpus() {
    replay("accept", edge::accept);
}

#[test]
fn continue_token_property_tests_pass_for_the_fuzz_corpus() {
    replay("page", edge::page);
}

#[test]
fn protobuf_body_property_tests_pass_for_the_fuzz_corpus() {
    replay("protobuf", edge::protobuf);
}

#[test]
fn request_body_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("body", edge::body);
}

#[test]
fn quantity_property_tests_pass_for_the_fuzz_corpus() {
    replay("quantity", kinds::quantity);
}

#[test]
fn printer_column_property_tests_pass_for_the_fuzz_corpus() {
    replay("column", kinds::column);
}

#[test]
fn schema_property_tests_pass_for_the_fuzz_corpus() {
    replay("schema", kinds::schema);
}
