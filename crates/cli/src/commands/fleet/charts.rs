//! Charts outside of the folders of `drover fleet apply`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use drover_gitops::fleet_yaml::{BundleDraft, Chart, FetchedFiles};

use crate::args::ChartFlags;
use crate::failure::Failure;

/// The fetched files of a bundle, by chart.
pub(super) type BundleCharts = BTreeMap<Chart, FetchedFiles>;

/// Returns the program that fetches charts, if the program is beside this program.
pub(super) fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let program = own.with_file_name("drover-render");
    program.is_file().then_some(program)
}

/// Fetches the charts of the bundles. Returns the files in the order of the bundles.
pub(super) async fn fetch(
    flags: &ChartFlags,
    drafts: &[BundleDraft],
    program: Option<&Path>,
) -> Result<Vec<BundleCharts>, Failure> {
    let Some(first) = drafts.iter().find(|draft| !draft.charts().is_empty()) else {
        return Ok(vec![BundleCharts::new(); drafts.len()]);
    };
    let Some(program) = program else {
        return Err(Failure::Other(format!(
            "the bundle {} uses a chart outside of its folder, and the program drover-render, which fetches \
             charts, is not beside this program: install drover-render, copy the chart into the folder, or \
             use a GitRepo",
            first.name()
        )));
    };
    Box::pin(download::fetch(flags, drafts, program)).await
}

#[cfg(target_os = "linux")]
mod download;

/// The process of drover-render has limits of Linux.
#[cfg(not(target_os = "linux"))]
mod download {
    use super::{BundleCharts, BundleDraft, ChartFlags, Failure, Path};

    #[expect(
        clippy::unused_async,
        reason = "the function for Linux waits for a process"
    )]
    pub(super) async fn fetch(
        _: &ChartFlags,
        _: &[BundleDraft],
        _: &Path,
    ) -> Result<Vec<BundleCharts>, Failure> {
        Err(Failure::Other(
            "this command fetches charts outside of its folders only on Linux: copy the chart into the \
             folder, or use a GitRepo"
                .to_owned(),
        ))
    }
}
