//! Replays the fuzzers' corpora as tests.

#[path = "../../fuzz/access.rs"]
mod access;
#[path = "../../fuzz/edge.rs"]
mod edge;
#[path = "../../fuzz/kinds.rs"]
mod kinds;
#[path = "../../fuzz/properties.rs"]
mod properties;

/// A copy of the function in other crates: their common crate `testkit` depends on the tunnel,
/// which this crate does not know.
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
fn corpus_of_field_sets_holds() {
    replay("fields", properties::fields);
}

#[test]
fn corpus_of_label_selectors_holds() {
    replay("labels", properties::labels);
}

#[test]
fn corpus_of_field_selectors_holds() {
    replay("field-selector", properties::field_selector);
}

#[test]
fn corpus_of_patches_holds() {
    replay("patch", properties::patch);
}

#[test]
fn corpus_of_owners_holds() {
    replay("owners", properties::owners);
}

#[test]
fn corpus_of_tokens_holds() {
    replay("token", access::token);
}

#[test]
fn corpus_of_impersonation_holds() {
    replay("impersonation", access::impersonation);
}

#[test]
fn corpus_of_stored_values_holds() {
    replay("stored", properties::stored);
}

#[test]
fn corpus_of_paths_holds() {
    replay("path", edge::path);
}

#[test]
fn corpus_of_queries_holds() {
    replay("query", edge::query);
}

#[test]
fn corpus_of_accepted_types_holds() {
    replay("accept", edge::accept);
}

#[test]
fn corpus_of_continue_tokens_holds() {
    replay("page", edge::page);
}

#[test]
fn corpus_of_protobuf_bodies_holds() {
    replay("protobuf", edge::protobuf);
}

#[test]
fn corpus_of_bodies_holds() {
    replay("body", edge::body);
}

#[test]
fn corpus_of_quantities_holds() {
    replay("quantity", kinds::quantity);
}

#[test]
fn corpus_of_columns_holds() {
    replay("column", kinds::column);
}

#[test]
fn corpus_of_schemas_holds() {
    replay("schema", kinds::schema);
}
