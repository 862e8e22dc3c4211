//! Implements `drover logs --follow`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use drover_entropy::backoff::Backoff;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::line::LinePrinter;
use super::source::{LogOptions, Source};
use super::{Message, Report, Request, pods_path, selected};
use crate::client::CallError;
use crate::failure::Failure;
use crate::kubernetes::{ClusterApi, Event, JSON, Line, PodTarget, Watch, list_pages};
use crate::table::printable;
use crate::terminal::notice;

/// Number of lines that wait for the output.
const QUEUE: usize = 256;
/// Number of consecutive failures after which a log is not opened again.
const MAX_FAILURES: u32 = 10;

/// A message of a cluster or of a log.
enum Update {
    /// A pod of a cluster. True if the pod existed at the start.
    Pod(usize, Value, bool),
    Log(usize, Message),
    /// The search for the pods of a cluster ended.
    Searched,
    /// The log of a container ended.
    Ended,
    /// The connection of the watch failed. The watch tries again.
    Lost(usize, CallError),
}

/// Prints the logs of all pods and new lines. Ends when all logs of a named pod have ended. With a
/// selector, new pods can appear at any time, so the command does not end.
pub(super) async fn run(
    clusters: &[ClusterApi],
    request: Arc<Request>,
    printer: &LinePrinter,
    max_logs: usize,
) -> Result<(), Failure> {
    let (sender, mut updates) = mpsc::channel(QUEUE);
    // Dropping the set ends all tasks.
    let mut tasks = JoinSet::new();
    for (index, api) in clusters.iter().enumerate() {
        tasks.spawn(search(
            index,
            api.clone(),
            Arc::clone(&request),
            sender.clone(),
        ));
    }
    let mut searches = clusters.len();
    let mut report = Report::new(clusters.len());
    let mut started = HashSet::new();
    let mut open = 0_usize;
    while searches + open > 0
        && let Some(update) = updates.recv().await
    {
        match update {
            Update::Pod(index, pod, is_old) => {
                let sources = request.containers.sources(clusters[index].name(), &pod);
                let startable = sources
                    .into_iter()
                    .filter(|source| is_startable(source, &request));
                for source in startable {
                    if !started.insert(source.clone()) {
                        continue;
                    }
                    if open == max_logs {
                        return Err(too_many(max_logs));
                    }
                    open += 1;
                    let log = FollowedLog {
                        index,
                        api: clusters[index].clone(),
                        source: Arc::new(source),
                        options: options(&request.options, is_old),
                        timestamps: request.options.timestamps,
                    };
                    tasks.spawn(log.run(sender.clone()));
                }
            }
            Update::Log(index, message) => {
                report.receive(clusters[index].name(), message, printer)?;
            }
            Update::Searched => searches -= 1,
            Update::Ended => open -= 1,
            Update::Lost(index, error) => notice(&printable(&format!(
                "drover: {}: the search for pods is interrupted and tries again: {error}",
                clusters[index].name()
            ))),
        }
    }
    report.finish()
}

/// Reports whether the log of a container can be read. A named pod is read at once, so that the API
/// server reports the reason if the container does not run.
fn is_startable(source: &Source, request: &Request) -> bool {
    matches!(request.target, Some(PodTarget::Pod(_))) || !source.container_id.is_empty()
}

/// Returns the options of a log. The limits of old lines do not apply to new pods.
fn options(options: &LogOptions, is_old: bool) -> LogOptions {
    if is_old {
        options.clone()
    } else {
        LogOptions {
            since_seconds: None,
            tail: None,
            ..options.clone()
        }
    }
}

fn too_many(max_logs: usize) -> Failure {
    Failure::Other(format!(
        "more than {max_logs} logs match; select fewer pods, or increase --max-log-requests"
    ))
}

async fn search(
    index: usize,
    api: ClusterApi,
    request: Arc<Request>,
    sender: mpsc::Sender<Update>,
) {
    watch_pods(index, api, request, sender.clone()).await;
    let _unread = sender.send(Update::Searched).await;
}

/// Sends the pods of a cluster, and new pods if the request has a selector.
async fn watch_pods(
    index: usize,
    api: ClusterApi,
    request: Arc<Request>,
    sender: mpsc::Sender<Update>,
) {
    let query = match selected(&api, &request).await {
        Ok(query) => query,
        Err(message) => {
            let _unread = sender.send(Update::Log(index, message)).await;
            return;
        }
    };
    let path = pods_path(&request.namespace);
    if matches!(request.target, Some(PodTarget::Pod(_))) {
        let page = list_pages(&api, &path, &query, JSON).next().await;
        let items = page.map(|page| page.unwrap_or_default()["items"].take());
        let update = match items {
            Ok(Value::Array(mut pods)) if !pods.is_empty() => {
                Update::Pod(index, pods.swap_remove(0), true)
            }
            Ok(_) => {
                let problem = format!("no such pod in the namespace {}", request.namespace);
                Update::Log(index, Message::Absent(problem))
            }
            Err(error) => Update::Log(index, Message::Failed(error)),
        };
        let _unread = sender.send(update).await;
        return;
    }
    let watch = Watch {
        api,
        path,
        query,
        accept: JSON,
    };
    let (events, mut received) = mpsc::channel(1);
    let forward = async move {
        let mut is_first = true;
        while let Some(event) = received.recv().await {
            for update in updates_of(index, event, &mut is_first) {
                if sender.send(update).await.is_err() {
                    return;
                }
            }
        }
    };
    tokio::join!(watch.run(events), forward);
}

fn updates_of(index: usize, event: Event, is_first: &mut bool) -> Vec<Update> {
    match event {
        Event::Page(mut page) => match page["items"].take() {
            Value::Array(pods) => {
                let pods = pods.into_iter();
                pods.map(|pod| Update::Pod(index, pod, *is_first)).collect()
            }
            _ => Vec::new(),
        },
        Event::Change(_, pod) => {
            *is_first = false;
            vec![Update::Pod(index, pod, false)]
        }
        Event::Lost(error) => vec![Update::Lost(index, error)],
        Event::Resumed => {
            *is_first = false;
            Vec::new()
        }
        Event::Failed(error) => vec![Update::Log(index, Message::Failed(error))],
    }
}

/// The log of a container, which is opened again after transient errors.
struct FollowedLog {
    index: usize,
    api: ClusterApi,
    source: Arc<Source>,
    options: LogOptions,
    /// True if the output contains the times.
    timestamps: bool,
}

impl FollowedLog {
    async fn run(self, sender: mpsc::Sender<Update>) {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
        let mut failures = 0;
        let mut last: Option<Timestamp> = None;
        loop {
            let before = last;
            match self.read(&mut last, &sender).await {
                Ok(()) => break,
                Err(error) if error.is_transient() && failures < MAX_FAILURES => {
                    failures = if last == before { failures + 1 } else { 0 };
                    sleep(backoff.next_delay()).await;
                }
                Err(error) => {
                    let problem = format!("{}: {error}", self.source.label());
                    let problem = Update::Log(self.index, Message::Problem(problem));
                    let _unread = sender.send(problem).await;
                    break;
                }
            }
        }
        let _unread = sender.send(Update::Ended).await;
    }

    /// Sends the lines after the time of the last line, until the log ends.
    async fn read(
        &self,
        last: &mut Option<Timestamp>,
        sender: &mpsc::Sender<Update>,
    ) -> Result<(), CallError> {
        let since = last.map(|time| time.to_string());
        let opened = self
            .source
            .open_since(&self.api, &self.options, true, since.as_deref());
        let mut lines = opened.await?;
        // The API server compares times with a precision of seconds.
        let mut resumption = Resumption::after(*last);
        while let Some(line) = lines.next().await? {
            let (time, text) = split_time(&line);
            if !resumption.is_new(time, line.is_continued) {
                continue;
            }
            *last = time.or(*last);
            let shown = if self.timestamps { &line.bytes } else { text };
            let line = Message::Line(Arc::clone(&self.source), shown.to_vec());
            if sender.send(Update::Log(self.index, line)).await.is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// Selects the lines of a log that were not printed before an interruption.
struct Resumption {
    /// The time of the last printed line.
    after: Option<Timestamp>,
    /// True if the last line was printed before. The parts of a split line belong together.
    is_old: bool,
}

impl Resumption {
    const fn after(after: Option<Timestamp>) -> Self {
        Self {
            after,
            is_old: false,
        }
    }

    fn is_new(&mut self, time: Option<Timestamp>, is_continued: bool) -> bool {
        if !is_continued {
            self.is_old = time.is_some_and(|time| self.after.is_some_and(|after| time <= after));
        }
        !self.is_old
    }
}

/// Splits a line into its time and its text. Only the first part of a split line has a time. The
/// container can write a text that looks like a time into the other parts.
fn split_time(line: &Line) -> (Option<Timestamp>, &[u8]) {
    let is_continued = line.is_continued;
    let line = line.bytes.as_slice();
    if is_continued {
        return (None, line);
    }
    let end = line.iter().position(|byte| *byte == b' ');
    let time = end.and_then(|end| std::str::from_utf8(&line[..end]).ok());
    let time = time.and_then(|time| time.parse().ok());
    match (time, end) {
        (Some(time), Some(end)) => (Some(time), &line[end + 1..]),
        _ => (None, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_a_line_is_separated_from_its_text() {
        let line = |text: &str| Line {
            bytes: text.as_bytes().to_vec(),
            is_continued: false,
        };
        let first = line("2026-11-20T12:00:00.123456789Z a line");
        let (time, text) = split_time(&first);
        assert_eq!(time, "2026-11-20T12:00:00.123456789Z".parse().ok());
        assert_eq!(text, b"a line");
        assert_eq!(split_time(&line("no time")).0, None);
        assert_eq!(
            split_time(&line("2026-11-20T12:00:00Z ")),
            ("2026-11-20T12:00:00Z".parse().ok(), &b""[..])
        );
        assert_eq!(split_time(&line("")), (None, &b""[..]));
    }

    #[test]
    fn part_of_a_split_line_has_no_time_and_belongs_to_its_line() {
        let forged = Line {
            bytes: b"2099-01-01T00:00:00Z text".to_vec(),
            is_continued: true,
        };
        assert_eq!(split_time(&forged), (None, &forged.bytes[..]));
        let at = |second: i64| Timestamp::from_second(second).ok();
        let mut resumption = Resumption::after(at(5));
        assert!(!resumption.is_new(at(5), false) && !resumption.is_new(None, true));
        assert!(resumption.is_new(at(6), false) && resumption.is_new(None, true));
        assert!(resumption.is_new(None, false), "a line without a time");
    }
}
