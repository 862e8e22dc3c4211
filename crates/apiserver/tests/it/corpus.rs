//! Replays the fuzzers' corpora as tests.

#[path = "../../fuzz/access.rs"]
mod access;
#[path = "../../fuzz/edge.rs"]
mod edge;
#[path = "../../fuzz/kinds.rs"]
mod kinds;
#[path = "../../fuzz/properties.rs"]
mod properties;

use drover_fuzz_corpus::replay;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn field_set_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "fields", properties::fields);
}

#[test]
fn label_selector_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "labels", properties::labels);
}

#[test]
fn field_selector_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "field-selector", properties::field_selector);
}

#[test]
fn patch_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "patch", properties::patch);
}

#[test]
fn field_owner_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "owners", properties::owners);
}

#[test]
fn token_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "token", access::token);
}

#[test]
fn impersonation_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "impersonation", access::impersonation);
}

#[test]
fn stored_value_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "stored", properties::stored);
}

#[test]
fn request_path_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "path", edge::path);
}

#[test]
fn query_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "query", edge::query);
}

#[test]
fn accept_header_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "accept", edge::accept);
}

#[test]
fn continue_token_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "page", edge::page);
}

#[test]
fn protobuf_body_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "protobuf", edge::protobuf);
}

#[test]
fn request_body_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "body", edge::body);
}

#[test]
fn quantity_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "quantity", kinds::quantity);
}

#[test]
fn printer_column_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "column", kinds::column);
}

#[test]
fn schema_property_tests_pass_for_the_fuzz_corpus() {
    replay(PACKAGE, "schema", kinds::schema);
}
