//! Measures watchers of many namespaces, as of the agents of many clusters: connection, events,
//! mass reconnection and memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::time::timeout;

use super::HubError;
use super::fanout::{EventCount, Rounds, Watching, until};
use super::stage::{FILL_CONNECTIONS, Side, Stage, StageError, sent, status, thing, things};
use crate::figures::{Figures, Goal};
use crate::limits::allow_files;
use crate::load::{Connection, ExchangeError, NUMBER, Numbers, REPEATING_NUMBER, repeat};
use crate::meter::{Meter, print_progress, shares_line};
use crate::process::{ProcessError, rss_kib};

/// Number of namespaces. Each namespace has one object and one watcher.
const NAMESPACES: u32 = 5000;
/// Number of connections that open concurrently.
const OPENING: usize = 64;
/// Number of connections that change objects.
const WRITERS: u32 = 32;
/// Number of open files of each process, with space for files other than connections.
const FILES: u64 = 3 * NAMESPACES as u64;
/// Time after which the memory of idle connections is measured.
const IDLE: Duration = Duration::from_secs(2);
/// Timeout of each step. kube-apiserver needs most of a minute to accept the connections on two
/// busy cores.
const TIMEOUT: Duration = Duration::from_mins(3);
const OPERATION: &str = "watchers in 5,000 namespaces";

/// The figures of one program.
struct Measured {
    connect_s: f64,
    reconnect_s: f64,
    events_per_s: f64,
    kib_per_watcher: f64,
}

/// Raises the limit of open files for this process and for programs that it starts later.
pub(super) fn allow_connections() -> Result<(), StageError> {
    Ok(allow_files(FILES)?)
}

pub(super) async fn measure(
    stage: &Stage,
    figures: &mut Figures,
    duration: Duration,
) -> Result<(), HubError> {
    print_progress(OPERATION);
    let mut all = Vec::new();
    for side in stage.sides() {
        let load = |source| HubError::Load {
            operation: OPERATION,
            side: side.name,
            source,
        };
        let stuck = |_| HubError::Stuck {
            operation: OPERATION,
            side: side.name,
        };
        let filled = timeout(TIMEOUT, fill(side)).await.map_err(stuck)?;
        filled.map_err(load)?;
        let meter = Meter::start(&side.processes)?;
        let before = memory(side)?;
        let measured = timeout(TIMEOUT, watch(side, duration, before));
        all.push(measured.await.map_err(stuck)??);
        let label = format!("{OPERATION}, {}", side.name);
        figures.note(shares_line(&label, &meter.shares()?));
    }
    let [ours, theirs] = all.as_slice() else {
        return Ok(());
    };
    for (key, ratio, figure) in FIGURES {
        let (ours, theirs) = (figure(ours), figure(theirs));
        figures.add(key, ours, Goal::None);
        figures.add(&format!("kube_{key}"), theirs, Goal::None);
        figures.add(ratio, ours / theirs, Goal::None);
    }
    Ok(())
}

type Figure = fn(&Measured) -> f64;

/// Key, key of the ratio of the hub's value to kube-apiserver's value, and value of each figure.
const FIGURES: [(&str, &str, Figure); 4] = [
    ("watch5000_connect_s", "watch5000_connect_ratio", |one| {
        one.connect_s
    }),
    (
        "watch5000_reconnect_s",
        "watch5000_reconnect_ratio",
        |one| one.reconnect_s,
    ),
    ("watch5000_events_per_s", "watch5000_events_ratio", |one| {
        one.events_per_s
    }),
    ("watch5000_kib_per_watcher", "watch5000_kib_ratio", |one| {
        one.kib_per_watcher
    }),
];

async fn fill(side: &Side) -> Result<(), ExchangeError> {
    let namespace = format!(r#"{{"metadata":{{"name":"n-{NUMBER}"}}}}"#);
    let namespaces = side.target("/api/v1/namespaces", sent("POST", &namespace));
    repeat(&namespaces, FILL_CONNECTIONS, NAMESPACES).await?;
    let objects = side.target(&things(&format!("n-{NUMBER}")), thing());
    repeat(&objects, FILL_CONNECTIONS, NAMESPACES).await
}

async fn watch(side: &Side, duration: Duration, before: f64) -> Result<Measured, HubError> {
    let load = |source| HubError::Load {
        operation: OPERATION,
        side: side.name,
        source,
    };
    let (watchers, connect_s) = connect(side).await.map_err(load)?;
    tokio::time::sleep(IDLE).await;
    let kib_per_watcher = (memory(side)? - before) / f64::from(NAMESPACES);
    drop(watchers);
    let (mut watchers, reconnect_s) = connect(side).await.map_err(load)?;
    let events_per_s = watchers.rate(side, duration).await.map_err(load)?;
    Ok(Measured {
        connect_s,
        reconnect_s,
        events_per_s,
        kib_per_watcher,
    })
}

/// The resident memory of a side's processes, in KiB.
fn memory(side: &Side) -> Result<f64, ProcessError> {
    let mut sum = 0.0;
    for &(_, process) in &side.processes {
        sum += rss_kib(process)?;
    }
    Ok(sum)
}

/// One watcher of each namespace.
struct Watchers {
    received: Arc<EventCount>,
    tasks: Watching,
}

/// Starts all watchers. Returns after each watcher has received the object of its namespace, with
/// the duration in seconds.
async fn connect(side: &Side) -> Result<(Watchers, f64), ExchangeError> {
    let start = Instant::now();
    let received = Arc::new(EventCount::default());
    let mut tasks = Watching::new();
    let mut opening = stream::iter(0..NAMESPACES)
        .map(|number| async move {
            let path = things(&format!("n-{number:08}"));
            Connection::open(&side.reading(&format!("{path}?watch=1"))).await
        })
        .buffer_unordered(OPENING);
    while let Some(mut connection) = opening.try_next().await? {
        let received = Arc::clone(&received);
        tasks.spawn(async move { connection.lines(|events| received.add(events)).await });
    }
    until(&received, u64::from(NAMESPACES), &mut tasks).await?;
    let watchers = Watchers { received, tasks };
    Ok((watchers, start.elapsed().as_secs_f64()))
}

impl Watchers {
    /// Returns the number of events per second if different objects change. Each change has one
    /// watcher.
    async fn rate(&mut self, side: &Side, duration: Duration) -> Result<f64, ExchangeError> {
        let number = format!("n-{REPEATING_NUMBER}");
        let path = format!("{}/c-{REPEATING_NUMBER}/status", things(&number));
        let numbers = Numbers::in_rounds_of(u64::from(NAMESPACES));
        let changing = side.target(&path, status()).numbered(numbers);
        let opening = (0..WRITERS).map(|_| Connection::open(&changing));
        let mut writers = try_join_all(opening).await?;
        let rounds = Rounds {
            received: &self.received,
            expected: u64::from(NAMESPACES),
            events: u64::from(WRITERS),
        };
        rounds.run(&mut writers, &mut self.tasks, duration).await
    }
}
