//! The trace exporter, which sends OTLP over HTTP to an OpenTelemetry collector.

use std::path::PathBuf;
use std::time::Duration;

use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::runtime::Tokio;
use opentelemetry_sdk::trace::SdkTracerProvider;
use opentelemetry_sdk::trace::span_processor_with_async_runtime::BatchSpanProcessor;
use reqwest::{Certificate, Url};
use thiserror::Error;

use drover_tls::roots::Roots;
use drover_tls::{TlsError, install_provider};

/// Time limit for the export of one batch.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// The URL of a trace collector, and the CA certificates that verify its certificate.
#[derive(Clone, Debug)]
pub struct Collector {
    /// Base URL of the collector, such as `http://localhost:4318`.
    pub endpoint: Url,
    /// File with the CA certificates that verify the collector's certificate. The default is the
    /// system's CA certificates.
    pub authority: Option<PathBuf>,
}

/// The reason why traces cannot be exported.
#[derive(Debug, Error)]
pub enum ExportError {
    /// Drover cannot read the CA file.
    #[error("--otlp-ca contains no CA certificate")]
    Authority(#[from] TlsError),
    /// The system has no CA certificates, so Drover cannot verify the collector's certificate.
    #[error(
        "cannot send traces to {endpoint}: this system has no CA certificates to verify \
         the collector; set a CA file with --otlp-ca"
    )]
    NoAuthorities {
        /// URL of the collector.
        endpoint: String,
        /// Error of the HTTP client.
        source: reqwest::Error,
    },
    /// The HTTP client cannot be configured with the CA certificates.
    #[error("cannot send traces to {endpoint}: cannot create an HTTP client")]
    Client {
        /// URL of the collector.
        endpoint: String,
        /// Error of the HTTP client.
        source: reqwest::Error,
    },
    /// The exporter cannot be created.
    #[error(
        "cannot send traces to {endpoint}: the URL is invalid; use a URL such as \
         http://localhost:4318"
    )]
    Exporter {
        /// URL of the collector.
        endpoint: String,
        /// Error of the exporter builder.
        source: ExporterBuildError,
    },
}

/// Creates a tracer provider that exports to this collector.
pub(super) fn exporting_to(collector: &Collector) -> Result<SdkTracerProvider, ExportError> {
    let base = collector.endpoint.as_str().trim_end_matches('/');
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client(collector)?)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{base}/v1/traces"))
        .with_timeout(EXPORT_TIMEOUT)
        .build()
        .map_err(|source| ExportError::Exporter {
            endpoint: collector.endpoint.to_string(),
            source,
        })?;
    let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder()
        .with_service_name("drover")
        .with_attribute(version)
        .build();
    Ok(SdkTracerProvider::builder()
        .with_span_processor(BatchSpanProcessor::builder(exporter, Tokio).build())
        .with_resource(resource)
        .build())
}

/// Creates the HTTP client of the exporter. The exporter's default client loads the system's CA
/// certificates even for plain HTTP. The default client fails on systems without CA certificates,
/// such as the server's image.
fn client(collector: &Collector) -> Result<reqwest::Client, ExportError> {
    install_provider();
    let builder = reqwest::Client::builder().timeout(EXPORT_TIMEOUT);
    let endpoint = || collector.endpoint.to_string();
    let without = |source| ExportError::Client {
        endpoint: endpoint(),
        source,
    };
    let builder = match &collector.authority {
        Some(authority) => {
            let roots = Roots::read(authority)?;
            let found = roots.certificates().iter();
            let found: Result<Vec<_>, _> = found.map(|der| Certificate::from_der(der)).collect();
            builder.tls_certs_only(found.map_err(without)?)
        }
        None if collector.endpoint.scheme() == "https" => {
            return builder
                .build()
                .map_err(|source| ExportError::NoAuthorities {
                    endpoint: endpoint(),
                    source,
                });
        }
        None => builder.tls_certs_only([]),
    };
    builder.build().map_err(without)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use opentelemetry::trace::TracerProvider as _;
    use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

    use super::*;
    use crate::{LogFilter, Logging, PROXY_TARGET};
    use drover_tls::ActiveCertificate;
    use drover_tls::ServingCertificate;

    /// Accepts one request as the collector. Returns the text of the HTTP request.
    async fn received(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
        let mut bytes = vec![0; 64 * 1024];
        let mut read = 0;
        while !String::from_utf8_lossy(&bytes[..read]).contains("a request") {
            read += stream.read(&mut bytes[read..]).await.unwrap();
        }
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    }

    /// Exports two spans. Only one of the spans has the exported target.
    async fn send(collector: &Collector) {
        let traces = exporting_to(collector).unwrap();
        let spans = tracing_opentelemetry::layer()
            .with_tracer(traces.tracer("drover"))
            .with_filter(Targets::new().with_target(PROXY_TARGET, LevelFilter::DEBUG));
        let subscriber = tracing_subscriber::registry().with(spans);
        tracing::subscriber::with_default(subscriber, || {
            tracing::debug_span!(target: PROXY_TARGET, "a request").in_scope(|| {});
            tracing::debug_span!("span of another target").in_scope(|| {});
        });
        let logging = Logging {
            filter: LogFilter::detached(),
            traces: Some(traces),
        };
        logging.finish().await;
    }

    async fn listening(scheme: &str) -> (TcpListener, Url) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("{scheme}://{}/", listener.local_addr().unwrap());
        (listener, url.parse().unwrap())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn traces_reach_a_collector_over_http() {
        let (listener, endpoint) = listening("http").await;
        let received = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            received(stream).await
        });
        send(&Collector {
            endpoint,
            authority: None,
        })
        .await;
        let received = tokio::time::timeout(Duration::from_secs(20), received);
        let text = received.await.expect("the traces arrive in time").unwrap();
        assert!(text.starts_with("POST /v1/traces "), "{text}");
        assert!(text.contains("drover") && !text.contains("another target"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn traces_reach_a_collector_with_a_configured_ca() {
        install_provider();
        let (listener, endpoint) = listening("https").await;
        let created = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let shown = ActiveCertificate::new(&ServingCertificate {
            chain: created.cert.pem(),
            key: created.signing_key.serialize_pem().into(),
        });
        let mut config = Arc::unwrap_or_clone(shown.unwrap().server_config().unwrap());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let received = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            received(acceptor.accept(stream).await.unwrap()).await
        });
        let folder = tempfile::tempdir().unwrap();
        let authority = folder.path().join("collector.crt");
        std::fs::write(&authority, created.cert.pem()).unwrap();
        send(&Collector {
            endpoint,
            authority: Some(authority),
        })
        .await;
        let received = tokio::time::timeout(Duration::from_secs(20), received);
        let text = received.await.expect("the traces arrive in time").unwrap();
        assert!(text.starts_with("POST /v1/traces "), "{text}");
    }
}
