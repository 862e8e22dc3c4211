//! Checks the properties of the fuzz target with its corpus.

#[path = "../../fuzz/properties.rs"]
mod properties;

#[test]
fn kubeconfig_properties_are_true_for_the_fuzz_corpus() {
    let package = env!("CARGO_MANIFEST_DIR");
    drover_fuzz_corpus::replay(package, "kubeconfig", properties::kubeconfig);
}
