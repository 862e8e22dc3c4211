//! Decides what the files of a bundle are: a chart, a kustomization or plain YAML.
//!
//! The rules equal the rules of Fleet's agent. A bundle with a `Chart.yaml` at the configured place
//! is a chart. A bundle with a `kustomization.yaml` at the configured place is built by Kustomize,
//! also after Helm. All other bundles are plain YAML, whose folder `templates/` is rendered by Helm.

mod overlays;
mod yaml;

use std::collections::BTreeMap;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::fleet::{BundleDeploymentOptions, BundleResource, HelmOptions};
use drover_gitops::ids::sha256_hex;
use flate2::read::GzDecoder;

pub use overlays::{Overlaid, PatchRequest};
pub use yaml::{PlainObject, parse};

/// Maximum size of all files of a bundle, after decompression.
pub const MAX_BUNDLE_BYTES: u64 = 100 << 20;

/// The reason why the files of a bundle cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The encoding of a file is unknown.
    #[error("cannot decode the file {name}: the encoding {encoding:?} is not supported")]
    Encoding {
        /// Path of the file.
        name: String,
        /// The unknown encoding.
        encoding: String,
    },
    /// A file is not valid base64 or gzip.
    #[error("cannot decode the file {name}: the content is not base64 of gzip data")]
    Decode {
        /// Path of the file.
        name: String,
    },
    /// The files are too large.
    #[error("cannot use the bundle: its files exceed {MAX_BUNDLE_BYTES} bytes")]
    TooLarge,
    /// A file leaves the folder of the bundle.
    #[error("cannot use the file {name}: the path leaves the bundle")]
    Path {
        /// Path of the file.
        name: String,
    },
    /// A file is not valid YAML.
    #[error("YAML parse error on {name}: {reason}")]
    Yaml {
        /// Path of the file.
        name: String,
        /// The syntax error, without the content of the file.
        reason: String,
    },
    /// The target of an overlay's patch is missing.
    #[error("cannot apply the overlay {name}: the file {target} does not exist")]
    NoTarget {
        /// Path of the patch.
        name: String,
        /// Path of the missing file.
        target: String,
    },
}

/// The files of a bundle by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The folders that determine how a bundle is rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Folder of the chart, `.` for the root of the bundle.
    pub chart: Option<String>,
    /// Folder of the kustomization, `.` for the root of the bundle.
    pub kustomize: Option<String>,
}

impl Style {
    /// Determines the style from the paths of the files.
    pub fn of<'a>(
        names: impl IntoIterator<Item = &'a str>,
        options: &BundleDeploymentOptions,
    ) -> Self {
        let helm = options.helm.as_ref();
        let chart_file = helm.map_or_else(|| "Chart.yaml".to_owned(), chart_file);
        let fetched = helm.map(fetched_folder);
        let kustomize_folder = options
            .kustomize
            .as_ref()
            .map_or("", |kustomize| &kustomize.dir);
        let kustomization = join(kustomize_folder, "kustomization.yaml");
        let mut style = Self::default();
        for name in names {
            let is_fetched = || {
                fetched
                    .as_ref()
                    .is_some_and(|folder| is_chart_in(name, folder))
            };
            if name == chart_file || is_fetched() {
                style.chart = Some(folder(name));
            } else if name == kustomization {
                style.kustomize = Some(folder(name));
            }
        }
        style
    }

    /// Returns true if the bundle is plain YAML.
    pub const fn is_plain(&self) -> bool {
        self.chart.is_none() && self.kustomize.is_none()
    }
}

fn chart_file(helm: &HelmOptions) -> String {
    let path = if helm.chart.is_empty() {
        &helm.repo
    } else {
        &helm.chart
    };
    join(path, "Chart.yaml")
}

/// Returns the folder in which the bundle has the chart from a repository or registry.
pub fn fetched_folder(helm: &HelmOptions) -> String {
    let source = format!("{}:{}:{}", helm.chart, helm.repo, helm.version);
    format!(".chart/{}/", sha256_hex(source.as_bytes()))
}

/// Returns true for the `Chart.yaml` in the folder or in a folder inside it.
fn is_chart_in(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder).is_some_and(|rest| {
        rest == "Chart.yaml"
            || rest
                .split_once('/')
                .is_some_and(|(_, file)| file == "Chart.yaml")
    })
}

fn folder(name: &str) -> String {
    name.rsplit_once('/')
        .map_or(".", |(folder, _)| folder)
        .to_owned()
}

/// Joins a folder and a file as Go's `filepath.Join`, without a leading slash.
fn join(folder: &str, file: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain([file]) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Decodes the files of a bundle. A file without a name gets one.
pub fn decode(resources: &[BundleResource]) -> Result<Files, SourceError> {
    let mut files = Files::new();
    let mut budget = MAX_BUNDLE_BYTES;
    for (index, resource) in resources.iter().enumerate() {
        let name = match resource.name.as_str() {
            "" => format!("manifests/file{index:03}.yaml"),
            name => name.to_owned(),
        };
        if name.starts_with('/') || name.split('/').any(|part| part == "..") {
            return Err(SourceError::Path { name });
        }
        let content = decode_one(&name, resource, budget)?;
        budget = budget
            .checked_sub(content.len() as u64)
            .ok_or(SourceError::TooLarge)?;
        files.insert(name, content);
    }
    Ok(files)
}

fn decode_one(name: &str, resource: &BundleResource, budget: u64) -> Result<Vec<u8>, SourceError> {
    let wrong = || SourceError::Decode {
        name: name.to_owned(),
    };
    let from_base64 = || STANDARD.decode(&resource.content).map_err(|_| wrong());
    match resource.encoding.as_str() {
        "" => Ok(resource.content.clone().into_bytes()),
        "base64" => from_base64(),
        "base64+gz" => {
            let (packed, mut content) = (from_base64()?, Vec::new());
            let mut reader = GzDecoder::new(packed.as_slice()).take(budget + 1);
            reader.read_to_end(&mut content).map_err(|_| wrong())?;
            if content.len() as u64 > budget {
                return Err(SourceError::TooLarge);
            }
            Ok(content)
        }
        encoding => Err(SourceError::Encoding {
            name: name.to_owned(),
            encoding: encoding.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
