//! The benchmark `drover-bench ui`: size and speed of the web UI in Debian's Chromium.
//!
//! `e2e/browser/bench` measures the figures in the browser. This module contains the goals of these
//! figures.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use drover_e2e::{BrowserError, Playwright};

use crate::figures::machine;
use crate::figures::{Figures, FiguresError, Goal, target_folder};
use crate::meter::print_progress;

/// Timeout of all measurements. The creation of a hundred thousand pods takes about ten minutes.
const LIMIT: Duration = Duration::from_mins(30);
/// The goals of the figures, in the order of the table.
const GOALS: &[(&str, Goal)] = &[
    ("first_load_bytes", Goal::AtMost(900_000.0)),
    ("first_load_requests", Goal::None),
    ("cold_load_ms", Goal::AtMost(2500.0)),
    ("warm_load_ms", Goal::AtMost(600.0)),
    ("clusters", Goal::AtLeast(2000.0)),
    ("make_clusters_s", Goal::None),
    ("clusters_first_rows_ms", Goal::AtMost(500.0)),
    ("clusters_filter_ms", Goal::AtMost(100.0)),
    ("clusters_sort_ms", Goal::AtMost(100.0)),
    ("clusters_dom_rows", Goal::AtMost(80.0)),
    ("clusters_heap_mib", Goal::AtMost(80.0)),
    ("pods", Goal::AtLeast(10_000.0)),
    ("make_pods_s", Goal::None),
    ("pods_first_rows_ms", Goal::AtMost(300.0)),
    ("pods_filter_ms", Goal::AtMost(100.0)),
    ("pods_sort_ms", Goal::AtMost(100.0)),
    ("pods_dom_rows", Goal::AtMost(80.0)),
    ("pods_heap_mib", Goal::AtMost(80.0)),
    ("all_pods", Goal::AtLeast(100_000.0)),
    ("make_all_pods_s", Goal::None),
    ("all_pods_first_rows_ms", Goal::None),
    ("all_pods_filter_ms", Goal::AtMost(100.0)),
    ("all_pods_sort_ms", Goal::None),
    ("all_pods_dom_rows", Goal::AtMost(80.0)),
    ("all_pods_heap_mib", Goal::AtMost(80.0)),
    ("search_first_ms", Goal::None),
    ("search_ms", Goal::AtMost(300.0)),
];

/// The reason why the benchmark failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UiError {
    /// The browser or the demonstration failed.
    #[error(transparent)]
    Browser(#[from] BrowserError),
    /// A file or folder cannot be prepared.
    #[error("cannot prepare {path}")]
    Prepare { path: PathBuf, source: io::Error },
    /// The figures of the browser cannot be parsed.
    #[error("cannot parse the browser's measurements")]
    Unreadable(#[from] serde_json::Error),
    /// The browser's output does not contain a figure that has a goal.
    #[error(
        "the browser's measurements contain no {metric}; add the measurement to e2e/browser/bench",
        metric = .0
    )]
    NotMeasured(&'static str),
    /// The figures cannot be written.
    #[error(transparent)]
    Figures(#[from] FiguresError),
}

/// Arguments of `drover-bench ui`.
#[derive(clap::Args)]
pub(crate) struct Ui {}

impl Ui {
    pub(crate) async fn run(self) -> Result<(), UiError> {
        let start = Instant::now();
        let reported = measure().await?;
        let mut figures = Figures::default();
        for &(key, goal) in GOALS {
            let value = reported.get(key).ok_or(UiError::NotMeasured(key))?;
            figures.add(key, *value, goal);
        }
        figures.note("cold and warm: 20 Mbit/s, 40 ms, CPU slowed down four times".to_owned());
        figures.note(format!("{} s", start.elapsed().as_secs()));
        print_progress(&figures.table(&format!("ui: {}", machine::description())));
        print_progress(&format!("wrote {}", figures.write("ui")?.display()));
        Ok(())
    }
}

/// Reads the figures of the browser.
async fn measure() -> Result<BTreeMap<String, f64>, UiError> {
    let playwright = Playwright::prepare(&target_folder().join("bench"))
        .await?
        .with_limit(LIMIT);
    print_progress("starting the server");
    playwright.run_on_demonstration("bench").await?;
    let path = playwright.results().join("ui-figures.json");
    let text = fs::read_to_string(&path).map_err(|source| UiError::Prepare { path, source })?;
    Ok(serde_json::from_str(&text)?)
}
