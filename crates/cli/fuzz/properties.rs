//! Properties of the crate `drover-cli` that are true for any input. The fuzzer checks the
//! properties with generated inputs, and `cargo test` checks the properties with the corpus.

use drover_cli::jsonpath::Template;
use drover_cli::safe_line;
use serde_json::json;

/// Checks that no JSONPath template panics.
pub(crate) fn jsonpath(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let value = json!({"kind": "List", "items": [
        {"metadata": {"name": "a", "labels": {"x.y/z": "1"}}, "n": [1, null, true, {}]},
        {"metadata": {"name": "b"}, "n": []},
    ]});
    if let Ok(template) = Template::parse(text) {
        let _rendered = template.render(&value);
    }
}

/// Checks that a line for a terminal has no control characters, except tabs and complete color
/// sequences, and keeps all other characters.
pub(crate) fn terminal(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let safe = safe_line(&text);
    let mut rest = &*safe;
    while let Some(at) = rest.find('\x1b') {
        let after = rest[at + 1..].strip_prefix('[');
        let after =
            after.map(|s| s.trim_start_matches(|c: char| c.is_ascii_digit() || ";:".contains(c)));
        assert!(
            after.is_some_and(|after| after.starts_with('m')),
            "{safe:?}"
        );
        rest = &rest[at + 1..];
    }
    assert!(
        !safe
            .chars()
            .any(|c| c.is_control() && !"\t\x1b".contains(c))
    );
    let visible = |text: &str| {
        let characters = text.chars().filter(char::is_ascii_alphanumeric);
        characters.count()
    };
    assert!(visible(&safe) >= visible(&text), "{safe:?}");
}
