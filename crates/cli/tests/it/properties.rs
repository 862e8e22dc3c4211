//! Properties that are true for any input.

use drover_fuzz_corpus::replay;
use proptest::prelude::*;

use crate::fuzz_properties;

/// Parts of JSONPath templates, which random templates combine.
const PARTS: &[&str] = &[
    "{",
    "}",
    "{range ",
    "{end}",
    ".",
    "..",
    "*",
    "[",
    "]",
    "[*]",
    "[0]",
    "[-1]",
    "[0:1]",
    "[0,1]",
    "?(",
    "(",
    ")",
    "@",
    "$",
    ".items",
    ".metadata",
    ".name",
    "==",
    "!=",
    "<",
    ">=",
    "&&",
    "||",
    "!",
    "\"a\"",
    "'b'",
    "\"",
    "'",
    "\\",
    "1",
    " ",
    "é",
    "\u{2028}",
    "x.y/z",
    "length(",
    "match(",
];

proptest! {
    #[test]
    fn no_combination_of_template_parts_panics(parts in prop::collection::vec(0..PARTS.len(), 0..24)) {
        let text: String = parts.iter().map(|part| PARTS[*part]).collect();
        fuzz_properties::jsonpath(text.as_bytes());
        fuzz_properties::jsonpath(format!("{{{text}}}").as_bytes());
    }

    #[test]
    fn no_line_controls_the_terminal(line in "[\\x1b\\[m0-9;:a\\u{9b}\\r\\t é]{0,40}", text in any::<Vec<u8>>()) {
        fuzz_properties::terminal(line.as_bytes());
        fuzz_properties::terminal(&text);
    }
}

#[test]
fn corpus_of_the_fuzz_targets_has_no_panic() {
    for (target, property) in [
        ("jsonpath", fuzz_properties::jsonpath as fn(&[u8])),
        ("terminal", fuzz_properties::terminal),
    ] {
        replay(env!("CARGO_MANIFEST_DIR"), target, property);
    }
}
