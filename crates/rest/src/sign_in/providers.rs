//! Signing in with identity providers.

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

/// Begins the name of the cookie that keeps a sign-in that was login_state, before the provider's: the
/// prefix `__Host-` keeps what another host of the same domain sets from taking its place. It comes
/// along when the provider sends the browser back, which is another site's doing, so it is `Lax`.
const BEGUN_COOKIE: &str = "__Host-drover-sign-in-";
/// A sign-in takes no longer.
const BEGUN_SECONDS: u32 = 600;

/// Providers that people can sign in with.
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

/// Whether no other origin's page made a browser send the request.
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

/// Begins a sign-in at a provider with a page of its own; or signs in with a login and a password,
/// in a browser or for a program.
#[utoipa::path(post, path = "/v1/providers/{name}/sign-in", tag = "me",
    params(("name" = String, Path, description = "The provider's name")),
    request_body = ProviderSignIn,
    responses(
        (status = 200, body = ProviderRedirect, description = "The browser goes there"),
        (status = 201, body = IssuedToken, description = "LoginClient a program; a browser gets a Session"),
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
    // Nobody is signed in as somebody else by a page that they happen to look at.
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
            let cookie = begun_cookie(&name, sent.cookie.expose_secret(), BEGUN_SECONDS)?;
            let cookie = [(SET_COOKIE, cookie)];
            return Ok((cookie, axum::Json(ProviderRedirect { url })).into_response());
        }
        (None, _, _) => {
            return Err(Status::invalid(
                "login",
                "say who signs in; a program has no browser to send elsewhere: let the person \
                 confirm it with POST /v1/device",
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

/// Ends a sign-in in the browser that began it, which the provider sends here.
#[utoipa::path(get, path = "/v1/providers/{name}/callback", tag = "me",
    params(("name" = String, Path, description = "The provider's name")),
    responses((status = 200, description = "A page that leads into the web UI, and a cookie",
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
        Err(status) if wants_a_page(&headers) => {
            let page = page("Sign-in did not work", status.message(), "/", Moves::No);
            (status.code(), page).into_response()
        }
        Err(status) => status.into_response(),
    };
    // The address of this page has a code in it.
    let headers = response.headers_mut();
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    // Of a provider only: any other name could say more than a cookie's name.
    if is_over
        && state.hub.stores().auth_providers.by_name(&name).is_some()
        && let Ok(forgotten) = begun_cookie(&name, "", 0)
    {
        headers.append(SET_COOKIE, forgotten);
    }
    response
}

/// A sign-in that did not end with somebody signed in.
struct Failed {
    status: Status,
    /// Whether what the browser keeps is good for nothing any more.
    is_final: bool,
}

impl From<Status> for Failed {
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
) -> Result<Response, Failed> {
    state.hub.stores().health().check()?;
    let cookie = kept_cookie(headers, name);
    let query = query.unwrap_or_default();
    let ending = state
        .provider_logins
        .finish(name, cookie.as_ref(), &query, peer.ip());
    let (entered, login_state) = ending.await.map_err(|error| Failed {
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
        Moves::OnByItself,
    );
    Ok((cookie, page).into_response())
}

/// What whoever tried is told; the cause goes to the log, and its kind to the audit log.
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
            "a sign-in did not work"
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
            "must be a path of this server's page such as /clusters, of at most 512 letters, \
             digits and /-_.~?=&%:,@+",
        )
    })
}

/// The sign-in that this browser has login_state; `None` also if there are two, for one is somebody
/// else's.
fn kept_cookie(headers: &HeaderMap, provider: &str) -> Option<SecretString> {
    let lines = headers.get_all(COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut found = pairs.filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name.strip_prefix(BEGUN_COOKIE)? == provider).then_some(value)
    });
    match (found.next(), found.next()) {
        (Some(value), None) => Some(SecretString::from(value)),
        _ => None,
    }
}

fn begun_cookie(name: &str, value: &str, seconds: u32) -> Result<HeaderValue, Status> {
    let text = format!(
        "{BEGUN_COOKIE}{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={seconds}"
    );
    let mut value = HeaderValue::try_from(text)
        .map_err(|_| Status::bad_request("this cannot be a provider's name"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn wants_a_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// Whether a page leads on without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moves {
    OnByItself,
    No,
}

/// A page of one sentence, which leads on from this very site: only then does the browser show the
/// new session's cookie.
fn page(heading: &str, sentence: &str, onward: &str, moves: Moves) -> Html<String> {
    let (heading, sentence, onward) = (escaped(heading), escaped(sentence), escaped(onward));
    let refresh = match moves {
        Moves::OnByItself => format!("<meta http-equiv=\"refresh\" content=\"0;url={onward}\">"),
        Moves::No => String::new(),
    };
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">{refresh}\
         <title>{heading}</title></head><body><h1>{heading}</h1><p>{sentence}</p>\
         <p><a href=\"{onward}\">Go on to Drover</a></p></body></html>"
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
    fn what_a_page_says_is_text() {
        let Html(page) = page(
            "<b>",
            "a \"quote\" & 'more'",
            "/x?a=1&b=2",
            Moves::OnByItself,
        );
        assert!(page.contains("<h1>&lt;b&gt;</h1>"), "{page}");
        assert!(
            page.contains("a &quot;quote&quot; &amp; &#39;more&#39;"),
            "{page}"
        );
        assert!(page.contains("content=\"0;url=/x?a=1&amp;b=2\""), "{page}");
    }

    #[test]
    fn only_one_sign_in_can_end() {
        let with = |lines: &[&str]| {
            let lines = lines.iter().map(|line| (COOKIE, line.parse().unwrap()));
            let cookie = kept_cookie(&lines.collect(), "corp");
            cookie.map(|cookie| cookie.expose_secret().to_owned())
        };
        let one = "__Host-drover-sign-in-corp=abc";
        let another = "__Host-drover-sign-in-corp=def";
        let beside = "__Host-drover-sign-in-other=def";
        assert_eq!(with(&[&format!("x=1; {one}")]).as_deref(), Some("abc"));
        assert_eq!(with(&[one, "x=1"]).as_deref(), Some("abc"));
        assert_eq!(with(&[one, another]), None);
        assert_eq!(with(&[one, beside]).as_deref(), Some("abc"));
        assert_eq!(with(&[beside, "drover-sign-in-corp=abc"]), None);
    }

    #[test]
    fn no_other_host_can_set_what_a_browser_keeps_of_a_sign_in() {
        let cookie = begun_cookie("corp", "abc", 600).unwrap();
        let text = cookie.to_str().unwrap();
        assert!(text.starts_with("__Host-drover-sign-in-corp=abc; Path=/; Secure"));
        assert!(!text.contains("Domain"), "{text}");
    }
}
