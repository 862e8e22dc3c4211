//! What the page may do, as its `Content-Security-Policy` says.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::HeaderValue;
use parking_lot::RwLock;

/// Its own scripts and styles, nothing inline; WebAssembly; its own server.
const ALWAYS: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                      img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; \
                      form-action ";

/// What the page may do now; clones share it.
#[derive(Clone, Debug)]
pub struct Policy(Arc<RwLock<HeaderValue>>);

impl Default for Policy {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(header(&BTreeSet::new()))))
    }
}

impl Policy {
    /// Lets the page post forms to these origins and, because they lead back, to its own; nowhere
    /// if there is none.
    pub fn let_post(&self, origins: &BTreeSet<String>) {
        *self.0.write() = header(origins);
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.0.read().clone()
    }
}

fn header(origins: &BTreeSet<String>) -> HeaderValue {
    let mut text = format!(
        "{ALWAYS}{}",
        if origins.is_empty() {
            "'none'"
        } else {
            "'self'"
        }
    );
    // An origin has no more than this; what has would end the directive.
    let plain = |origin: &&String| {
        let host = origin.strip_prefix("https://");
        let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b);
        host.is_some_and(|host| !host.is_empty() && host.bytes().all(fits))
    };
    for origin in origins.iter().filter(plain) {
        text.push(' ');
        text.push_str(origin);
    }
    HeaderValue::try_from(text).expect("origins are letters, digits and -._:[]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_posts_to_the_origins_that_are_named_and_nowhere_else() {
        let policy = Policy::default();
        let actions = || {
            let header = policy.header();
            let text = header.to_str().unwrap().to_owned();
            text.split_once("form-action ").unwrap().1.to_owned()
        };
        assert_eq!(actions(), "'none'");
        let origins = [
            "https://idp.example:8443",
            "https://a; script-src *",
            "http://b",
        ];
        policy.let_post(&origins.map(str::to_owned).into());
        assert_eq!(actions(), "'self' https://idp.example:8443");
        policy.let_post(&BTreeSet::new());
        assert_eq!(actions(), "'none'");
    }
}
