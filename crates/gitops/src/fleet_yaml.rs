//! Bundles from repositories: fleet.yaml, and the files beside it.
//!
//! [`read_repository`] finds the bundles of a GitRepo in the files of a commit. A bundle can need
//! charts that are not in the repository: the caller fetches [`BundleDraft::charts`], and
//! [`BundleDraft::finish`] adds the files. [`read_folders`] reads bundles of a local folder, which have no
//! GitRepo.

mod bundle;
mod charts;
mod document;
mod encoding;
mod error;
mod git_chart;
mod glob;
mod ignore;
mod local_charts;
mod origin;
mod present_charts;
mod scan;
mod tree;
mod values;

pub use bundle::BundleDraft;
pub use charts::{
    CHART_FILE, Chart, Dependency, FetchedFiles, chart_folders, incomplete_charts,
    may_send_credential, missing_dependencies,
};
pub use document::{FleetYaml, FleetYamlError};
pub use encoding::Compression;
pub use error::ReadError;
pub use git_chart::{GitChart, GitChartError};
pub use glob::{PatternError, matches};
pub use origin::Placement;
pub use scan::{read_folders, read_repository};
pub use tree::{Limits, Tree, TreeError, join};

pub use crate::yaml::YamlError;

#[cfg(test)]
mod tests;
