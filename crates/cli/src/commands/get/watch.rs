//! Implements `drover get --watch`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use drover_entropy::backoff::Backoff;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::fetch::Request;
use super::is_server_table;
use super::printer::Printer;
use crate::args::GetArgs;
use crate::client::CallError;
use crate::failure::Failure;
use crate::kubernetes::{
    ClusterApi, ClusterFailures, Column, Discovery, Event, EventKind, ObjectList, ObjectNames,
    Resource, TablePage, Watch,
};
use crate::table::printable;
use crate::terminal::notice;

/// Maximum number of clusters that a command watches, because each watch has a connection.
const MAX_WATCHED_CLUSTERS: usize = 200;
/// Number of events that wait for the output.
const QUEUE: usize = 64;

/// A message of the watch of a cluster.
enum Message {
    /// The kind of the objects, before all events.
    Kind(Resource),
    /// The cluster does not have the kind.
    Absent,
    Event(Event),
}

/// Prints the objects of all clusters and their changes, until all watches have failed.
pub(super) async fn run(
    args: &GetArgs,
    clusters: &[ClusterApi],
    request: Arc<Request>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let [objects] = &request.wanted[..] else {
        return Err(Failure::Usage(
            "--watch needs one kind; run a command for each kind".to_owned(),
        ));
    };
    if objects.names.len() > 1 {
        return Err(Failure::Usage(
            "--watch needs one name or no name".to_owned(),
        ));
    }
    if clusters.len() > MAX_WATCHED_CLUSTERS {
        return Err(Failure::Usage(format!(
            "cannot watch {} clusters; select at most {MAX_WATCHED_CLUSTERS} with --clusters",
            clusters.len()
        )));
    }
    printer.set_clusters(clusters);
    let (sender, mut messages) = mpsc::channel(QUEUE);
    // Dropping the set ends the watches.
    let mut tasks = JoinSet::new();
    for (index, api) in clusters.iter().enumerate() {
        let task = watch(
            index,
            api.clone(),
            objects.clone(),
            Arc::clone(&request),
            sender.clone(),
        );
        tasks.spawn(task);
    }
    drop(sender);
    let mut output = WatchOutput {
        args,
        printer,
        clusters: clusters.iter().map(ClusterOutput::of).collect(),
        failures: ClusterFailures::new(clusters.len()),
        absent: 0,
    };
    while let Some((index, message)) = messages.recv().await {
        output.receive(index, message)?;
        // More messages determine the widths of the columns together.
        while let Ok((index, message)) = messages.try_recv() {
            output.receive(index, message)?;
        }
        output.printer.flush()?;
    }
    let absent = output.absent;
    output.failures.finish()?;
    Err(if absent == clusters.len() {
        Failure::Absent(format!(
            "no selected cluster has the resource {:?}",
            objects.kind
        ))
    } else {
        Failure::Other("all watches ended".to_owned())
    })
}

/// Sends the messages of the watch of one cluster.
async fn watch(
    index: usize,
    api: ClusterApi,
    objects: ObjectNames,
    request: Arc<Request>,
    sender: mpsc::Sender<(usize, Message)>,
) {
    let Some(resource) = discover(index, &api, &objects.kind, &sender).await else {
        return;
    };
    let mut query = request.query.clone();
    if let [name] = &objects.names[..] {
        query.fields = Some(format!("metadata.name={name}"));
    }
    let watch = Watch {
        path: resource.path(request.namespace.as_deref(), None),
        api,
        query,
        accept: request.accept,
    };
    let (events, mut received) = mpsc::channel(1);
    let forward = async {
        while let Some(event) = received.recv().await {
            if sender.send((index, Message::Event(event))).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(watch.run(events), forward);
}

/// Sends the kind of the objects, and returns it. Tries again after transient errors. Returns `None`
/// if the cluster cannot be watched.
async fn discover(
    index: usize,
    api: &ClusterApi,
    kind: &str,
    sender: &mpsc::Sender<(usize, Message)>,
) -> Option<Resource> {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
    let mut is_reported = false;
    loop {
        let (message, resource) = match Discovery::of(api).await {
            Ok(discovery) => match discovery.find(kind, "watch").first() {
                Some(&resource) => (Message::Kind(resource.clone()), Some(resource.clone())),
                None => (Message::Absent, None),
            },
            Err(error) if error.is_transient() => {
                if !std::mem::replace(&mut is_reported, true) {
                    let lost = Message::Event(Event::Lost(error));
                    sender.send((index, lost)).await.ok()?;
                }
                sleep(backoff.next_delay()).await;
                continue;
            }
            Err(error) => (Message::Event(Event::Failed(error)), None),
        };
        sender.send((index, message)).await.ok()?;
        return resource;
    }
}

/// The state of the output of one cluster.
struct ClusterOutput {
    name: String,
    resource: Option<Resource>,
    columns: Vec<Column>,
    /// The resource versions of the printed objects by UID. After a gap in the watch, only changed
    /// objects are printed.
    printed: HashMap<String, String>,
    is_listed: bool,
}

impl ClusterOutput {
    fn of(api: &ClusterApi) -> Self {
        Self {
            name: api.name().to_owned(),
            resource: None,
            columns: Vec::new(),
            printed: HashMap::new(),
            is_listed: false,
        }
    }

    /// Reports whether this version of an object is new, and remembers the version.
    fn is_new(&mut self, object: &Value, kind: EventKind) -> bool {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let (uid, version) = (text("uid").to_owned(), text("resourceVersion").to_owned());
        if kind == EventKind::Deleted {
            self.printed.remove(&uid);
            return true;
        }
        self.printed.insert(uid, version.clone()).as_ref() != Some(&version)
    }
}

struct WatchOutput<'a> {
    args: &'a GetArgs,
    printer: &'a mut Printer,
    clusters: Vec<ClusterOutput>,
    failures: ClusterFailures,
    absent: usize,
}

impl WatchOutput<'_> {
    fn receive(&mut self, index: usize, message: Message) -> Result<(), Failure> {
        let name = self.clusters[index].name.clone();
        match message {
            Message::Kind(resource) => self.clusters[index].resource = Some(resource),
            Message::Absent => self.absent += 1,
            Message::Event(Event::Page(page)) => self.print(index, EventKind::Added, page, true)?,
            Message::Event(Event::Change(kind, object)) => {
                self.clusters[index].is_listed = true;
                self.print(index, kind, object, false)?;
            }
            Message::Event(Event::Lost(error)) => lost(&name, &error),
            Message::Event(Event::Resumed) => {
                notice(&printable(&format!("drover: {name}: the watch continues")));
            }
            Message::Event(Event::Failed(error)) => self.failures.add(&name, error),
        }
        Ok(())
    }

    fn print(
        &mut self,
        index: usize,
        kind: EventKind,
        response: Value,
        is_list: bool,
    ) -> Result<(), Failure> {
        let state = &mut self.clusters[index];
        let Some(resource) = state.resource.clone() else {
            return Ok(());
        };
        let is_hidden = is_list && self.args.watch_only && !state.is_listed;
        let name = state.name.clone();
        if !is_server_table(&self.args.output) {
            for object in ObjectList::from_response(response, &resource, &name) {
                if state.is_new(&object, kind) && !is_hidden {
                    self.printer.object(&name, &resource, object)?;
                }
            }
            return Ok(());
        }
        let mut page = TablePage::from_response(response, Timestamp::now());
        if !page.columns.is_empty() {
            state.columns = page.columns;
        }
        page.rows
            .retain(|row| state.is_new(&row.object, kind) && !is_hidden);
        let event = match kind {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
        };
        let columns = state.columns.clone();
        self.printer
            .table(&name, &resource, &columns, page.rows, Some(event))
    }
}

fn lost(cluster: &str, error: &CallError) {
    notice(&printable(&format!(
        "drover: {cluster}: the watch is interrupted and tries again: {error}"
    )));
}
