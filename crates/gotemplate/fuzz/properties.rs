//! Properties of the crate `drover-gotemplate` that are true for any input. The fuzzer checks the
//! properties with generated inputs, and `cargo test` checks the properties with the corpus.

use drover_gotemplate::{Delimiters, Limits, Template};
use serde_json::json;

/// Checks that no template panics, and that a rendered text is within the limit.
pub(crate) fn render(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let limits = Limits {
        output_bytes: 10_000,
        steps: 20_000,
        depth: 100,
    };
    let values = json!({"a": {"b": [1, "x", null, 2.5]}, "s": "text", "e": {}});
    for delimiters in [Delimiters::GO, Delimiters::FLEET] {
        if let Ok(template) = Template::parse(text, delimiters)
            && let Ok(rendered) = template.render(&values, limits)
        {
            assert!(rendered.len() <= limits.output_bytes);
        }
    }
}
