//! Errors of the reader of repositories.

use thiserror::Error;

use super::document::FleetYamlError;
use super::glob::PatternError;
use super::tree::TreeError;
use super::values::MAX_VALUES_FILES;
use crate::ids::ContentError;

/// A repository whose bundles cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The options of a bundle are not valid.
    #[error("cannot read {file}: {source}")]
    Options {
        /// Path of the file.
        file: String,
        /// The reason.
        source: FleetYamlError,
    },
    /// The options file of a driven scan does not exist.
    #[error("the file {file} does not exist: correct spec.bundles")]
    NoOptions {
        /// Path of the file.
        file: String,
    },
    /// A folder of a driven scan does not exist.
    #[error("the folder {folder:?} does not exist: correct spec.bundles")]
    NoFolder {
        /// The folder.
        folder: String,
    },
    /// A file with Helm values cannot be read.
    #[error("cannot read the values file {file} of {folder:?}: {reason}")]
    Values {
        /// Path in `valuesFiles`.
        file: String,
        /// Folder of the bundle.
        folder: String,
        /// The reason.
        reason: String,
    },
    /// There are too many files with Helm values.
    #[error("the fleet.yaml of {folder:?} names more than {MAX_VALUES_FILES} values files")]
    ValuesFiles {
        /// Folder of the bundle.
        folder: String,
    },
    /// A chart does not exist.
    #[error(
        "the chart {chart:?} of {folder:?} does not exist: correct helm.chart, or set helm.repo"
    )]
    NoChart {
        /// Folder of the bundle.
        folder: String,
        /// Path in `helm.chart`.
        chart: String,
    },
    /// A dependency of a chart in the repository cannot be used.
    #[error(
        "the dependency {name} in the Chart.yaml of {folder:?}: the repository {repository:?} {reason}"
    )]
    LocalDependency {
        /// Name of the dependency.
        name: String,
        /// Folder of the chart.
        folder: String,
        /// The repository, which begins with `file://`.
        repository: String,
        /// The reason, and the fix.
        reason: String,
    },
    /// A chart was not fetched.
    #[error("the chart files for {folder} were not fetched")]
    NotFetched {
        /// Folder of the chart's files in the bundle.
        folder: String,
    },
    /// A file of a bundle was left out.
    #[error(
        "cannot use the file {file:?}: {reason}. To deploy without the file, add its path to a .fleetignore"
    )]
    Rejected {
        /// Path of the file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// A path or file is not permitted.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A pattern in `spec.paths` or `.fleetignore` is not valid.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A file cannot be compressed.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// Two folders have bundles with the same name.
    #[error(
        "the folders {first:?} and {second:?} have bundles with the name {name}: change the name in one fleet.yaml"
    )]
    SameName {
        /// The name.
        name: String,
        /// The first folder.
        first: String,
        /// The second folder.
        second: String,
    },
    /// There is no bundle.
    #[error("no files to deploy in the paths {paths:?}: correct spec.paths")]
    NoBundles {
        /// The paths.
        paths: Vec<String>,
    },
}
