//! Regular expressions of schemas.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use regex::Regex;

/// Maximum size of a compiled pattern, in bytes.
const MAX_PROGRAM_BYTES: usize = 1 << 20;

/// A pattern that is compiled on first use. Clones share the compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    text: Box<str>,
    program: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Creates a pattern without compiling it.
    pub fn new(text: &str) -> Self {
        Self(Arc::new(Inner {
            text: text.into(),
            program: OnceLock::new(),
        }))
    }

    /// Returns the source text of the pattern.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Reports whether the text matches. A pattern with errors matches every text. CRD validation
    /// rejects such patterns.
    pub fn matches(&self, text: &str) -> bool {
        let program = self.0.program.get_or_init(|| compile(&self.0.text));
        program
            .as_ref()
            .is_none_or(|program| program.is_match(text))
    }
}

/// Compiles a pattern. Returns `None` if the pattern has errors.
pub(crate) fn compile(pattern: &str) -> Option<Regex> {
    // RE2's `\\Z` is `\\z` in this engine.
    let pattern: Cow<'_, str> = if pattern.contains(r"\Z") {
        pattern.replace(r"\Z", r"\z").into()
    } else {
        pattern.into()
    };
    regex::RegexBuilder::new(&pattern)
        .size_limit(MAX_PROGRAM_BYTES)
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_schema_pattern_share_the_compiled_regex() {
        let pattern = Pattern::new(r"^a+\Z");
        let shared = pattern.clone();
        assert!(pattern.0.program.get().is_none());
        assert!(shared.matches("aa") && !shared.matches("ab"));
        let program = pattern.0.program.get().unwrap().as_ref().unwrap();
        assert!(!pattern.matches("b"));
        let again = shared.0.program.get().unwrap().as_ref().unwrap();
        assert!(std::ptr::eq(program, again));
    }
}
