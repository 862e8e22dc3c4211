//! A simulated browser that signs in at the test provider.

use std::collections::HashMap;

use reqwest::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Certificate, Client, RequestBuilder, Response, Url, redirect};

use super::{CLIENT, SECRET, Settings};

/// Maximum number of redirects that the browser follows.
const MAX_REDIRECTS: usize = 20;

/// A browser that follows redirects with cookies and submits forms.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    back: String,
    home: String,
    cookies: HashMap<String, String>,
}

/// Location of the browser: a page of the provider, or a redirect to a different host.
enum Location {
    Page { at: Url, text: String },
    Away(Url),
}

impl Location {
    fn away(self) -> Url {
        match self {
            Self::Away(url) => url,
            Self::Page { at, text } => unreachable!("the browser is still at {at}: {text}"),
        }
    }
}

impl Browser {
    /// Creates a browser that trusts this certificate authority (PEM). The browser stops at
    /// redirects to different hosts.
    pub fn new(authority: &str, settings: &Settings) -> Self {
        let authority = Certificate::from_pem(authority.as_bytes()).unwrap();
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .tls_certs_only([authority])
            .build();
        Self {
            client: client.unwrap(),
            back: settings.back.clone(),
            home: settings.home.clone(),
            cookies: HashMap::new(),
        }
    }

    /// Signs in and gives consent. Returns the URL that the provider redirects to.
    pub async fn sign_in(&mut self, url: Url, login: &str) -> Url {
        let mut location = self.go(url).await;
        for form in [
            vec![("prompt", "login"), ("login", login), ("password", "any")],
            vec![("prompt", "consent")],
        ] {
            let Location::Page { at, .. } = &location else {
                break;
            };
            location = self.send(at.clone(), &form).await;
        }
        location.away()
    }

    /// Cancels the sign-in on the provider's page.
    pub async fn cancel_sign_in(&mut self, url: Url) -> Url {
        let Location::Page { at, .. } = self.go(url).await else {
            unreachable!("the provider returned no page");
        };
        let abort = format!("{at}/abort").parse().unwrap();
        self.go(abort).await.away()
    }

    /// Submits the logout form of the provider and confirms the logout.
    pub async fn sign_out(&mut self, url: Url, fields: &[(&str, &str)]) -> Url {
        let Location::Page { at, text } = self.send(url, fields).await else {
            unreachable!("the provider returned no page");
        };
        let between = |start: &str| {
            let rest = text.split(start).nth(1);
            let rest = rest.unwrap_or_else(|| unreachable!("no {start} in {text}"));
            rest.split('"').next().unwrap().to_owned()
        };
        let xsrf = between("name=\"xsrf\" value=\"");
        let action = at.join(&between("action=\"")).unwrap();
        let form = [("xsrf", xsrf.as_str()), ("logout", "yes")];
        self.send(action, &form).await.away()
    }

    /// Returns true if the provider has a session and completes a sign-in without a login page.
    pub async fn is_signed_in(&mut self, issuer: &str) -> bool {
        let mut url: Url = format!("{issuer}/auth").parse().unwrap();
        url.query_pairs_mut()
            .append_pair("client_id", CLIENT)
            .append_pair("response_type", "code")
            .append_pair("redirect_uri", &self.back)
            .append_pair("scope", "openid")
            .append_pair("code_challenge_method", "S256")
            .append_pair("code_challenge", &"a".repeat(43))
            .append_pair("prompt", "none");
        let back = self.go(url).await.away();
        let error = back.query_pairs().find(|(name, _)| name == "error");
        error.is_none_or(|(_, value)| value != "login_required")
    }

    /// Revokes a token with Drover's client credentials (RFC 7009).
    pub async fn revoke(&mut self, issuer: &str, token: &str) {
        let encoded = |text: &str| -> String {
            url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
        };
        let request = self.client.post(format!("{issuer}/token/revocation"));
        let request = request.basic_auth(encoded(CLIENT), Some(encoded(SECRET)));
        let response = form(request, &[("token", token)]).send().await.unwrap();
        assert!(response.status().is_success(), "{}", response.status());
    }

    async fn go(&mut self, url: Url) -> Location {
        let request = self.client.get(url.clone());
        self.follow(url, request).await
    }

    async fn send(&mut self, url: Url, fields: &[(&str, &str)]) -> Location {
        let request = form(self.client.post(url.clone()), fields);
        self.follow(url, request).await
    }

    async fn follow(&mut self, mut at: Url, mut request: RequestBuilder) -> Location {
        for _ in 0..MAX_REDIRECTS {
            let response = request.header(COOKIE, self.cookies()).send().await.unwrap();
            self.keep_cookies(&response);
            let Some(location) = response.headers().get(LOCATION) else {
                let text = response.text().await.unwrap();
                return Location::Page { at, text };
            };
            at = at.join(location.to_str().unwrap()).unwrap();
            if at.as_str().starts_with(&self.back) || at.as_str().starts_with(&self.home) {
                return Location::Away(at);
            }
            request = self.client.get(at.clone());
        }
        unreachable!("too many redirects, the last one to {at}")
    }

    fn cookies(&self) -> String {
        let cookies = self.cookies.iter();
        let cookies: Vec<String> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        cookies.join("; ")
    }

    fn keep_cookies(&mut self, response: &Response) {
        for cookie in response.headers().get_all(SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

fn form(request: RequestBuilder, fields: &[(&str, &str)]) -> RequestBuilder {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    request
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form.finish())
}
