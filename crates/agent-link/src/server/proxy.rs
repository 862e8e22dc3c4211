//! An HTTP proxy between the agent and the server. The client sends `CONNECT` (RFC 9110 §9.3.6) to
//! the proxy, and then opens a TLS connection to the server through the proxy. The proxy can read
//! only the server's host and port.

use std::str::FromStr;
use std::sync::Arc;

use http::Uri;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::TcpStream;
use tower::ServiceExt as _;

use crate::error_chain::error_chain;

/// URL of an HTTP proxy, from `HTTPS_PROXY`. May contain a user name and a password.
#[derive(Clone)]
pub struct ProxyUrl(String);

impl std::fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProxyUrl")
    }
}

/// The text is not a URL of a supported proxy. The error does not contain the URL, because the URL
/// may contain a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "cannot use the proxy URL: only HTTP proxies are supported; write \
     http://[USER:PASSWORD@]HOST:PORT"
)]
pub struct ProxyUrlError;

impl FromStr for ProxyUrl {
    type Err = ProxyUrlError;

    fn from_str(text: &str) -> Result<Self, ProxyUrlError> {
        let uri: Uri = text.parse().map_err(|_| ProxyUrlError)?;
        let host = uri.host().is_some_and(|host| !host.is_empty());
        let plain = uri.scheme_str() == Some("http") && matches!(uri.path(), "" | "/");
        if !host || !plain || uri.query().is_some() {
            return Err(ProxyUrlError);
        }
        Ok(Self(text.to_owned()))
    }
}

/// The proxy settings of the agent. The settings determine the proxy for a server.
#[derive(Clone, Debug)]
pub struct Proxy(Arc<Matcher>);

impl Proxy {
    /// Creates the settings. `exceptions` is a list in the format of `NO_PROXY`: names,
    /// `.suffixes`, addresses and networks, separated by commas.
    pub fn new(url: &ProxyUrl, exceptions: Option<&str>) -> Self {
        let matcher = Matcher::builder()
            .https(url.0.clone())
            .no(exceptions.unwrap_or_default());
        Self(Arc::new(matcher.build()))
    }

    /// Returns the proxy for `https://authority`, or `None` if the agent connects to the server
    /// directly.
    pub(super) fn route(&self, authority: &str) -> Option<ProxyRoute> {
        let server: Uri = format!("https://{authority}").parse().ok()?;
        let proxy = self.0.intercept(&server)?;
        Some(ProxyRoute { proxy, server })
    }
}

/// The address of a proxy, and the server to which the proxy connects.
pub(super) struct ProxyRoute {
    proxy: Intercept,
    server: Uri,
}

/// The proxy refused the connection, or closed the connection before its response.
#[derive(Debug, Error)]
#[error(
    "{problem}; configure the proxy to allow CONNECT to the server's host and port, and add the \
     user name and password of the proxy to HTTPS_PROXY if required", problem = .0
)]
pub struct ProxyError(pub(super) String);

impl ProxyRoute {
    /// Returns the host of the proxy, without brackets, and its port.
    pub(super) fn address(&self) -> (String, u16) {
        let uri = self.proxy.uri();
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (host.to_owned(), uri.port_u16().unwrap_or(80))
    }

    /// Sends `CONNECT` for the server on the connection `stream` to the proxy.
    pub(super) async fn open(&self, stream: TcpStream) -> Result<TcpStream, ProxyError> {
        let mut stream = Some(TokioIo::new(stream));
        let connected = tower::service_fn(move |_: Uri| {
            let stream = stream.take();
            async move {
                stream.ok_or_else(|| {
                    std::io::Error::other("the connection to the proxy is used already")
                })
            }
        });
        let mut tunnel = Tunnel::new(self.proxy.uri().clone(), connected);
        if let Some(authorization) = self.proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        let opened = tunnel.oneshot(self.server.clone()).await;
        opened
            .map(TokioIo::into_inner)
            .map_err(|error| ProxyError(error_chain(&error)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn proxy_url_must_be_http_and_is_hidden_in_debug_output() {
        for text in [
            "",
            "proxy:3128",
            "https://proxy:3128",
            "socks5://proxy:1080",
            "http://proxy:3128/path",
            "http://proxy:3128?query",
        ] {
            assert!(text.parse::<ProxyUrl>().is_err(), "{text}");
        }
        let url: ProxyUrl = "http://ann:hunter2@proxy:3128".parse().unwrap();
        let shown = format!("{url:?} {:?}", Proxy::new(&url, None));
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn no_proxy_hosts_and_networks_bypass_the_proxy() {
        let url: ProxyUrl = "http://[2001:db8::1]:3128".parse().unwrap();
        let proxy = Proxy::new(&url, Some(".corp.example,10.0.0.0/8"));
        assert!(proxy.route("drover.corp.example:8443").is_none());
        assert!(proxy.route("10.1.2.3:8443").is_none());
        let route = proxy.route("drover.example.com:8443").unwrap();
        assert_eq!(route.address(), ("2001:db8::1".to_owned(), 3128));
    }

    /// Opens a connection through a fake proxy that sends this response. Returns the result, and
    /// the request that the proxy received.
    async fn through(answer: &'static str) -> (Result<(), ProxyError>, String) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let url: ProxyUrl = format!("http://ann:hunter2@{address}").parse().unwrap();
        let route = Proxy::new(&url, None).route("drover.example:8443").unwrap();
        let proxy = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&request[..read]).into_owned()
        };
        let client = async {
            let stream = TcpStream::connect(address).await.unwrap();
            route.open(stream).await.map(drop)
        };
        tokio::join!(client, proxy)
    }

    #[tokio::test]
    async fn connect_request_names_the_server_and_authenticates_to_the_proxy() {
        let (opened, request) = through("HTTP/1.1 200 OK\r\n\r\n").await;
        opened.unwrap();
        assert!(
            request.starts_with("CONNECT drover.example:8443 HTTP/1.1\r\n"),
            "{request}"
        );
        // The base64 of `ann:hunter2`.
        assert!(request.contains("Basic YW5uOmh1bnRlcjI="), "{request}");
    }

    #[tokio::test]
    async fn proxy_error_states_the_fix_and_hides_the_password() {
        for (answer, expected) in [
            (
                "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
                "authorization required",
            ),
            ("HTTP/1.1 403 Forbidden\r\n\r\n", "allow CONNECT"),
            ("", "end of file"),
        ] {
            let (opened, _) = through(answer).await;
            let error = opened.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
