//! What must hold for any bytes; run by the fuzzer and, over the corpus, by `cargo test`.

use drover_agent::report::health;

/// A report's list of components stays small and printable, whatever an API server answers.
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
