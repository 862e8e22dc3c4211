//! A smart HTTP server: `git http-backend` behind hyper, with rules for the tests.

use std::convert::Infallible;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The rules by which the server answers requests.
#[derive(Clone, Default)]
pub(crate) struct Rules {
    /// The required header `Authorization`.
    pub(crate) authorization: Option<String>,
    /// Speaks only version 0 of the protocol.
    pub(crate) only_version_0: bool,
    /// Redirects all requests to this server.
    pub(crate) redirect: Option<String>,
    /// Answers all requests with a status and headers.
    pub(crate) status: Option<(u16, Vec<(&'static str, String)>)>,
    /// Answers all requests with this body.
    pub(crate) body: Option<Vec<u8>>,
    /// Knows only paths with `.git`, and redirects only requests for advertisements, as GitLab does.
    pub(crate) only_dot_git: bool,
    /// Answers requests for packs with this body.
    pub(crate) pack: Option<Vec<u8>>,
    /// Accepts requests, and never answers.
    pub(crate) hangs: bool,
}

/// A request that the server has received.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
}

/// A running server. Dropping the value stops the server.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
    /// The certificate of the server, in PEM.
    pub(crate) certificate: String,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HttpServer {
    pub(crate) async fn start(folder: PathBuf, rules: Rules) -> Self {
        Self::listen(folder, rules, None, String::new(), "http").await
    }

    pub(crate) async fn start_tls(folder: PathBuf, rules: Rules) -> Self {
        let key = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![key.cert.der().clone()],
                rustls_pki_types::PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into()),
            )
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self::listen(folder, rules, Some(acceptor), key.cert.pem(), "https").await
    }

    async fn listen(
        folder: PathBuf,
        rules: Rules,
        tls: Option<TlsAcceptor>,
        certificate: String,
        scheme: &str,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!(
            "{scheme}://localhost:{}",
            listener.local_addr().unwrap().port()
        );
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (folder, rules, seen) = (folder.clone(), rules.clone(), Arc::clone(&shared));
                let service = service_fn(move |request| {
                    answer(folder.clone(), rules.clone(), Arc::clone(&seen), request)
                });
                let http = hyper::server::conn::http1::Builder::new();
                let tls = tls.clone();
                tokio::spawn(async move {
                    match tls {
                        None => drop(http.serve_connection(TokioIo::new(stream), service).await),
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                drop(http.serve_connection(TokioIo::new(stream), service).await);
                            }
                        }
                    }
                });
            }
        });
        Self {
            url,
            seen,
            certificate,
            task,
        }
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

type Answer = Result<Response<Full<Bytes>>, Infallible>;

fn plain(status: u16, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .body(Full::new(body.into()))
        .unwrap()
}

async fn answer(
    folder: PathBuf,
    rules: Rules,
    seen: Arc<Mutex<Vec<Seen>>>,
    request: Request<Incoming>,
) -> Answer {
    let header = |name: &str| {
        let value = request.headers().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    let authorization = header("authorization");
    seen.lock().unwrap().push(Seen {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        authorization: authorization.clone(),
    });
    if rules.hangs {
        std::future::pending::<()>().await;
    }
    let path = request.uri().path_and_query().unwrap().as_str();
    if rules.only_dot_git && !path.contains(".git/") {
        if request.method() == "POST" {
            return Ok(plain(404, "no"));
        }
        let mut response = plain(301, "");
        let to = path.replace("/info/refs", ".git/info/refs");
        response
            .headers_mut()
            .insert("location", to.parse().unwrap());
        return Ok(response);
    }
    if let Some(base) = rules.redirect {
        let mut response = plain(302, "");
        let to = format!("{base}{}", request.uri().path_and_query().unwrap());
        response
            .headers_mut()
            .insert("location", to.parse().unwrap());
        return Ok(response);
    }
    if let Some((status, headers)) = rules.status {
        let mut response = plain(status, "no");
        for (name, value) in headers {
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        return Ok(response);
    }
    if rules.authorization.is_some() && rules.authorization != authorization {
        return Ok(plain(401, "no"));
    }
    if let Some(body) = rules.body {
        let mut response = plain(200, body);
        let kind = if request.method() == "GET" {
            "advertisement"
        } else {
            "result"
        };
        let kind = format!("application/x-git-upload-pack-{kind}");
        response
            .headers_mut()
            .insert("content-type", kind.parse().unwrap());
        return Ok(response);
    }
    let protocol = header("git-protocol").filter(|_| !rules.only_version_0);
    Ok(backend(folder, protocol, rules.pack, request).await)
}

/// Runs `git http-backend` for one request, as a CGI program.
async fn backend(
    folder: PathBuf,
    protocol: Option<String>,
    pack: Option<Vec<u8>>,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let mut command = tokio::process::Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", folder)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REQUEST_METHOD", request.method().as_str())
        .env("PATH_INFO", request.uri().path())
        .env("QUERY_STRING", request.uri().query().unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(kind) = request.headers().get("content-type") {
        command.env("CONTENT_TYPE", kind.to_str().unwrap());
    }
    if let Some(protocol) = protocol {
        command
            .env("HTTP_GIT_PROTOCOL", &protocol)
            .env("GIT_PROTOCOL", protocol);
    }
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let is_fetch = body.windows(13).any(|window| window == b"command=fetch");
    if let Some(pack) = pack.filter(|_| is_fetch) {
        let mut response = plain(200, pack);
        let kind = "application/x-git-upload-pack-result".parse().unwrap();
        response.headers_mut().insert("content-type", kind);
        return response;
    }
    command.env("CONTENT_LENGTH", body.len().to_string());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // The backend ends early if it rejects the request.
    let _ = input.write_all(&body).await;
    drop(input);
    let output = child.wait_with_output().await.unwrap().stdout;
    let end = output
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap();
    let mut response = plain(200, output[end + 4..].to_vec());
    for line in std::str::from_utf8(&output[..end]).unwrap().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        if name == "Status" {
            *response.status_mut() = value.split(' ').next().unwrap().parse().unwrap();
        } else {
            let name = hyper::header::HeaderName::from_bytes(name.as_bytes()).unwrap();
            response.headers_mut().insert(name, value.parse().unwrap());
        }
    }
    response
}
