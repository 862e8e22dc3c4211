//! Properties of authentication and impersonation for arbitrary bytes. The fuzzer and `cargo test`
//! check these properties.

use std::sync::{Arc, LazyLock};

use drover_apiserver::access::{
    Attributes, Authenticate, Caller, Impersonation, Keys, Objects, Rbac, Target, Tokens,
    TokensOptions,
};
use drover_apiserver::status::ApiError;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// An object store in which every object exists.
struct AllObjects;

impl Objects for AllObjects {
    fn find<'a>(
        &'a self,
        _group: &'a str,
        _resource: &'a str,
        _namespace: &'a str,
        _name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, ApiError>> {
        Box::pin(ready(Ok(Some(json!({"metadata": {"uid": ""}})))))
    }
}

static TOKENS: LazyLock<Tokens> = LazyLock::new(|| {
    let keys = Keys::generate().expect("the system's random number generator works");
    Tokens::new(TokensOptions::default(), keys, Arc::new(AllObjects))
});

/// Checks that arbitrary bytes do not authenticate as a token. The input cannot contain a valid
/// signature, because the signing key is random.
pub(crate) fn token(data: &[u8]) {
    let Ok(token) = std::str::from_utf8(data) else {
        return;
    };
    let answer = TOKENS.authenticate(token, &[]).now_or_never();
    let answer = answer.expect("the lookup in memory does not wait");
    assert!(
        !matches!(answer, Ok(Some(_))),
        "{token:?} authenticates as {answer:?}"
    );
}

/// Checks that the server rejects impersonation by a caller who lacks the permission. Checks that a
/// caller who has the permission becomes the user in the impersonation headers. Checks in both
/// cases that the server removes the headers.
pub(crate) fn impersonation(data: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts
            .next()
            .and_then(|name| HeaderName::from_bytes(name).ok());
        let value = parts
            .next()
            .and_then(|value| HeaderValue::from_bytes(value).ok());
        if let Some((name, value)) = name.zip(value) {
            headers.append(name, value);
        }
    }
    let user = headers.get("impersonate-user").cloned();
    for (requestor, may) in [
        (Caller::user("nobody", []), false),
        (Caller::privileged("root"), true),
    ] {
        let mut headers = headers.clone();
        let attributes = Attributes {
            caller: &requestor,
            verb: "get",
            target: Target::Path("/"),
        };
        let impersonation = Impersonation::default();
        let answer = impersonation.impersonate(&mut headers, &attributes, &Rbac::new());
        if answer.is_ok() {
            assert!(!known(&headers), "{headers:?}");
        }
        match answer {
            Ok(Some(caller)) => {
                assert!(may, "{caller:?}");
                let named = user.as_ref().map(HeaderValue::as_bytes);
                assert_eq!(Some(caller.name.as_bytes()), named);
                assert!(!caller.groups.is_empty());
            }
            Ok(None) => assert!(user.as_ref().is_none_or(HeaderValue::is_empty)),
            Err(error) => assert!(matches!(error.code.as_u16(), 400 | 403), "{error}"),
        }
    }
}

fn known(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let name = name.as_str();
        matches!(
            name,
            "impersonate-user" | "impersonate-uid" | "impersonate-group"
        ) || name.starts_with("impersonate-extra-")
    })
}
