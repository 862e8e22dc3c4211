//! One call to the server's REST API.

use std::error::Error;
use std::io;
use std::time::Duration;

use drover_api::rest::{List, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use reqwest::{Method, Url, redirect};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args::ServerUrl;
use crate::trust::{Look, Shown, Trust, TrustError};

/// An answer greater than this is refused.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Items asked for in one page of a list.
const PAGE: &str = "500";
/// How long a connection may take to stand.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a call did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server said no, in words.
    #[error("{0}")]
    Refused(Refusal),
    /// Something answered, but no Drover server.
    #[error("{server} answered {code} in a way that no Drover server does; check the address")]
    NotDrover {
        /// Its address.
        server: String,
        /// HTTP status code.
        code: u16,
    },
    /// The answer cannot be understood.
    #[error(
        "{server} gave an answer that this version of drover cannot read ({reason}); compare the versions with `drover version`"
    )]
    Unreadable {
        /// Its address.
        server: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing answered.
    #[error(
        "cannot reach {server}: {reason}\nCheck the address, and that the server runs and no firewall is in between."
    )]
    Unreachable {
        /// Its address.
        server: String,
        /// What went wrong, innermost.
        reason: String,
    },
    /// No answer came in time.
    #[error("{server} did not answer in time; try again, or wait longer with --request-timeout")]
    Slow {
        /// Its address.
        server: String,
    },
    /// Its certificate is not believed.
    #[error(
        "the certificate of {server} is not trusted: {reason}\nLog in again to see and confirm its authority: drover login {}",
        drover_api::shell::word(server)
    )]
    Untrusted {
        /// Its address.
        server: String,
        /// What the check said.
        reason: String,
    },
    /// No TLS client could be made.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// What a server's `metav1.Status` said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status code.
    pub code: u16,
    /// `NotFound`, `AlreadyExists`…
    pub reason: String,
    /// The sentence, with advice.
    pub message: String,
    /// What else to do.
    pub advice: Option<String>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match &self.advice {
            Some(advice) => write!(f, "\n{advice}"),
            None => Ok(()),
        }
    }
}

impl CallError {
    /// The exit code, as `drover --help` documents it.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(Refusal { code: 401, .. }) => 3,
            Self::Refused(Refusal { code: 403, .. }) => 4,
            Self::Refused(Refusal { code: 404, .. }) => 5,
            Self::Unreachable { .. }
            | Self::Slow { .. }
            | Self::Untrusted { .. }
            | Self::Trust(_) => 6,
            Self::Refused(_) | Self::NotDrover { .. } | Self::Unreadable { .. } => 1,
        }
    }

    /// HTTP status code and reason, if the server said no.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Whether the same call may do better a little later.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.code == 429 || refusal.code >= 500,
            Self::Unreachable { .. } | Self::Slow { .. } | Self::NotDrover { code: 500.., .. } => {
                true
            }
            _ => false,
        }
    }
}

/// A server, how to believe it, and as whom to speak.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    server: ServerUrl,
    token: Option<Secret>,
}

impl Client {
    /// A client of one server.
    pub(crate) fn new(
        server: ServerUrl,
        trust: &Trust,
        token: Option<Secret>,
        timeout: Duration,
    ) -> Result<Self, CallError> {
        let builder = builder(timeout);
        let builder = match trust {
            Trust::SystemRoots => builder,
            Trust::Authorities(authorities) => {
                builder.tls_backend_preconfigured(authorities.tls()?)
            }
        };
        let http = builder.build().map_err(|error| CallError::Untrusted {
            server: server.to_string(),
            reason: innermost(&error),
        })?;
        Ok(Self {
            http,
            server,
            token,
        })
    }

    /// The server's address.
    pub(crate) fn server(&self) -> &ServerUrl {
        &self.server
    }

    /// The same server, as somebody else.
    #[must_use]
    pub(crate) fn with_token(&self, token: Secret) -> Self {
        Self {
            token: Some(token),
            ..self.clone()
        }
    }

    /// `GET`; `path` is its segments, unescaped.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, CallError> {
        self.read(self.send(Method::GET, self.url(path), None::<&()>).await?)
    }

    /// `POST` with a body.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &(impl Serialize + Sync),
    ) -> Result<T, CallError> {
        self.read(self.send(Method::POST, self.url(path), Some(body)).await?)
    }

    /// Any method whose answer has a body.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: &(impl Serialize + Sync),
    ) -> Result<T, CallError> {
        self.read(self.send(method, self.url(path), Some(body)).await?)
    }

    /// Any method whose answer is empty.
    pub(crate) async fn command(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<(), CallError> {
        self.send(method, self.url(path), body).await.map(drop)
    }

    /// `GET` with parameters.
    pub(crate) async fn get_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, CallError> {
        let mut url = self.url(path);
        url.query_pairs_mut().extend_pairs(query);
        self.read(self.send(Method::GET, url, None::<&()>).await?)
    }

    /// A whole list, page by page.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        path: &[&str],
    ) -> Result<Vec<T>, CallError> {
        self.list_with(path, &[]).await
    }

    /// A whole list with parameters, page by page.
    pub(crate) async fn list_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, CallError> {
        let mut items = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut url = self.url(path);
            url.query_pairs_mut()
                .extend_pairs(query)
                .append_pair("limit", PAGE);
            if let Some(next) = &next {
                url.query_pairs_mut().append_pair("continue", next);
            }
            let page: List<T> = self.read(self.send(Method::GET, url, None::<&()>).await?)?;
            let empty = page.items.is_empty();
            items.extend(page.items);
            match page.continue_token {
                None => return Ok(items),
                Some(token) if empty || next.as_ref() == Some(&token) => {
                    return Err(self.unreadable(format!("the list does not go on after {token:?}")));
                }
                Some(token) => next = Some(token),
            }
        }
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.server.join("/");
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(path);
        }
        url
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<Vec<u8>, CallError> {
        let mut request = self.http.request(method, url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose());
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut response = request.send().await.map_err(|e| self.unsent(&e))?;
        let code = response.status();
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| self.unsent(&e))? {
            if answer.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(self.unreadable(format!("it is longer than {MAX_ANSWER_BYTES} bytes")));
            }
            answer.extend_from_slice(&chunk);
        }
        if code.is_success() {
            Ok(answer)
        } else {
            Err(self.refused(code.as_u16(), &answer))
        }
    }

    fn read<T: DeserializeOwned>(&self, answer: Vec<u8>) -> Result<T, CallError> {
        // The decoder's message may quote the answer, which may hold a secret.
        let result = serde_json::from_slice(&answer);
        drop(answer);
        result.map_err(|error| {
            let (line, column) = (error.line(), error.column());
            self.unreadable(format!("line {line}, column {column}"))
        })
    }

    fn refused(&self, code: u16, answer: &[u8]) -> CallError {
        let status = serde_json::from_slice::<Status>(answer).ok();
        let said = status.and_then(|status| Some((status.message?, status.reason, status.details)));
        let Some((message, reason, details)) = said else {
            return CallError::NotDrover {
                server: self.server.to_string(),
                code,
            };
        };
        let wait = details.and_then(|details| details.retry_after_seconds);
        let advice = match (code, &self.token, wait) {
            (401, Some(_), _) => Some(format!("Log in again: {}", self.server.login_command())),
            (429 | 503, _, Some(seconds)) => Some(format!("Try again in {seconds} s.")),
            _ => None,
        };
        CallError::Refused(Refusal {
            code,
            reason: reason.unwrap_or_default(),
            message,
            advice,
        })
    }

    fn unreadable(&self, reason: String) -> CallError {
        CallError::Unreadable {
            server: self.server.to_string(),
            reason,
        }
    }

    fn unsent(&self, error: &reqwest::Error) -> CallError {
        let server = self.server.to_string();
        if let Some(problem) = certificate_problem(error) {
            return CallError::Untrusted {
                server,
                reason: problem,
            };
        }
        if error.is_timeout() {
            return CallError::Slow { server };
        }
        CallError::Unreachable {
            server,
            reason: innermost(error),
        }
    }
}

/// What the server shows of itself; nothing is sent to it.
pub(crate) async fn look(server: &ServerUrl, timeout: Duration) -> Result<Shown, CallError> {
    let (look, tls) = Look::new()?;
    let unreachable = |error: &reqwest::Error| CallError::Unreachable {
        server: server.to_string(),
        reason: innermost(error),
    };
    let http = builder(timeout)
        .tls_backend_preconfigured(tls)
        .build()
        .map_err(|error| unreachable(&error))?;
    let result = http.get(server.join("/v1/version")).send().await;
    match (look.shown(), result) {
        (Some(shown), _) => Ok(shown),
        (None, Err(error)) => Err(unreachable(&error)),
        (None, Ok(response)) => Err(CallError::NotDrover {
            server: server.to_string(),
            code: response.status().as_u16(),
        }),
    }
}

fn builder(timeout: Duration) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .https_only(true)
        // A redirect could carry a token elsewhere; a Drover server sends none.
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT.min(timeout))
        .timeout(timeout)
        .user_agent(concat!("drover/", env!("CARGO_PKG_VERSION")))
}

/// Every error below the given one; `io::Error` hides one that only `get_ref` shows.
fn below<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .map(|inner| inner as &(dyn Error + 'static))
            .or_else(move || error.source())
    })
}

fn certificate_problem(error: &reqwest::Error) -> Option<String> {
    below(error).find_map(|error| match error.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(problem)) => Some(problem.to_string()),
        _ => None,
    })
}

fn innermost(error: &reqwest::Error) -> String {
    // The outer layers repeat the URL and say nothing else.
    below(error)
        .last()
        .map_or_else(String::new, ToString::to_string)
}
