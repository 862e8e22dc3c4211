//! The credential of git clients: HTTP basic authentication (RFC 7617) whose password is a token.
//! git cannot send bearer tokens without extra configuration.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

/// Replaces HTTP basic credentials by a bearer token: the password. Ignores the user name. Other
/// credentials and malformed credentials stay unchanged, so that the server's authenticator rejects
/// malformed credentials and several credentials.
pub fn password_as_bearer(headers: &mut HeaderMap) {
    for (name, value) in headers.iter_mut() {
        if name == AUTHORIZATION
            && let Some(bearer) = bearer(value)
        {
            *value = bearer;
        }
    }
}

fn bearer(value: &HeaderValue) -> Option<HeaderValue> {
    let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (_, password) = decoded.split_once(':')?;
    let mut bearer = HeaderValue::try_from(format!("Bearer {password}")).ok()?;
    bearer.set_sensitive(true);
    Some(bearer)
}

#[cfg(test)]
mod tests {
    use drover_access::credential::{CredentialError, Presented, presented};
    use secrecy::ExposeSecret as _;

    use super::*;

    fn token(values: &[&str]) -> Result<String, CredentialError> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        password_as_bearer(&mut headers);
        match presented(&headers)? {
            Presented::Bearer(token) => Ok(token.expose_secret().to_owned()),
            Presented::Cookie(_) => panic!("the headers contain no cookie"),
        }
    }

    fn basic(pair: &str) -> String {
        format!("Basic {}", STANDARD.encode(pair))
    }

    #[test]
    fn token_is_the_password_or_the_bearer_token() {
        for value in [basic("git:tok"), basic(":tok"), "bAsIc OnRvaw==".to_owned()] {
            assert_eq!(token(&[&value]), Ok("tok".to_owned()), "{value}");
        }
        assert_eq!(token(&["Bearer tok"]), Ok("tok".to_owned()));
        assert_eq!(token(&[&basic("a:b:c")]), Ok("b:c".to_owned()));
    }

    #[test]
    fn malformed_and_repeated_credentials_are_rejected() {
        use CredentialError::{Malformed, Missing, Several};
        assert_eq!(token(&[]), Err(Missing));
        let two = [basic("a:tok"), basic("a:tok")];
        assert_eq!(token(&[&two[0], &two[1]]), Err(Several));
        for value in [
            "Basic",
            "Basic ",
            "Basic %%%",
            &basic("tok"),
            &basic("tok:"),
            &basic("a:b c"),
            &basic("a:b\r\nx: y"),
        ] {
            assert_eq!(token(&[value]), Err(Malformed), "{value}");
        }
    }

    #[test]
    fn debug_output_of_the_bearer_token_hides_the_token() {
        let value = HeaderValue::from_str(&basic("git:hunter2")).unwrap();
        assert!(!format!("{:?}", bearer(&value)).contains("hunter2"));
    }
}
