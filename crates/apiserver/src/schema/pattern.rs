//! Patterns that texts must match.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use regex::Regex;

/// A pattern's compiled program may not grow beyond this.
const PROGRAM_BYTES: usize = 1 << 20;

/// A pattern of a schema, compiled when the first text is held against it. Clones share that.
#[derive(Debug, Clone)]
pub struct Pattern(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    text: Box<str>,
    program: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern as it is written.
    pub fn new(text: &str) -> Self {
        Self(Arc::new(Inner {
            text: text.into(),
            program: OnceLock::new(),
        }))
    }

    /// As it is written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Whether the text matches; everything matches what cannot be compiled, which no definition
    /// of a resource may have.
    pub fn matches(&self, text: &str) -> bool {
        let program = self.0.program.get_or_init(|| compile(&self.0.text));
        program
            .as_ref()
            .is_none_or(|program| program.is_match(text))
    }
}

/// A pattern's program, if it can be had.
pub(crate) fn compile(pattern: &str) -> Option<Regex> {
    // RE2 has a spelling that this engine has otherwise.
    let pattern: Cow<'_, str> = if pattern.contains(r"\Z") {
        pattern.replace(r"\Z", r"\z").into()
    } else {
        pattern.into()
    };
    regex::RegexBuilder::new(&pattern)
        .size_limit(PROGRAM_BYTES)
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_compiled_once_for_all_who_share_it() {
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
