//! Measures the hub with 500,000 stored objects: time until it is ready, memory, and latency of
//! gets. kube-apiserver is not compared, because filling it takes too long.

use std::path::Path;
use std::time::{Duration, Instant};

use drover_apiserver::store::{Change, CommitError, OpenError, Store, StoreOptions};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::time::{sleep, timeout};

use super::footprint::{KIB_PER_MIB, SETTLE, until_ready};
use super::stage::{Stage, StageError};
use super::{HubError, TIMEOUT};
use crate::figures::{Figures, Goal};
use crate::load::{Numbers, REPEATING_NUMBER, at_rate};
use crate::meter::print_progress;
use crate::process::{cpu, rss_kib};

const OBJECTS: u32 = 500_000;
/// Number of concurrent changes while the store is filled.
const CHANGES: usize = 2048;
const CONNECTIONS: usize = 16;
/// Gets per second during the latency measurement.
const RATE: f64 = 500.0;
const OPERATION: &str = "500,000 stored objects";

/// The reason why the store cannot be filled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FillError {
    /// The store cannot be opened.
    #[error("cannot open the store")]
    Open(#[from] OpenError),
    /// An object cannot be created.
    #[error("cannot create an object in the store")]
    Commit(#[from] CommitError),
}

pub(super) async fn measure(
    stage: &Stage,
    figures: &mut Figures,
    duration: Duration,
) -> Result<(), HubError> {
    print_progress(OPERATION);
    let path = stage.folder.path().join("stored.db");
    let stuck = |_| HubError::Stuck {
        operation: OPERATION,
        side: "drover",
    };
    timeout(TIMEOUT, fill(&path)).await.map_err(stuck)??;
    let launch = stage.launch.with_other_port()?;
    let start = Instant::now();
    let mut hub = launch.program(&path).start().map_err(StageError::from)?;
    let ready = until_ready(&launch.ready(), start).await?;
    figures.add("stored500k_ready_ms", ready, Goal::None);
    sleep(SETTLE).await;
    let used = cpu(hub.id())?.as_secs_f64();
    figures.add("stored500k_start_cpu_s", used, Goal::None);
    let rss = rss_kib(hub.id())? / KIB_PER_MIB;
    figures.add("stored500k_rss_mib", rss, Goal::None);
    let name = format!("n-{REPEATING_NUMBER}");
    let getting = launch
        .reading(&format!("/api/v1/namespaces/stored/configmaps/{name}"))
        .numbered(Numbers::scattered_over(u64::from(OBJECTS)));
    let latencies = at_rate(&getting, CONNECTIONS, RATE, duration).await;
    let latencies = latencies.map_err(|source| HubError::Load {
        operation: OPERATION,
        side: "drover",
        source,
    })?;
    let (p50, p99) = (latencies.quantile_ms(0.5), latencies.quantile_ms(0.99));
    figures.add("stored500k_get_p50_ms", p50, Goal::None);
    figures.add("stored500k_get_p99_ms", p99, Goal::None);
    hub.kill().map_err(StageError::from)?;
    Ok(())
}

/// Fills a store without a server.
async fn fill(path: &Path) -> Result<(), FillError> {
    let store = Store::open(path, StoreOptions::default())?;
    let changes = (0..OBJECTS).map(|number| {
        let key = format!("/core/configmaps/stored/n-{number:08}");
        store.commit(Change::create(key, config_map(number)))
    });
    let written = stream::iter(changes).buffer_unordered(CHANGES);
    written.try_for_each(|_| async { Ok(()) }).await?;
    let closed = store.closed();
    drop(store);
    closed.await;
    Ok(())
}

/// Returns a ConfigMap as the hub stores it.
fn config_map(number: u32) -> String {
    let text = "x".repeat(256);
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"n-{number:08}","namespace":"stored","uid":"00000000-0000-4000-8000-{number:012}","creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{{"manager":"bench","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{".":{{}},"f:text":{{}}}}}}}}]}},"data":{{"text":"{text}"}}}}"#
    )
}
