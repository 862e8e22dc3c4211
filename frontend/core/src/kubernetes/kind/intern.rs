//! Texts of discovered kinds with the lifetime of the page.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex};

/// Maximum length of a text in bytes.
const MAX_LENGTH: usize = 512;
/// Maximum number of texts. A page discovers about 200 texts per cluster.
const MAX_TEXTS: usize = 50_000;

static TEXTS: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);

/// Returns an equal text with the lifetime of the page. Returns `None` above the maximum length
/// and the maximum number of texts.
pub(super) fn intern(text: &str) -> Option<&'static str> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let mut texts = TEXTS.lock().ok()?;
    if let Some(known) = texts.get(text) {
        return Some(known);
    }
    if texts.len() >= MAX_TEXTS {
        return None;
    }
    let text: &'static str = Box::leak(text.into());
    texts.insert(text);
    Some(text)
}
