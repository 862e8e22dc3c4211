//! The benchmark `drover-bench hub`: compares the embedded hub with kube-apiserver on etcd.
//!
//! The hub and kube-apiserver run on this machine with TLS. Both programs write to the same disk
//! before they acknowledge a write. Measurements of the hub and of kube-apiserver alternate within
//! one run, so that other load on the machine affects both programs. kube-apiserver runs without a
//! controller manager, and the hub runs with its controllers.

mod fanout;
mod footprint;
mod namespaces;
mod stage;
mod stored;

use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::figures::machine;
use crate::figures::measure::Measure;
use crate::figures::{Figures, FiguresError, Goal, median};
use crate::load::{ExchangeError, closed_loop, repeat};
use crate::meter::{Meter, print_progress, shares_line};
use crate::process::ProcessError;
use stage::{LARGE, Side, Stage, StageError};
use stored::FillError;

/// Number of connections that write and read single objects.
const CONNECTIONS: usize = 32;
/// Number of connections that read lists of 14 MB.
const LISTERS: usize = 2;
/// Number of connections that create objects of 1 MiB.
const LARGE_CONNECTIONS: u32 = 4;
/// Goal: the minimum ratio of the hub's throughput to kube-apiserver's throughput.
const MIN_RATIO: f64 = 2.0;
/// Timeout of a measurement.
const TIMEOUT: Duration = Duration::from_mins(2);

/// The reason why the benchmark failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HubError {
    /// A program did not start.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// A request of the load generator failed.
    #[error("cannot measure {operation} of {server}", server = .side)]
    Load {
        operation: &'static str,
        side: &'static str,
        source: ExchangeError,
    },
    /// A measurement timed out.
    #[error(
        "cannot measure {operation} of {server}: timeout", server = .side
    )]
    Stuck {
        operation: &'static str,
        side: &'static str,
    },
    /// The store cannot be filled.
    #[error("cannot store 500,000 objects")]
    Stored(#[from] FillError),
    /// The memory or CPU usage of a process cannot be read.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The figures cannot be written.
    #[error(transparent)]
    Figures(#[from] FiguresError),
}

/// Arguments of `drover-bench hub`.
#[derive(clap::Args)]
pub(crate) struct Hub {
    #[command(flatten)]
    measure: Measure<Measurement>,
}

/// A measurement of the hub benchmark. `--only` selects measurements.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Measurement {
    /// Start-up time of the hub
    Ready,
    /// Creations of objects
    Create,
    /// Reads of single objects
    Get,
    /// Lists of 10,000 objects
    List,
    /// Merge patches of objects
    Patch,
    /// Watch events to 1,000 watchers
    Fanout,
    /// Memory after the load
    Memory,
    /// Patches of the status of custom objects
    Status,
    /// Creations and reads of objects of 1 MiB
    Large,
    /// Watchers of 5,000 namespaces: events, mass reconnection, memory
    Namespaces,
    /// Start, memory and latency with 500,000 stored objects
    Stored,
}

/// A measurement that compares the hub with kube-apiserver, and the names of its figures.
#[derive(Clone, Copy)]
struct Comparison {
    operation: &'static str,
    key: &'static str,
    ratio: &'static str,
}

impl Hub {
    pub(crate) async fn run(self) -> Result<(), HubError> {
        let start = Instant::now();
        let mut figures = Figures::default();
        namespaces::allow_connections()?;
        print_progress("starting the hub, kube-apiserver and etcd");
        let mut stage = Stage::start().await?;
        let measured = self.measure(&mut stage, &mut figures).await;
        figures.note(format!("{} s", start.elapsed().as_secs()));
        print_progress(&figures.table(&format!("hub: {}", machine::description())));
        // Figures of a failed run are printed but not written.
        measured?;
        if self.measure.is_whole() {
            print_progress(&format!("wrote {}", figures.write("hub")?.display()));
        }
        Ok(stage.stop().await?)
    }

    async fn measure(&self, stage: &mut Stage, figures: &mut Figures) -> Result<(), HubError> {
        let expected = |part| self.measure.wants(&part);
        footprint::measure_disk(stage, figures)?;
        if expected(Measurement::Ready) {
            footprint::measure_ready(stage, figures).await?;
        }
        if expected(Measurement::Memory) {
            footprint::measure_rest(stage, figures).await?;
        }
        stage.fill().await?;
        if expected(Measurement::Create) {
            self.compare(CREATE, stage, figures, create).await?;
        }
        if expected(Measurement::Get) {
            self.compare(GET, stage, figures, get).await?;
        }
        if expected(Measurement::Patch) {
            self.compare(PATCH, stage, figures, patch).await?;
        }
        if expected(Measurement::List) {
            self.compare(LIST, stage, figures, list).await?;
        }
        if expected(Measurement::Fanout) {
            self.compare(FANOUT, stage, figures, fanout::rate).await?;
        }
        if expected(Measurement::Memory) {
            footprint::measure_rss(stage, figures).await?;
        }
        if expected(Measurement::Ready) {
            footprint::measure_restart(stage, figures).await?;
        }
        self.measure_large(stage, figures).await
    }

    /// Runs the measurements with many or large objects. These measurements run last, because their
    /// objects change the memory usage and the start-up time.
    async fn measure_large(&self, stage: &Stage, figures: &mut Figures) -> Result<(), HubError> {
        let expected = |part| self.measure.wants(&part);
        if expected(Measurement::Status) || expected(Measurement::Namespaces) {
            stage.fill_things().await?;
        }
        if expected(Measurement::Status) {
            self.compare(STATUS, stage, figures, report).await?;
        }
        if expected(Measurement::Large) {
            self.compare(CREATE_LARGE, stage, figures, create_large)
                .await?;
            self.compare(GET_LARGE, stage, figures, get_large).await?;
        }
        let duration = self.measure.duration();
        if expected(Measurement::Namespaces) {
            namespaces::measure(stage, figures, duration).await?;
        }
        if expected(Measurement::Stored) {
            stored::measure(stage, figures, duration).await?;
        }
        Ok(())
    }

    /// Measures the hub and kube-apiserver alternately.
    async fn compare(
        &self,
        comparison: Comparison,
        stage: &Stage,
        figures: &mut Figures,
        rate: impl AsyncFn(&Side, Duration) -> Result<f64, ExchangeError>,
    ) -> Result<(), HubError> {
        let Comparison {
            operation,
            key,
            ratio,
        } = comparison;
        print_progress(operation);
        let duration = self.measure.duration();
        let mut rates = [Vec::new(), Vec::new()];
        let mut shares = [Vec::new(), Vec::new()];
        for _ in 0..self.measure.turns {
            for (number, side) in stage.sides().into_iter().enumerate() {
                let name = side.name;
                let meter = Meter::start(&side.processes)?;
                let measured = timeout(TIMEOUT, rate(side, duration)).await;
                let measured = measured.map_err(|_| HubError::Stuck {
                    operation,
                    side: name,
                })?;
                rates[number].push(measured.map_err(|source| HubError::Load {
                    operation,
                    side: name,
                    source,
                })?);
                shares[number] = meter.shares()?;
            }
        }
        for (side, shares) in stage.sides().into_iter().zip(&shares) {
            figures.note(shares_line(&format!("{operation}, {}", side.name), shares));
        }
        let (ours, theirs) = (median(&rates[0]), median(&rates[1]));
        figures.add(key, ours, Goal::None);
        figures.add(&format!("kube_{key}"), theirs, Goal::None);
        figures.add(ratio, ours / theirs, Goal::AtLeast(MIN_RATIO));
        Ok(())
    }
}

const CREATE: Comparison = Comparison {
    operation: "creations",
    key: "create_rps",
    ratio: "create_rps_ratio",
};
const GET: Comparison = Comparison {
    operation: "gets",
    key: "get_rps",
    ratio: "get_rps_ratio",
};
const PATCH: Comparison = Comparison {
    operation: "merge patches",
    key: "patch_rps",
    ratio: "patch_rps_ratio",
};
const LIST: Comparison = Comparison {
    operation: "lists of 10,000",
    key: "list10k_rps",
    ratio: "list10k_rps_ratio",
};
const FANOUT: Comparison = Comparison {
    operation: "events to 1,000 watchers",
    key: "fanout1000_events_per_s",
    ratio: "fanout1000_ratio",
};

const STATUS: Comparison = Comparison {
    operation: "patches of a status",
    key: "status_patch_rps",
    ratio: "status_patch_rps_ratio",
};
const CREATE_LARGE: Comparison = Comparison {
    operation: "creations of 1 MiB",
    key: "create1mib_rps",
    ratio: "create1mib_rps_ratio",
};
const GET_LARGE: Comparison = Comparison {
    operation: "gets of 1 MiB",
    key: "get1mib_rps",
    ratio: "get1mib_rps_ratio",
};

async fn create(side: &Side, duration: Duration) -> Result<f64, ExchangeError> {
    Ok(closed_loop(&side.creating, CONNECTIONS, duration)
        .await?
        .rate)
}

async fn get(side: &Side, duration: Duration) -> Result<f64, ExchangeError> {
    Ok(closed_loop(&side.getting, CONNECTIONS, duration)
        .await?
        .rate)
}

async fn patch(side: &Side, duration: Duration) -> Result<f64, ExchangeError> {
    Ok(closed_loop(&side.patching, CONNECTIONS, duration)
        .await?
        .rate)
}

async fn list(side: &Side, duration: Duration) -> Result<f64, ExchangeError> {
    Ok(closed_loop(&side.listing, LISTERS, duration).await?.rate)
}

async fn report(side: &Side, duration: Duration) -> Result<f64, ExchangeError> {
    Ok(closed_loop(&side.reporting, CONNECTIONS, duration)
        .await?
        .rate)
}

/// Creates a fixed number of objects, because etcd has a small limit for the size of its database.
async fn create_large(side: &Side, _: Duration) -> Result<f64, ExchangeError> {
    let start = Instant::now();
    repeat(&side.creating_large, LARGE_CONNECTIONS, LARGE).await?;
    Ok(f64::from(LARGE) / start.elapsed().as_secs_f64())
}

async fn get_large(side: &Side, duration: Duration) -> Result<f64, ExchangeError> {
    Ok(closed_loop(&side.getting_large, LISTERS, duration)
        .await?
        .rate)
}
