//! The API server of a cluster. The backend responds to three paths itself. The backend forwards
//! all other requests with the caller's credential to a real API server.
//!
//! | path | response |
//! |---|---|
//! | `/small` | 1 KiB |
//! | `/big` | 100 MiB |
//! | `/stall` | chunks of 1 MiB until the caller disconnects |

use std::convert::Infallible;
use std::future::poll_fn;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;

use bytes::Bytes;
use drover_tunnel::{Coalesce, ReadAhead};
use futures::StreamExt as _;
use h2::SendStream;
use h2::server::SendResponse;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
use hyper::body::Frame;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, BufWriter};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::certificate::{self, CertificateError};

const SMALL: usize = 1024;
const CHUNK_SIZE: usize = 1 << 20;
/// Number of chunks in a response to `/big`.
const BIG_CHUNKS: usize = 100;
/// Maximum number of concurrent requests on an HTTP/2 connection, as in kube-apiserver.
const MAX_STREAMS: u32 = 100;
/// Size of the write buffer of an HTTP/2 connection, in bytes, as in Go's HTTP/2 server.
const WRITE_BUFFER: usize = 4 * 1024;

static PIECE_BYTES: [u8; CHUNK_SIZE] = [b'd'; CHUNK_SIZE];

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Body = UnsyncBoxBody<Bytes, BoxError>;

/// The reason why the backend cannot run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackendError {
    /// The certificate of the backend or API server cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The backend cannot listen on the address.
    #[error("cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    /// The kubeconfig of the API server cannot be read.
    #[error("cannot read the kubeconfig of the API server behind the backend")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// The client of the API server cannot be created.
    #[error("cannot create the client of the API server behind the backend")]
    Client(#[from] kube::Error),
}

/// The command line arguments of the backend: addresses, certificate, and the kubeconfig of the API
/// server.
#[derive(clap::Args)]
pub(crate) struct Backend {
    /// Address of the TLS listener.
    #[arg(long)]
    listen: SocketAddr,
    /// Address of the plain HTTP listener.
    #[arg(long)]
    plain: SocketAddr,
    /// Certificate for TLS, in PEM.
    #[arg(long)]
    certificate: PathBuf,
    /// Private key of the certificate, in PEM.
    #[arg(long)]
    key: PathBuf,
    /// Kubeconfig of the API server behind the backend. The backend uses only the address and the
    /// CA certificate.
    #[arg(long)]
    kubeconfig: PathBuf,
}

impl Backend {
    /// Serves requests until the process ends.
    pub(crate) async fn run(self) -> Result<(), BackendError> {
        let acceptor = TlsAcceptor::from(certificate::server(&self.certificate, &self.key)?);
        let behind = self.api_server().await?;
        let bind = async |address| {
            let listened = TcpListener::bind(address).await;
            listened.map_err(|source| BackendError::Listen { address, source })
        };
        let (secure, plain) = (bind(self.listen).await?, bind(self.plain).await?);
        // The parent process reads this line. Ignore errors.
        let _ = writeln!(io::stdout(), "ready");
        let with_plain = behind.clone();
        tokio::spawn(async move {
            while let Some(stream) = accept(&plain).await {
                tokio::spawn(serve(TokioIo::new(stream), with_plain.clone()));
            }
        });
        while let Some(stream) = accept(&secure).await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(ReadAhead::new(stream)).await else {
                    return;
                };
                if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                    // Go's HTTP/2 server, which kube-apiserver uses, also writes frames to a
                    // buffer above TLS, and flushes the buffer when no further frame is ready.
                    // Without the buffer, h2 writes a TLS record for each DATA frame.
                    let stream = BufWriter::with_capacity(WRITE_BUFFER, stream);
                    serve_http2(Coalesce::new(stream), behind).await;
                } else {
                    serve(TokioIo::new(stream), behind).await;
                }
            });
        }
        Ok(())
    }

    /// Creates a client without a credential. The requests contain the callers' credentials.
    async fn api_server(&self) -> Result<kube::Client, BackendError> {
        let file = kube::config::Kubeconfig::read_from(&self.kubeconfig)?;
        let options = kube::config::KubeConfigOptions::default();
        let full = kube::Config::from_custom_kubeconfig(file, &options).await?;
        let mut config = kube::Config::new(full.cluster_url);
        config.root_cert = full.root_cert;
        Ok(kube::Client::try_from(config)?)
    }
}

async fn accept(listener: &TcpListener) -> Option<TcpStream> {
    let (stream, _) = listener.accept().await.ok()?;
    stream.set_nodelay(true).ok()?;
    Some(stream)
}

async fn serve<S>(stream: S, behind: kube::Client)
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin,
{
    let service = service_fn(|request: Request<hyper::body::Incoming>| {
        let behind = behind.clone();
        async move { Ok::<_, Infallible>(answer(request, behind).await) }
    });
    // Ignore errors, because callers can disconnect during a response.
    let _ = http1::Builder::new()
        .serve_connection(stream, service)
        .await;
}

/// Serves HTTP/2. The task of the connection responds to `/small`, as in `serve`. hyper would start
/// a task for each request.
async fn serve_http2<S>(stream: S, behind: kube::Client)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(MAX_STREAMS);
    let Ok(mut connection) = builder.handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        if request.uri().path() == "/small" {
            let mut head = Response::new(());
            head.headers_mut()
                .insert(CONTENT_LENGTH, HeaderValue::from(SMALL));
            // Ignore errors, because callers can cancel requests.
            if let Ok(mut sink) = respond.send_response(head, false) {
                let _ = sink.send_data(Bytes::from_static(&PIECE_BYTES[..SMALL]), true);
            }
            continue;
        }
        if !request.body().is_end_stream() {
            // The agent sends requests with a body on HTTP/1.1 connections.
            respond.send_reset(h2::Reason::HTTP_1_1_REQUIRED);
            continue;
        }
        let request = request.map(|_| Empty::new());
        tokio::spawn(respond_http2(request, respond, behind.clone()));
    }
}

async fn respond_http2(
    request: Request<Empty<Bytes>>,
    mut respond: SendResponse<Bytes>,
    behind: kube::Client,
) {
    let (mut head, body) = answer(request, behind).await.into_parts();
    // The API server's HTTP/1.1 response can have headers that HTTP/2 forbids (RFC 9113 §8.2.2).
    for name in [CONNECTION, TRANSFER_ENCODING] {
        head.headers.remove(name);
    }
    // Ignore errors, because callers can cancel requests.
    if let Ok(sink) = respond.send_response(Response::from_parts(head, ()), false) {
        let _ = send_body(body, sink).await;
    }
}

async fn send_body(mut body: Body, mut sink: SendStream<Bytes>) -> Result<(), BoxError> {
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        // As in hyper: after the caller has read some bytes, h2 gets the next chunk and divides it
        // into frames.
        sink.reserve_capacity(1);
        while sink.capacity() == 0 {
            let granted = poll_fn(|cx| sink.poll_capacity(cx)).await;
            granted.ok_or("the caller has cancelled the request")??;
        }
        sink.send_data(data, false)?;
    }
    Ok(sink.send_data(Bytes::new(), true)?)
}

async fn answer<B>(request: Request<B>, behind: kube::Client) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    match request.uri().path() {
        "/small" => Response::new(full(&PIECE_BYTES[..SMALL])),
        "/big" => {
            let mut response = Response::new(pieces(BIG_CHUNKS));
            response
                .headers_mut()
                .insert(CONTENT_LENGTH, HeaderValue::from(BIG_CHUNKS * CHUNK_SIZE));
            response
        }
        "/stall" => Response::new(pieces(usize::MAX)),
        _ => forward(request, behind).await,
    }
}

async fn forward<B>(request: Request<B>, behind: kube::Client) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    let (mut parts, body) = request.into_parts();
    parts.headers.remove(http::header::HOST);
    // The client of the API server selects the version of its connection.
    parts.version = http::Version::default();
    let Ok(body) = body.collect().await else {
        return failure("cannot read the request");
    };
    match behind
        .send(Request::from_parts(parts, body.to_bytes().into()))
        .await
    {
        Ok(response) => response.map(|body| body.map_err(Into::into).boxed_unsync()),
        Err(error) => failure(&error.to_string()),
    }
}

fn failure(text: &str) -> Response<Body> {
    let body = Full::from(text.to_owned())
        .map_err(|never| match never {})
        .boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}

fn full(bytes: &'static [u8]) -> Body {
    Full::new(Bytes::from_static(bytes))
        .map_err(|never| match never {})
        .boxed_unsync()
}

fn pieces(count: usize) -> Body {
    let piece = || Ok::<_, BoxError>(Frame::data(Bytes::from_static(&PIECE_BYTES)));
    let stream = futures::stream::repeat_with(piece);
    StreamBody::new(stream.take(count)).boxed_unsync()
}
