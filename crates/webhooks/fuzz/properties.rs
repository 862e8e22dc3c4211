//! Properties of the crate `drover-webhooks` that are true for any input. The fuzzer checks the
//! properties with generated inputs, and `cargo test` checks the properties with the corpus.

use drover_webhooks::{Delivery, Provider, matches};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Checks that a request without a valid signature is never verified, and that a parsed push has a
/// repository. The input has one header per line, an empty line and the body.
pub(crate) fn delivery(data: &[u8]) {
    let end = data.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = end.map_or((data, &b""[..]), |end| (&data[..end], &data[end + 2..]));
    let mut headers = HeaderMap::new();
    for line in head.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        if let (Some(name), Some(value)) = (parts.next(), parts.next())
            && let Ok(name) = HeaderName::from_bytes(name)
            && let Ok(value) = HeaderValue::from_bytes(value.trim_ascii())
        {
            headers.append(name, value);
        }
    }
    let Some(provider) = Provider::detect(&headers) else {
        return;
    };
    let secret = b"a secret that no generated input contains";
    assert!(provider.verify(&headers, body, |_| Some(secret)).is_err());
    assert!(provider.verify(&headers, body, |_| None).is_err());
    if let Ok(Delivery::Push(push)) = provider.parse(&headers, body) {
        assert!(!push.urls.is_empty());
        for url in &push.urls {
            let git = format!("{url}.git");
            assert!(!matches(url, &git) || matches(&git, url));
        }
    }
}
