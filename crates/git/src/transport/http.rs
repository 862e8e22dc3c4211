//! Smart HTTP over rustls.

mod answer;
mod client;

use std::io::{self, Read};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use secrecy::ExposeSecret as _;
use tokio::runtime::Runtime;
use url::Url;

pub(crate) use client::Clients;

use super::{Deadline, Target, Transport, addresses, trimmed};
use crate::error::GitError;
use crate::location::authority;
use crate::request::Auth;

/// Most redirects of one request.
const MAX_REDIRECTS: usize = 5;

/// The smart HTTP service of one repository.
pub(crate) struct HttpTransport<'a> {
    runtime: &'a Runtime,
    client: reqwest::Client,
    target: &'a Target,
    base: Url,
    deadline: Deadline,
}

impl<'a> HttpTransport<'a> {
    pub(crate) fn new(
        runtime: &'a Runtime,
        client: reqwest::Client,
        target: &'a Target,
        base: &Url,
        deadline: Deadline,
    ) -> Self {
        Self {
            runtime,
            client,
            target,
            base: base.clone(),
            deadline,
        }
    }

    /// Sends a request, follows redirects, and returns a successful response.
    fn send(&mut self, method: &Method, suffix: &str, body: &[u8]) -> Result<Response, GitError> {
        let mut url = with_suffix(&self.base, suffix);
        for _ in 0..=MAX_REDIRECTS {
            addresses::check_literal(&url, &self.target.home).map_err(|error| {
                GitError::Connection {
                    host: authority(&url),
                    reason: error.to_string(),
                }
            })?;
            let request = self.build(method, &url, body)?;
            let sent = self.runtime.block_on(async {
                tokio::time::timeout(self.deadline.remaining()?, request.send())
                    .await
                    .map_err(|_| self.deadline.exceeded())?
                    .map_err(|error| answer::transport_error(&url, &error))
            });
            let response = sent?;
            if !is_redirect(response.status()) {
                return answer::check(&self.target.location.shown(), response);
            }
            url = self.redirected(&url, &response)?;
            // Later requests of this connection go to the new address.
            if let Some(base) = without_suffix(&url, suffix) {
                self.base = base;
            }
        }
        Err(self.invalid("the server redirects too often"))
    }

    /// Returns the target of a redirect. [`Self::build`] sends credentials only to the server of
    /// the configured URL.
    fn redirected(&self, from: &Url, response: &Response) -> Result<Url, GitError> {
        let location = response
            .headers()
            .get(LOCATION)
            .and_then(|value| value.to_str().ok());
        let to = location
            .and_then(|location| from.join(location).ok())
            .filter(|to| to.host().is_some())
            .ok_or_else(|| self.invalid("a redirect has no valid address"))?;
        let downgrade = from.scheme() == "https" && to.scheme() != "https";
        if downgrade || !matches!(to.scheme(), "http" | "https") {
            return Err(self.invalid("a redirect leads to an address without TLS"));
        }
        Ok(to)
    }

    fn build(&self, method: &Method, url: &Url, body: &[u8]) -> Result<RequestBuilder, GitError> {
        let mut request = self
            .client
            .request(method.clone(), url.clone())
            .header("git-protocol", "version=2");
        if method == Method::POST {
            request = request
                .header(CONTENT_TYPE, "application/x-git-upload-pack-request")
                .header(ACCEPT, "application/x-git-upload-pack-result")
                .body(body.to_vec());
        }
        let configured = match &self.target.location {
            crate::location::Location::Http(configured) => configured.origin() == url.origin(),
            crate::location::Location::Ssh { .. } => false,
        };
        if configured && let Some(header) = authorization(&self.target.auth)? {
            request = request.header(AUTHORIZATION, header);
        }
        Ok(request)
    }

    fn invalid(&self, reason: &str) -> GitError {
        GitError::Protocol {
            repository: self.target.location.shown(),
            reason: reason.to_owned(),
        }
    }

    fn body(&self, response: Response) -> Box<dyn Read + '_> {
        Box::new(Body {
            runtime: self.runtime,
            response,
            chunk: bytes::Bytes::new(),
            deadline: self.deadline,
        })
    }
}

impl Transport for HttpTransport<'_> {
    fn is_stateless(&self) -> bool {
        true
    }

    fn advertisement(&mut self) -> Result<Box<dyn Read + '_>, GitError> {
        let response = self.send(&Method::GET, "/info/refs?service=git-upload-pack", &[])?;
        let expected = "application/x-git-upload-pack-advertisement";
        if content_type(&response) != Some(expected) {
            return Err(self.invalid("the server does not offer git's smart HTTP protocol"));
        }
        Ok(self.body(response))
    }

    fn request(&mut self, body: Vec<u8>) -> Result<Box<dyn Read + '_>, GitError> {
        let response = self.send(&Method::POST, "/git-upload-pack", &body)?;
        if content_type(&response) != Some("application/x-git-upload-pack-result") {
            return Err(self.invalid("the answer has an unexpected content type"));
        }
        Ok(self.body(response))
    }
}

fn content_type(response: &Response) -> Option<&str> {
    let value = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(str::trim)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 307 | 308)
}

fn with_suffix(base: &Url, suffix: &str) -> Url {
    let (path, query) = suffix.split_once('?').unwrap_or((suffix, ""));
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url.set_query((!query.is_empty()).then_some(query));
    url
}

fn without_suffix(url: &Url, suffix: &str) -> Option<Url> {
    let (path, _) = suffix.split_once('?').unwrap_or((suffix, ""));
    let mut base = url.clone();
    base.set_path(url.path().strip_suffix(path)?);
    base.set_query(None);
    Some(base)
}

fn authorization(auth: &Auth) -> Result<Option<HeaderValue>, GitError> {
    let text = match auth {
        Auth::None => return Ok(None),
        Auth::Basic { username, password } => {
            let password = trimmed(password);
            let password = password.expose_secret();
            // Fleet sends a password without a user name as the user name.
            let pair = if username.is_empty() {
                format!("{password}:")
            } else {
                format!("{username}:{password}")
            };
            format!("Basic {}", BASE64_STANDARD.encode(pair))
        }
        Auth::Bearer { token } => format!("Bearer {}", trimmed(token).expose_secret()),
        Auth::Ssh { .. } => {
            return Err(GitError::invalid(
                "authentication",
                "ssh",
                "an HTTP URL needs a password or a token, not an SSH key",
            ));
        }
    };
    let mut value = HeaderValue::from_str(&text).map_err(|_| {
        GitError::invalid(
            "authentication",
            "",
            "the credentials contain control characters",
        )
    })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// The body of a response as a blocking stream.
struct Body<'a> {
    runtime: &'a Runtime,
    response: Response,
    chunk: bytes::Bytes,
    deadline: Deadline,
}

impl Read for Body<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            let next = self.runtime.block_on(async {
                let left = self.deadline.remaining().map_err(io::Error::other)?;
                tokio::time::timeout(left, self.response.chunk())
                    .await
                    .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
                    .map_err(|error| io::Error::other(answer::innermost(&error)))
            })?;
            match next {
                Some(chunk) => self.chunk = chunk,
                None => return Ok(0),
            }
        }
        let count = self.chunk.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.chunk.split_to(count));
        Ok(count)
    }
}
