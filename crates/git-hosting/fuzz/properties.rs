//! Properties of the crate `drover-git-hosting` that are true for any input. The fuzzer checks the
//! properties with generated inputs, and `cargo test` checks the properties with the corpus.

use drover_git_hosting::{cgi, credential};
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, EXPIRES, PRAGMA};
use http::{HeaderMap, HeaderValue};

/// Checks that the number of credentials stays the same, and that the result is not a basic
/// credential with a password that a header can contain.
pub(crate) fn credential(data: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(data) else {
        return;
    };
    let mut headers = HeaderMap::new();
    headers.append(AUTHORIZATION, value.clone());
    headers.append(AUTHORIZATION, value);
    credential::password_as_bearer(&mut headers);
    let values: Vec<_> = headers.get_all(AUTHORIZATION).iter().collect();
    assert_eq!(values.len(), 2);
    assert_eq!(values[0], values[1]);
    let before = headers.clone();
    credential::password_as_bearer(&mut headers);
    assert_eq!(before, headers, "a bearer token stays unchanged");
}

/// Checks that the head has only allowed headers, and that more output does not change the head.
pub(crate) fn response_head(data: &[u8]) {
    let Ok(Some((head, offset))) = cgi::parse(data) else {
        return;
    };
    assert!(offset <= data.len().min(cgi::MAX_HEAD));
    assert_eq!(data[offset - 1], b'\n');
    assert!(!head.status.is_informational());
    let allowed = [CACHE_CONTROL, CONTENT_TYPE, EXPIRES, PRAGMA];
    assert!(head.headers.keys().all(|name| allowed.contains(name)));
    assert_eq!(cgi::parse(&data[..offset]), Ok(Some((head, offset))));
}
