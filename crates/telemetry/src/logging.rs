//! Logs and traces. Logs go to standard error with a filter that can change at run time. Traces go
//! to a collector if one is configured.

use std::io::IsTerminal as _;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use parking_lot::Mutex;
use thiserror::Error;
use tracing_subscriber::filter::{Directive, EnvFilter, LevelFilter, ParseError, Targets};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{Registry, reload};

use super::traces::{Collector, ExportError, exporting_to};

/// The default log filter.
pub const DEFAULT_FILTER: &str = "info";
/// Log target of the Kubernetes client. By default, the logs contain only errors of this target.
const KUBE_CLIENT: &str = "kube_client";
const QUIET_CLIENT: &str = "kube_client::client=error";
/// Target of the spans for proxied requests.
pub const PROXY_TARGET: &str = "drover::proxy";

/// Name of a former crate that contained the complete server. Filters with this name remain valid.
const FORMER_CRATE: &str = "drover_server";
/// Modules of [`FORMER_CRATE`], each with the target that replaces the module.
const FORMER_MODULES: &[(&str, &str)] = &[
    ("audit", "drover_audit"),
    ("controllers", "drover_controllers"),
    ("hub", "drover_hub"),
    ("identity", "drover_identity"),
    ("listen", "drover_http_edge::listen"),
    ("networks", "drover_http_edge::networks"),
    ("proxy", "drover_proxy"),
    ("registration", "drover_agent_gateway::registration"),
    ("rest", "drover_rest"),
    ("settings", "drover_hub::settings"),
    ("tunnels", "drover_agent_gateway::tunnels"),
];

/// Output format of the logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Text lines for humans.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Options of logs and traces at the start of the process.
#[derive(Clone, Debug, Default)]
pub struct LogOptions {
    /// Output format of the logs. The default is text.
    pub format: LogFormat,
    /// Initial filter, in the syntax of `tracing_subscriber::EnvFilter`. The default is
    /// [`DEFAULT_FILTER`].
    pub filter: Option<String>,
    /// The collector to which the process exports traces. Without a collector, the process creates
    /// no traces.
    pub collector: Option<Collector>,
}

/// The reason why logs and traces cannot be set up.
#[derive(Debug, Error)]
pub enum StartLoggingError {
    /// The initial filter is invalid.
    #[error(transparent)]
    Filter(#[from] LogFilterError),
    /// The exporter of traces cannot be created.
    #[error(transparent)]
    Traces(#[from] ExportError),
    /// The process already has a global subscriber.
    #[error("logging is already set up")]
    Already(#[from] TryInitError),
}

/// The reason why a filter cannot be applied.
#[derive(Debug, Error)]
pub enum LogFilterError {
    /// The syntax of the filter is invalid.
    #[error(
        "{filter:?} is not a log filter: write levels and targets such as \"info,drover=debug\""
    )]
    Syntax {
        /// The rejected filter.
        filter: String,
        /// Error of the filter's parser.
        source: ParseError,
    },
    /// The logging layer no longer exists, for example at the end of the process.
    #[error("cannot change the log filter: logging has stopped")]
    Ended(#[from] reload::Error),
}

type Reload = dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync;

/// The log filter, which can change at run time. Clones share the filter.
#[derive(Clone)]
pub struct LogFilter(Arc<Inner>);

struct Inner {
    text: Mutex<String>,
    reload: Box<Reload>,
}

impl std::fmt::Debug for LogFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LogFilter").field(&self.current()).finish()
    }
}

impl LogFilter {
    fn new(text: &str, handle: reload::Handle<EnvFilter, Registry>) -> Self {
        let reload = Box::new(move |filter: EnvFilter| handle.reload(filter));
        Self(Arc::new(Inner {
            text: Mutex::new(text.to_owned()),
            reload,
        }))
    }

    /// Creates a filter without an effect on the logs. Tests use this filter to run several servers
    /// in one process.
    pub fn detached() -> Self {
        let (layer, handle) = reload::Layer::<EnvFilter, Registry>::new(EnvFilter::default());
        let reload = Box::new(move |filter: EnvFilter| {
            // The handle works only until its layer is dropped.
            let _alive = &layer;
            handle.reload(filter)
        });
        Self(Arc::new(Inner {
            text: Mutex::new(DEFAULT_FILTER.to_owned()),
            reload,
        }))
    }

    /// Returns the current filter as text.
    pub fn current(&self) -> String {
        self.0.text.lock().clone()
    }

    /// Checks the syntax of a filter. Returns an error if the syntax is invalid.
    pub fn check(filter: &str) -> Result<(), LogFilterError> {
        parse(filter).map(drop)
    }

    /// Replaces the current filter.
    pub fn set(&self, filter: &str) -> Result<(), LogFilterError> {
        let parsed = parse(filter)?;
        let mut text = self.0.text.lock();
        (self.0.reload)(parsed)?;
        filter.clone_into(&mut text);
        Ok(())
    }
}

/// Parses a filter.
///
/// Disables the warnings of the Kubernetes client unless the filter contains its target. These
/// warnings contain complete response bodies, which can be large and can contain Secrets of the
/// hub.
fn parse(filter: &str) -> Result<EnvFilter, LogFilterError> {
    let syntax = |source| LogFilterError::Syntax {
        filter: filter.to_owned(),
        source,
    };
    let parsed = EnvFilter::builder()
        .with_default_directive(LevelFilter::ERROR.into())
        .parse(with_current_targets(filter))
        .map_err(syntax)?;
    Ok(if filter.contains(KUBE_CLIENT) {
        parsed
    } else {
        let quiet = Directive::from_str(QUIET_CLIENT).map_err(syntax)?;
        parsed.add_directive(quiet)
    })
}

/// Replaces modules of `drover_server` in the filter with the targets of their current crates.
fn with_current_targets(filter: &str) -> String {
    let directives = filter.split(',').map(|directive| {
        let Some(rest) = directive.trim_start().strip_prefix(FORMER_CRATE) else {
            return directive.to_owned();
        };
        let Some(path) = rest.strip_prefix("::") else {
            return format!("drover{rest}");
        };
        let end = path.find(|c: char| !c.is_ascii_lowercase() && c != '_');
        let (module, rest) = path.split_at(end.unwrap_or(path.len()));
        match FORMER_MODULES.iter().find(|(name, _)| *name == module) {
            Some((_, target)) => format!("{target}{rest}"),
            None => directive.to_owned(),
        }
    });
    directives.collect::<Vec<_>>().join(",")
}

/// The log and trace setup of this process. Dropping the value stops the export of traces.
#[must_use = "call `finish` to export the remaining traces"]
pub struct Logging {
    /// The log filter, to change the filter at run time.
    pub filter: LogFilter,
    pub(super) traces: Option<SdkTracerProvider>,
}

impl Logging {
    /// Exports the remaining traces, and waits for at most five seconds.
    pub async fn finish(mut self) {
        let Some(traces) = self.traces.take() else {
            return;
        };
        let sending = tokio::task::spawn_blocking(move || {
            traces.shutdown_with_timeout(Duration::from_secs(5))
        });
        match sending.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "failed to export the last traces"),
            Err(error) => tracing::warn!(%error, "failed to export the last traces"),
        }
    }
}

/// Sets up logs and traces for the whole process. Call the function inside a tokio runtime.
pub fn start(options: &LogOptions) -> Result<Logging, StartLoggingError> {
    let text = options.filter.as_deref().unwrap_or(DEFAULT_FILTER);
    let (layer, handle) = reload::Layer::new(parse(text)?);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let lines = match options.format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let collector = options.collector.as_ref();
    let traces = collector.map(exporting_to).transpose()?;
    let spans = traces.as_ref().map(|traces| {
        tracing_opentelemetry::layer()
            .with_tracer(traces.tracer("drover"))
            .with_filter(Targets::new().with_target(PROXY_TARGET, LevelFilter::DEBUG))
    });
    tracing_subscriber::registry()
        .with(lines.with_filter(layer))
        .with(spans)
        .try_init()?;
    Ok(Logging {
        filter: LogFilter::new(text, handle),
        traces,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_responses_are_logged_only_if_the_log_filter_enables_their_target() {
        struct Lines(Arc<Mutex<Vec<u8>>>);
        impl std::io::Write for Lines {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let logged = |filter: &str| {
            let written = Arc::new(Mutex::new(Vec::new()));
            let lines = Arc::clone(&written);
            let layer = tracing_subscriber::fmt::layer()
                .with_writer(move || Lines(Arc::clone(&lines)))
                .with_filter(parse(filter).unwrap());
            let subscriber = tracing_subscriber::registry().with(layer);
            tracing::subscriber::with_default(subscriber, || {
                tracing::warn!(target: "kube_client::client", "a whole response");
                tracing::warn!("ours");
            });
            String::from_utf8(written.lock().clone()).unwrap()
        };
        for filter in [DEFAULT_FILTER, "info,drover_server=debug", "debug"] {
            let text = logged(filter);
            assert!(text.contains("ours") && !text.contains("whole"), "{text}");
        }
        assert!(logged("info,kube_client=warn").contains("whole"));
    }

    #[test]
    fn error_of_invalid_log_filter_contains_an_example() {
        let filter = LogFilter::detached();
        let error = filter.set("drover_server=loud").unwrap_err();
        assert!(error.to_string().contains("info,drover=debug"));
        assert_eq!(filter.current(), DEFAULT_FILTER);
        filter.set("debug").unwrap();
        assert_eq!(filter.current(), "debug");
    }

    #[test]
    fn log_filter_with_a_former_module_name_selects_the_current_crate() {
        for (filter, expected) in [
            ("info,drover_server=debug", "info,drover=debug"),
            ("info,drover_server::proxy=debug", "info,drover_proxy=debug"),
            ("drover_server::proxy::open", "drover_proxy::open"),
            ("drover_server::wire=debug", "drover_server::wire=debug"),
            ("kube_client=warn,debug", "kube_client=warn,debug"),
        ] {
            assert_eq!(with_current_targets(filter), expected);
        }
    }
}
