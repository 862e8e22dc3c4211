//! Properties of the crate `drover-access` that are true for any input. The fuzzer checks the
//! properties with generated inputs, and `cargo test` checks the properties with the corpus.

use drover_access::account_token::AccountToken;
use drover_access::endpoint::token_review::TokenReview;
use drover_access::endpoint::{Directory, Tokens, parse_state};
use drover_access::path::{CLUSTER_PATH_PREFIX, ClusterPath};
use drover_access::setting::Setting;
use drover_access::token::{RegistrationToken, UserToken};
use drover_access::{credential, guard, headers, impersonation};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

/// Checks that the server and the agent reach the same decision about a path. Checks that an
/// accepted path starts with a single `/` and has no segment `.` or `..`.
pub(crate) fn path(data: &[u8]) {
    if let Ok(rest) = Uri::try_from(data)
        && let Ok(whole) = Uri::try_from([CLUSTER_PATH_PREFIX.as_bytes(), b"a", data].concat())
        && data.first() == Some(&b'/')
    {
        let lane = (
            HeaderName::from_static("drover-lane"),
            HeaderValue::from_static("controller"),
        );
        let admitted = guard::admit(&Method::GET, &rest, &HeaderMap::from_iter([lane]));
        assert_eq!(admitted.is_ok(), ClusterPath::parse(&whole).is_ok());
    }
    let Ok(uri) = Uri::try_from([CLUSTER_PATH_PREFIX.as_bytes(), data].concat()) else {
        return;
    };
    let Ok(path) = ClusterPath::parse(&uri) else {
        return;
    };
    assert!(path.rest.as_str().starts_with('/') && !path.rest.as_str().starts_with("//"));
    assert!(
        !path
            .rest
            .path()
            .split('/')
            .any(|segment| segment == ".." || segment == ".")
    );
}

/// Checks that `strip_inbound` removes every credential, every impersonation header and every
/// `drover-*` header from a request.
pub(crate) fn headers(data: &[u8]) {
    let mut map = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
            continue;
        };
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        {
            map.append(name, value);
        }
    }
    let _ = credential::presented(&map);
    let _ = impersonation::requested(&map, |_| None);
    let _ = guard::admit(&Method::GET, &Uri::from_static("/api"), &map);
    headers::strip_inbound(&mut map);
    assert_eq!(
        credential::presented(&map).err(),
        Some(credential::CredentialError::Missing)
    );
    assert!(matches!(impersonation::requested(&map, |_| None), Ok(None)));
    assert!(!map.keys().any(|name| name.as_str().starts_with("drover-")));
}

/// Checks that a text is not both a valid user token and a valid registration token.
pub(crate) fn token(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    assert!(UserToken::parse(text).is_none() || RegistrationToken::parse(text).is_none());
}

/// Checks that a service account's token is not a valid Drover token, and that the parsed token
/// contains the unchanged text.
pub(crate) fn account_token(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Some(token) = AccountToken::parse(text) else {
        return;
    };
    assert!(UserToken::parse(text).is_none() && RegistrationToken::parse(text).is_none());
    assert_eq!(token.expose(), text);
    let mut bound = token.bound_objects().iter();
    assert!(bound.next().is_none_or(|account| account.uid.is_some()));
}

/// Checks that the effective value of every setting is valid for any configured text.
pub(crate) fn setting(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for setting in Setting::ALL {
        assert!(setting.check(setting.in_effect(text)).is_ok());
    }
}

/// Checks that the webhook authenticates no token review that the fuzzer creates, and that parsed
/// Secrets contain only names of Drover.
pub(crate) fn endpoint(data: &[u8]) {
    let mut directory = Directory {
        state: parse_state(data).ok(),
        ..Directory::default()
    };
    if let Ok(tokens) = Tokens::parse(data) {
        assert!(tokens.identities().all(|identity| {
            identity.user().as_str().starts_with("drover:user:")
                && identity
                    .groups()
                    .iter()
                    .all(|it| it.as_str().starts_with("drover:"))
        }));
        directory.tokens.insert("a".to_owned(), tokens);
    }
    if let Some(review) = TokenReview::parse(data) {
        let (code, answer) = review.answer(Some(&directory), jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(code, 200);
        assert_eq!(answer["status"]["authenticated"], false);
    }
}
