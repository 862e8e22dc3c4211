//! Implements `drover logs`.

mod follow;
mod line;
mod source;

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::args::LogsArgs;
use crate::client::CallError;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::kubernetes::{
    ClusterApi, ClusterFailures, JSON, PodTarget, Query, in_order, list_pages, pods_of,
    selected_clusters,
};
use crate::table::printable;
use crate::terminal::notice;
use line::LinePrinter;
pub use line::safe_line;
use source::{Containers, LogOptions, Source};

/// Number of pods in a page of a list.
const CHUNK: u32 = 500;

/// The requested logs.
#[derive(Debug)]
struct Request {
    target: Option<PodTarget>,
    labels: Option<String>,
    namespace: String,
    containers: Containers,
    options: LogOptions,
}

/// A message about the logs of a cluster.
enum Message {
    Line(Arc<Source>, Vec<u8>),
    /// The cluster has no such pod or workload.
    Absent(String),
    /// The log of a container cannot be read.
    Problem(String),
    Failed(CallError),
}

/// Runs `drover logs`.
pub(crate) async fn run(args: &LogsArgs, environment: &Environment) -> Result<(), Failure> {
    let request = Arc::new(request(args)?);
    let client = environment.client(&args.connection)?;
    let clusters = selected_clusters(&client, &args.selection).await?;
    let several = clusters.len() > 1
        || args.all_containers
        || !matches!(request.target, Some(PodTarget::Pod(_)));
    let printer = LinePrinter::new(args.prefix.unwrap_or(several));
    if args.follow {
        return follow::run(&clusters, request, &printer, args.max_log_requests).await;
    }
    print_all(&clusters, request, &printer).await
}

fn request(args: &LogsArgs) -> Result<Request, Failure> {
    let target = args.target.as_deref().map(PodTarget::parse).transpose()?;
    Ok(Request {
        target,
        labels: args.labels.clone(),
        namespace: args.namespace.clone(),
        containers: match (&args.container, args.all_containers) {
            (Some(name), _) => Containers::Named(name.clone()),
            (None, true) => Containers::All,
            (None, false) => Containers::Default,
        },
        options: LogOptions {
            previous: args.previous,
            since_seconds: args.since.map(|since| since.0.as_secs()),
            tail: args.tail,
            timestamps: args.timestamps,
        },
    })
}

/// Prints the logs of all pods, in the order of the clusters.
async fn print_all(
    clusters: &[ClusterApi],
    request: Arc<Request>,
    printer: &LinePrinter,
) -> Result<(), Failure> {
    let mut report = Report::new(clusters.len());
    let start = |api, sender| read(api, Arc::clone(&request), sender);
    in_order(clusters, start, |cluster, message| {
        report.receive(cluster.name(), message, printer)
    })
    .await?;
    report.finish()
}

/// The problems of all clusters.
struct Report {
    clusters: usize,
    failures: ClusterFailures,
    absent: Vec<String>,
    problems: usize,
}

impl Report {
    const fn new(clusters: usize) -> Self {
        Self {
            clusters,
            failures: ClusterFailures::new(clusters),
            absent: Vec::new(),
            problems: 0,
        }
    }

    fn receive(
        &mut self,
        cluster: &str,
        message: Message,
        printer: &LinePrinter,
    ) -> Result<(), Failure> {
        match message {
            Message::Line(source, line) => printer.print(&source, &line)?,
            Message::Absent(reason) => self.absent.push(format!("{cluster}: {reason}")),
            Message::Problem(problem) => {
                self.problems += 1;
                notice(&printable(&format!("drover: {problem}")));
            }
            Message::Failed(error) => self.failures.add(cluster, error),
        }
        Ok(())
    }

    /// Returns an error if a cluster failed, a log cannot be read, or no cluster has the pod.
    fn finish(self) -> Result<(), Failure> {
        self.failures.finish()?;
        if self.problems > 0 {
            let message = format!("the result is incomplete: {} logs failed", self.problems);
            return Err(Failure::Other(message));
        }
        if self.absent.len() == self.clusters {
            return Err(Failure::Absent(self.absent.join("\ndrover: ")));
        }
        Ok(())
    }
}

/// Sends the lines of all pods of a cluster.
async fn read(api: ClusterApi, request: Arc<Request>, sender: mpsc::Sender<Message>) {
    // An error is the end of the receiver.
    let _ended = read_cluster(&api, &request, &sender).await;
}

async fn read_cluster(
    api: &ClusterApi,
    request: &Request,
    sender: &mpsc::Sender<Message>,
) -> Result<(), mpsc::error::SendError<Message>> {
    let query = match selected(api, request).await {
        Ok(query) => query,
        Err(message) => return sender.send(message).await,
    };
    let path = pods_path(&request.namespace);
    let mut pages = list_pages(api, &path, &query, JSON);
    let mut is_empty = true;
    loop {
        let page = match pages.next().await {
            Ok(Some(page)) => page,
            Ok(None) => break,
            Err(error) => return sender.send(Message::Failed(error)).await,
        };
        for pod in page["items"].as_array().into_iter().flatten() {
            is_empty = false;
            read_pod(api, request, pod, sender).await?;
        }
    }
    if is_empty {
        let problem = format!("no such pod in the namespace {}", request.namespace);
        sender.send(Message::Absent(problem)).await?;
    }
    Ok(())
}

async fn read_pod(
    api: &ClusterApi,
    request: &Request,
    pod: &Value,
    sender: &mpsc::Sender<Message>,
) -> Result<(), mpsc::error::SendError<Message>> {
    for source in request.containers.sources(api.name(), pod) {
        let source = Arc::new(source);
        let opened = source.open(api, &request.options, false).await;
        let mut lines = match opened {
            Ok(lines) => lines,
            Err(error) if error.refusal().is_some() => {
                let problem = format!("{}: {error}", source.label());
                sender.send(Message::Problem(problem)).await?;
                continue;
            }
            Err(error) => return sender.send(Message::Failed(error)).await,
        };
        loop {
            match lines.next().await {
                Ok(Some(line)) => {
                    let line = Message::Line(Arc::clone(&source), line.bytes);
                    sender.send(line).await?;
                }
                Ok(None) => break,
                Err(error) => return sender.send(Message::Failed(error)).await,
            }
        }
    }
    Ok(())
}

/// Returns the selectors of the pods.
async fn selected(api: &ClusterApi, request: &Request) -> Result<Query, Message> {
    let query = match &request.target {
        None => Query {
            labels: request.labels.clone(),
            ..Query::default()
        },
        Some(target) => match pods_of(api, &request.namespace, target).await {
            Ok(selected) => selected.query,
            Err(Failure::Call(error)) if error.refusal().is_none_or(|r| r.code != 404) => {
                return Err(Message::Failed(error));
            }
            Err(failure) => return Err(Message::Absent(failure.text())),
        },
    };
    Ok(Query {
        chunk_size: CHUNK,
        ..query
    })
}

fn pods_path(namespace: &str) -> Vec<String> {
    let path = ["api", "v1", "namespaces", namespace, "pods"];
    path.map(str::to_owned).into()
}
