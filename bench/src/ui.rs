//! `drover-bench ui`: how much the page weighs and how quick it is, in Debian's Chromium.
//!
//! The browser's part is in `e2e/browser/bench`; it tells figures, of which these are goals.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use drover_e2e::{BrowserError, Playwright};

use crate::figures::machine;
use crate::figures::{Figures, FiguresError, Goal, target_folder};
use crate::meter::say;

/// What each figure should be, in the order in which they are shown.
const GOALS: &[(&str, Goal)] = &[
    ("first_load_bytes", Goal::AtMost(1_200_000.0)),
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
];

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UiError {
    /// The browser, or what it was to look at.
    #[error(transparent)]
    Browser(#[from] BrowserError),
    /// A file or folder.
    #[error("prepare {path}")]
    Prepare { path: PathBuf, source: io::Error },
    /// What the browser's part has written.
    #[error("the browser told no figures")]
    Unreadable(#[from] serde_json::Error),
    /// A goal that nothing was measured for.
    #[error("the browser told no figure {0}, which is a goal: e2e/browser/bench measures them")]
    NotMeasured(&'static str),
    /// The figures could not be kept.
    #[error(transparent)]
    Figures(#[from] FiguresError),
}

/// `drover-bench ui`.
#[derive(clap::Args)]
pub(crate) struct Ui {}

impl Ui {
    pub(crate) async fn run(self) -> Result<(), UiError> {
        let start = Instant::now();
        let told = measure().await?;
        let mut figures = Figures::default();
        for &(key, goal) in GOALS {
            let value = told.get(key).ok_or(UiError::NotMeasured(key))?;
            figures.add(key, *value, goal);
        }
        figures.note("cold and warm: 20 Mbit/s, 40 ms, CPU slowed down four times".to_owned());
        figures.note(format!("{} s", start.elapsed().as_secs()));
        say(&figures.table(&format!("ui: {}", machine::description())));
        say(&format!("written to {}", figures.write("ui")?.display()));
        Ok(())
    }
}

/// What the browser tells.
async fn measure() -> Result<BTreeMap<String, f64>, UiError> {
    let playwright = Playwright::prepare(&target_folder().join("bench")).await?;
    say("starting the server");
    playwright.run_on_demonstration("bench").await?;
    let path = playwright.results().join("ui-figures.json");
    let text = fs::read_to_string(&path).map_err(|source| UiError::Prepare { path, source })?;
    Ok(serde_json::from_str(&text)?)
}
