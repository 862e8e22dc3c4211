//! The `Content-Security-Policy` of the page.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::HeaderValue;
use parking_lot::RwLock;

/// The constant directives of the policy. The directives allow the page's scripts, styles,
/// images and fonts, WebAssembly, and requests to this server. Inline scripts and inline styles are
/// forbidden.
const ALWAYS: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                      img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; \
                      frame-ancestors 'none'; form-action ";

/// The current policy of the page. Clones share the policy.
#[derive(Clone, Debug)]
pub struct Policy(Arc<RwLock<HeaderValue>>);

impl Default for Policy {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(header(&BTreeSet::new()))))
    }
}

impl Policy {
    /// Allows the page to post forms to these origins and to the page's origin. The page's origin
    /// is necessary because the identity provider redirects the browser to Drover. An empty set
    /// forbids all forms.
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
    // An origin has only these characters; any other could end the directive.
    let plain = |origin: &&String| {
        let host = origin.strip_prefix("https://");
        let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b);
        host.is_some_and(|host| !host.is_empty() && host.bytes().all(fits))
    };
    for origin in origins.iter().filter(plain) {
        text.push(' ');
        text.push_str(origin);
    }
    HeaderValue::try_from(text).expect("origins contain only letters, digits and -._:[]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_security_policy_allows_form_posts_only_to_configured_origins() {
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
