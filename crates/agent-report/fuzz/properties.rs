//! Properties of the health parser that are true for any input. The fuzzer checks the properties with
//! generated inputs, and `cargo test` checks the properties with the corpus.

use drover_agent_report::health;

/// Checks that any response of an API server results in a small and printable list of components.
pub(crate) fn health(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let found = health::components(false, &text);
    assert!(!found.is_empty() && found.len() <= 65);
    for component in found {
        let all = component
            .name
            .chars()
            .chain(component.message.iter().flat_map(|m| m.chars()));
        assert!(!all.clone().any(char::is_control));
        assert!(all.count() <= 512);
    }
}
