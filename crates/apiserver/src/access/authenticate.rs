//! Bearer tokens and authenticators.

use futures::future::BoxFuture;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::Caller;
use super::identity::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED};

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticated {
    /// The user to whom the token belongs.
    pub caller: Caller,
    /// The requested audiences that the token is valid for.
    pub audiences: Vec<String>,
}

/// The reason why a token of a supported type is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AuthenticateError(pub String);

/// An authenticator of bearer tokens. The embedding program can implement this trait.
pub trait Authenticate: Send + Sync {
    /// Returns the user of a token that is valid for one of `audiences`. Returns `None` if the
    /// authenticator does not support this type of token.
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Authenticated>, AuthenticateError>>;
}

/// Calls the authenticators in order. Returns the result of the first authenticator that supports
/// the type of token.
impl<A: Authenticate + ?Sized> Authenticate for Vec<Box<A>> {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Authenticated>, AuthenticateError>> {
        Box::pin(async move {
            let mut errors: Vec<String> = Vec::new();
            for authenticator in self {
                match authenticator.authenticate(token, audiences).await {
                    Ok(None) => {}
                    Ok(known) => return Ok(known),
                    Err(AuthenticateError(text)) => errors.push(text),
                }
            }
            match errors.as_slice() {
                [] => Ok(None),
                errors => Err(AuthenticateError(errors.join(", "))),
            }
        })
    }
}

/// The bearer token in an `Authorization` header, if any.
#[derive(Debug, PartialEq, Eq)]
pub enum Bearer<'a> {
    /// The header contains no bearer token, so the caller is anonymous.
    None,
    /// The header contains an additional space, so the server ignores the token. The client
    /// receives this warning.
    Ignored(&'static str),
    /// The bearer token, which authenticators then check.
    Token(&'a str),
}

/// Parses the bearer token of a request as kube-apiserver does.
pub fn bearer(headers: &HeaderMap) -> Bearer<'_> {
    let Some(Ok(value)) = headers.get(AUTHORIZATION).map(|value| value.to_str()) else {
        return Bearer::None;
    };
    let mut parts = value.trim().splitn(3, ' ');
    let (scheme, token, rest) = (parts.next(), parts.next(), parts.next());
    match (scheme, token) {
        (Some(scheme), Some(token)) if scheme.eq_ignore_ascii_case("bearer") => {
            match (token, rest) {
                ("", Some(_)) => Bearer::Ignored(
                    "the provided Authorization header contains extra space before the bearer \
                     token, and is ignored",
                ),
                ("", None) => Bearer::None,
                (token, _) => Bearer::Token(token),
            }
        }
        _ => Bearer::None,
    }
}

/// Adds the group `system:authenticated`, unless the authenticator has added the group
/// `system:unauthenticated`.
#[must_use]
pub fn with_authenticated_group(mut caller: Caller) -> Caller {
    if caller.name == ANONYMOUS {
        caller.join(UNAUTHENTICATED);
    } else if !caller.in_group(UNAUTHENTICATED) {
        caller.join(AUTHENTICATED);
    }
    caller
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &'static str) -> Bearer<'static> {
        let headers = Box::leak(Box::new(HeaderMap::new()));
        headers.insert(AUTHORIZATION, value.parse().unwrap());
        bearer(headers)
    }

    #[test]
    fn bearer_scheme_is_case_insensitive() {
        assert_eq!(read("Bearer abc"), Bearer::Token("abc"));
        assert_eq!(read("bEARER abc ignored"), Bearer::Token("abc"));
        assert_eq!(bearer(&HeaderMap::new()), Bearer::None);
    }

    #[test]
    fn request_without_bearer_scheme_or_with_empty_token_is_anonymous() {
        for value in ["Basic abc", "Bearer", "Bearer ", "abc", ""] {
            assert_eq!(read(value), Bearer::None, "{value:?}");
        }
    }

    #[test]
    fn token_after_two_spaces_is_ignored_with_a_warning() {
        assert!(
            matches!(read("Bearer  abc"), Bearer::Ignored(text) if text.contains("extra space"))
        );
    }

    struct Fixed(Result<Option<&'static str>, &'static str>);

    impl Authenticate for Fixed {
        fn authenticate<'a>(
            &'a self,
            _token: &'a str,
            audiences: &'a [String],
        ) -> BoxFuture<'a, Result<Option<Authenticated>, AuthenticateError>> {
            let answer = match self.0 {
                Ok(name) => Ok(name.map(|name| Authenticated {
                    caller: Caller::user(name, []),
                    audiences: audiences.to_vec(),
                })),
                Err(text) => Err(AuthenticateError(text.to_owned())),
            };
            Box::pin(std::future::ready(answer))
        }
    }

    async fn ask(list: Vec<Fixed>) -> Result<Option<String>, String> {
        let list: Vec<Box<Fixed>> = list.into_iter().map(Box::new).collect();
        let answer = list.authenticate("t", &[]).await;
        answer
            .map(|known| known.map(|known| known.caller.name))
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn first_authenticator_that_accepts_the_token_determines_the_caller() {
        let known = ask(vec![
            Fixed(Ok(None)),
            Fixed(Err("bad")),
            Fixed(Ok(Some("u"))),
        ])
        .await;
        assert_eq!(known, Ok(Some("u".to_owned())));
        assert_eq!(ask(vec![Fixed(Ok(None))]).await, Ok(None));
        let errors = ask(vec![Fixed(Err("a")), Fixed(Ok(None)), Fixed(Err("b"))]).await;
        assert_eq!(errors, Err("a, b".to_owned()));
    }

    #[test]
    fn authenticated_caller_receives_group_system_authenticated() {
        let groups = |caller: Caller| with_authenticated_group(caller).groups;
        assert_eq!(groups(Caller::user("u", [])), ["system:authenticated"]);
        assert_eq!(groups(Caller::user("u", ["system:authenticated"])).len(), 1);
        assert_eq!(
            groups(Caller::user("u", ["system:unauthenticated"])),
            ["system:unauthenticated"]
        );
        assert_eq!(
            groups(Caller::user("system:anonymous", [])),
            ["system:unauthenticated"]
        );
    }
}
