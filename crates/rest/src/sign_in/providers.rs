//! Routes for login with identity providers.

use std::error::Error;
use std::net::SocketAddr;

use axum::extract::{ConnectInfo, FromRequestParts, RawQuery, State};
use axum::response::{Html, IntoResponse as _, Response};
use drover_access::same_origin::{self, Head};
use drover_api::kinds::AuthProvider;
use drover_api::rest::{
    IssuedToken, List, ProviderRedirect, ProviderSignIn, ProviderView, Secret, SignInClient,
    SignInMethod,
};
use http::header::{ACCEPT, COOKIE, REFERRER_POLICY, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use kube::ResourceExt as _;
use secrecy::{ExposeSecret as _, SecretString};

use super::me::signed_in;
use super::session::{begin, end_former, set_cookie};
use crate::RestState;
use crate::accounts::tokens::view;
use drover_audit::AuditNotes;
use drover_http_edge::body::Name;
use drover_http_edge::status::Status;
use drover_http_edge::unauthenticated::UnauthenticatedJson;
use drover_identity::LoginClient;
use drover_identity::providers::SignInError;
use drover_identity::providers::configured::title;
use drover_identity::providers::login_state::ReturnPath;
use drover_identity::providers::sign_in::CompletedLogin;

/// Prefix of the name of the cookie with the state of a pending login. The provider's name is the
/// second half of the cookie name.
///
/// The prefix `__Host-` prevents other hosts of the domain from setting the cookie. `SameSite` is
/// `Lax`, because the provider's site redirects to the callback.
const LOGIN_COOKIE: &str = "__Host-drover-sign-in-";
/// Maximum time between the start and the completion of a login, in seconds.
const LOGIN_SECONDS: u32 = 600;

/// Lists the enabled identity providers.
#[utoipa::path(get, path = "/v1/providers", tag = "me",
    responses((status = 200, body = List<ProviderView>)))]
pub(crate) async fn list(State(state): State<RestState>) -> axum::Json<List<ProviderView>> {
    let open = state.provider_logins.enabled_providers();
    let mut items: Vec<_> = open.iter().map(|provider| shown(provider)).collect();
    items.sort_by(|one, other| one.name.cmp(&other.name));
    axum::Json(List {
        items,
        continue_token: None,
    })
}

fn shown(provider: &AuthProvider) -> ProviderView {
    let name = provider.name_any();
    ProviderView {
        display_name: title(&name, &provider.spec).to_owned(),
        name,
        way: if provider.spec.ldap.is_some() {
            SignInMethod::Password
        } else {
            SignInMethod::Redirect
        },
    }
}

/// Extractor that checks the origin of a request. The value is an error if a page of a different
/// origin sent the request.
#[derive(Debug)]
pub(crate) struct FromOwnPage(Result<(), Status>);

impl FromRequestParts<RestState> for FromOwnPage {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, _: &RestState) -> Result<Self, Status> {
        let checked = same_origin::check_origin(Head::from(&*parts));
        Ok(Self(
            checked.map_err(|error| Status::forbidden(error.to_string())),
        ))
    }
}

/// Starts a login at an identity provider.
///
/// For OpenID Connect and GitHub, returns the URL to which the browser navigates. For LDAP, checks
/// the password, and creates a session for a browser or a token for a program.
#[utoipa::path(post, path = "/v1/providers/{name}/sign-in", tag = "me",
    params(("name" = String, Path, description = "The provider's name")),
    request_body = ProviderSignIn,
    responses(
        (status = 200, body = ProviderRedirect, description = "The URL to which the browser navigates"),
        (status = 201, body = IssuedToken, description = "For a program. A browser receives a Session"),
    ))]
pub(crate) async fn sign_in(
    State(state): State<RestState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    noted: AuditNotes,
    FromOwnPage(own): FromOwnPage,
    headers: HeaderMap,
    Name(name): Name,
    UnauthenticatedJson(request): UnauthenticatedJson<ProviderSignIn>,
) -> Result<Response, Status> {
    // Prevent a login by a page of another origin, which could sign in the user as an attacker.
    if request.by == SignInClient::Browser {
        own?;
    }
    state.hub.stores().health().check()?;
    let refuse = |error| refused(&state, &noted, &name, error);
    let (login, password) = match (&request.login, &request.password, request.by) {
        (Some(login), Some(password), _) => (login, password),
        (None, None, SignInClient::Browser) => {
            let return_path = return_path(request.return_to.as_deref())?;
            let former = state.authenticator.presented_session_id(&headers);
            let login_state = state
                .provider_logins
                .begin(&name, return_path, former, peer.ip());
            let sent = login_state.await.map_err(refuse)?;
            let url = sent.url.to_string();
            let cookie = login_cookie(&name, sent.cookie.expose_secret(), LOGIN_SECONDS)?;
            let cookie = [(SET_COOKIE, cookie)];
            return Ok((cookie, axum::Json(ProviderRedirect { url })).into_response());
        }
        (None, _, _) => {
            return Err(Status::invalid(
                "login",
                "is required; for a login with a browser, a program must use POST /v1/device",
            ));
        }
        (_, None, _) => return Err(Status::invalid("password", "is missing")),
    };
    let password = SecretString::from(password.expose());
    let by = match request.by {
        SignInClient::Browser => LoginClient::Browser,
        SignInClient::Program => LoginClient::Program,
    };
    let entering = state
        .provider_logins
        .with_password(&name, login, &password, peer.ip(), by);
    let CompletedLogin { secret, token } = entering.await.map_err(refuse)?;
    signed_in(&state, peer, &noted, &token);
    match by {
        LoginClient::Browser => {
            end_former(&state, state.authenticator.presented_session_id(&headers)).await;
            Ok(begin(&state, &secret, &token)?.into_response())
        }
        LoginClient::Program => {
            let issued = IssuedToken {
                token: Secret::new(secret.expose_secret()),
                metadata: view(&token),
            };
            Ok((StatusCode::CREATED, axum::Json(issued)).into_response())
        }
    }
}

/// Completes a login after the redirect from the provider.
#[utoipa::path(get, path = "/v1/providers/{name}/callback", tag = "me",
    params(("name" = String, Path, description = "The provider's name")),
    responses((status = 200, description = "A page that redirects to the web UI, and a cookie",
        content_type = "text/html", body = String)))]
pub(crate) async fn callback(
    State(state): State<RestState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    noted: AuditNotes,
    headers: HeaderMap,
    Name(name): Name,
    RawQuery(query): RawQuery,
) -> Response {
    let ended = end(&state, peer, &noted, &headers, &name, query).await;
    let is_over = ended
        .as_ref()
        .map_or_else(|failed| failed.is_final, |_| true);
    let mut response = match ended.map_err(|failed| failed.status) {
        Ok(response) => response,
        Err(status) if accepts_html(&headers) => {
            let page = page("Sign-in failed", status.message(), "/", Redirect::None);
            (status.code(), page).into_response()
        }
        Err(status) => status.into_response(),
    };
    // The URL of this page contains an authorization code.
    let headers = response.headers_mut();
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    // Set the cookie only for an existing provider, because other names could inject cookie
    // attributes.
    if is_over
        && state.hub.stores().auth_providers.by_name(&name).is_some()
        && let Ok(forgotten) = login_cookie(&name, "", 0)
    {
        headers.append(SET_COOKIE, forgotten);
    }
    response
}

/// The error of a callback request.
struct CallbackError {
    status: Status,
    /// True if the login cannot be retried. The response then deletes the cookie.
    is_final: bool,
}

impl From<Status> for CallbackError {
    fn from(status: Status) -> Self {
        Self {
            status,
            is_final: false,
        }
    }
}

async fn end(
    state: &RestState,
    peer: SocketAddr,
    noted: &AuditNotes,
    headers: &HeaderMap,
    name: &str,
    query: Option<String>,
) -> Result<Response, CallbackError> {
    state.hub.stores().health().check()?;
    let cookie = presented_cookie(headers, name);
    let query = query.unwrap_or_default();
    let ending = state
        .provider_logins
        .finish(name, cookie.as_ref(), &query, peer.ip());
    let (entered, login_state) = ending.await.map_err(|error| CallbackError {
        is_final: error.is_final(),
        status: refused(state, noted, name, error),
    })?;
    signed_in(state, peer, noted, &entered.token);
    end_former(state, login_state.previous_session).await;
    let cookie = set_cookie(&entered.secret, &entered.token)?;
    let page = page(
        "Signed in",
        "You are signed in.",
        login_state.return_path.as_str(),
        Redirect::Automatic,
    );
    Ok((cookie, page).into_response())
}

/// Converts the error to the response. Writes the cause of the error to the log, and the reason to
/// the audit log.
fn refused(state: &RestState, noted: &AuditNotes, name: &str, error: SignInError) -> Status {
    let provider = state.hub.stores().auth_providers.by_name(name);
    if provider.is_some() {
        noted.about(name);
    }
    if let Some(reason) = error.reason() {
        noted.because(reason);
        let cause = &error as &dyn Error;
        tracing::warn!(
            error = cause,
            provider.name = name,
            reason,
            "sign-in with an identity provider failed"
        );
    }
    let title = provider
        .as_ref()
        .map_or(name, |provider| title(name, &provider.spec));
    error.into_status(title)
}

fn return_path(text: Option<&str>) -> Result<ReturnPath, Status> {
    let Some(text) = text else {
        return Ok(ReturnPath::default());
    };
    ReturnPath::parse(text).ok_or_else(|| {
        Status::invalid(
            "returnTo",
            "must be a path of the web UI such as /clusters, with at most 512 characters: letters, \
             digits and /-_.~?=&%:,@+",
        )
    })
}

/// Returns the state of the pending login. Returns `None` if the request contains two cookies with
/// the same name. A different host of the domain could have set one of the cookies.
fn presented_cookie(headers: &HeaderMap, provider: &str) -> Option<SecretString> {
    let lines = headers.get_all(COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut found = pairs.filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name.strip_prefix(LOGIN_COOKIE)? == provider).then_some(value)
    });
    match (found.next(), found.next()) {
        (Some(value), None) => Some(SecretString::from(value)),
        _ => None,
    }
}

fn login_cookie(name: &str, value: &str, seconds: u32) -> Result<HeaderValue, Status> {
    let text = format!(
        "{LOGIN_COOKIE}{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={seconds}"
    );
    let mut value = HeaderValue::try_from(text).map_err(|_| {
        Status::bad_request("cannot set the sign-in cookie: the provider name is invalid")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// Selects whether the page redirects the browser automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Redirect {
    Automatic,
    None,
}

/// Renders a page with one sentence and a link.
///
/// The redirect starts on this page, not at the provider. Browsers send the new `SameSite=Strict`
/// cookie only with requests from this site.
fn page(heading: &str, sentence: &str, onward: &str, redirect: Redirect) -> Html<String> {
    let (heading, sentence, onward) = (escaped(heading), escaped(sentence), escaped(onward));
    let refresh = match redirect {
        Redirect::Automatic => format!("<meta http-equiv=\"refresh\" content=\"0;url={onward}\">"),
        Redirect::None => String::new(),
    };
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">{refresh}\
         <title>{heading}</title></head><body><h1>{heading}</h1><p>{sentence}</p>\
         <p><a href=\"{onward}\">Continue to Drover</a></p></body></html>"
    );
    Html(text)
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut safe, c| {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
        safe
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_in_page_escapes_html() {
        let Html(page) = page(
            "<b>",
            "a \"quote\" & 'more'",
            "/x?a=1&b=2",
            Redirect::Automatic,
        );
        assert!(page.contains("<h1>&lt;b&gt;</h1>"), "{page}");
        assert!(
            page.contains("a &quot;quote&quot; &amp; &#39;more&#39;"),
            "{page}"
        );
        assert!(page.contains("content=\"0;url=/x?a=1&amp;b=2\""), "{page}");
    }

    #[test]
    fn two_login_cookies_of_one_provider_in_a_request_are_ignored() {
        let with = |lines: &[&str]| {
            let lines = lines.iter().map(|line| (COOKIE, line.parse().unwrap()));
            let cookie = presented_cookie(&lines.collect(), "corp");
            cookie.map(|cookie| cookie.expose_secret().to_owned())
        };
        let one = "__Host-drover-sign-in-corp=abc";
        let another = "__Host-drover-sign-in-corp=def";
        let other = "__Host-drover-sign-in-other=def";
        assert_eq!(with(&[&format!("x=1; {one}")]).as_deref(), Some("abc"));
        assert_eq!(with(&[one, "x=1"]).as_deref(), Some("abc"));
        assert_eq!(with(&[one, another]), None);
        assert_eq!(with(&[one, other]).as_deref(), Some("abc"));
        assert_eq!(with(&[other, "drover-sign-in-corp=abc"]), None);
    }

    #[test]
    fn login_cookie_has_the_host_prefix() {
        let cookie = login_cookie("corp", "abc", 600).unwrap();
        let text = cookie.to_str().unwrap();
        assert!(text.starts_with("__Host-drover-sign-in-corp=abc; Path=/; Secure"));
        assert!(!text.contains("Domain"), "{text}");
    }
}
