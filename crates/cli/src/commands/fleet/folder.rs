//! The files of local folders.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use drover_gitops::fleet_yaml::{FleetYaml, Limits, chart_folders, join, missing_dependencies};

use crate::failure::Failure;

/// Characters of patterns in paths.
const PATTERN: [char; 4] = ['*', '?', '[', '\\'];
/// Names of the file with the options of a bundle.
const OPTIONS_FILES: [&str; 2] = ["fleet.yaml", "fleet.yml"];

/// The files below a folder that bundles are read from, with their paths relative to this folder.
pub(super) struct LocalFiles {
    root: PathBuf,
    limits: Limits,
    files: BTreeMap<String, Vec<u8>>,
    bytes: usize,
    /// Paths that were read, with all files below.
    added: BTreeSet<String>,
    rejected: BTreeMap<String, String>,
}

impl LocalFiles {
    pub(super) fn open(root: &Path, limits: &Limits) -> Result<Self, Failure> {
        let root = root
            .canonicalize()
            .map_err(|source| unreadable(root, source))?;
        Ok(Self {
            root,
            limits: *limits,
            files: BTreeMap::new(),
            bytes: 0,
            added: BTreeSet::new(),
            rejected: BTreeMap::new(),
        })
    }

    /// Adds the files below a path, and the files outside of the path that its bundles name. The path
    /// can have patterns. `options` is the options file of a bundle, or empty.
    pub(super) fn add(&mut self, path: &str, options: &str) -> Result<(), Failure> {
        let segments = path.split('/').take_while(|it| !it.contains(PATTERN));
        let fixed: Vec<&str> = segments.collect();
        let base = join("", &fixed.join("/")).map_err(|_| {
            Failure::Usage(format!(
                "cannot read {path:?}: the path leaves the current folder; change the current folder"
            ))
        })?;
        self.add_path(&base)?;
        let is_options = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            OPTIONS_FILES.contains(&name) || !options.is_empty() && path.ends_with(options)
        };
        let named: Vec<String> = self
            .files
            .iter()
            .filter(|(path, _)| is_options(path))
            .flat_map(|(path, data)| named_files(path, data))
            .collect();
        for path in named {
            self.add_path(&path)?;
        }
        self.add_local_charts()
    }

    /// Adds the charts that the dependencies of charts name with `file://`.
    fn add_local_charts(&mut self) -> Result<(), Failure> {
        let mut read = BTreeSet::new();
        loop {
            let charts = chart_folders(&self.files).filter(|folder| !read.contains(*folder));
            let charts: Vec<String> = charts.map(str::to_owned).collect();
            if charts.is_empty() {
                return Ok(());
            }
            for chart in charts {
                let missing = missing_dependencies(&self.files, &chart);
                let paths = missing
                    .iter()
                    .filter_map(|it| it.repository.strip_prefix("file://"));
                // The reader of bundles reports paths that are not valid.
                let paths = paths.filter_map(|path| join(&chart, path).ok());
                let paths: Vec<String> = paths.collect();
                read.insert(chart);
                for path in paths {
                    self.add_path(&path)?;
                }
            }
        }
    }

    /// Returns the files, and the paths of symbolic links that were left out, with the reason.
    pub(super) fn into_files(self) -> (BTreeMap<String, Vec<u8>>, BTreeMap<String, String>) {
        (self.files, self.rejected)
    }

    fn add_path(&mut self, path: &str) -> Result<(), Failure> {
        let parents = path.match_indices('/').map(|(index, _)| &path[..index]);
        let mut known = parents.chain(["", path]);
        if known.any(|it| self.added.contains(it)) {
            return Ok(());
        }
        // A symbolic link in the path must not lead out of the root.
        let full = self.root.join(path);
        match full.canonicalize() {
            Ok(real) if !real.starts_with(&self.root) => {
                return Err(Failure::Other(format!(
                    "cannot read {path}: it leads out of the current folder; change the current folder"
                )));
            }
            // The reader of bundles reports missing folders and files.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(unreadable(&full, source)),
            Ok(_) => {}
        }
        self.added.insert(path.to_owned());
        let mut pending = vec![(path.to_owned(), full)];
        while let Some((path, full)) = pending.pop() {
            self.visit(&path, &full, &mut pending)?;
        }
        Ok(())
    }

    fn visit(
        &mut self,
        path: &str,
        full: &Path,
        pending: &mut Vec<(String, PathBuf)>,
    ) -> Result<(), Failure> {
        let metadata = full
            .symlink_metadata()
            .map_err(|source| unreadable(full, source))?;
        if metadata.is_dir() {
            if path.split('/').count() > self.limits.depth {
                let limit = self.limits.depth;
                return Err(Failure::Other(format!(
                    "the path {path} has more than {limit} folders"
                )));
            }
            return children(path, full, pending);
        }
        if metadata.is_symlink() {
            match self.target(full) {
                Ok(target) => return self.add_file(path, &target),
                Err(reason) => {
                    self.rejected.insert(path.to_owned(), reason.to_owned());
                    return Ok(());
                }
            }
        }
        if metadata.is_file() {
            self.add_file(path, full)?;
        }
        Ok(())
    }

    /// Returns the file that a symbolic link leads to. As in a repository, the file must be below the
    /// root.
    fn target(&self, link: &Path) -> Result<PathBuf, &'static str> {
        let Ok(target) = link.canonicalize() else {
            return Err("the symbolic link leads to a path that does not exist");
        };
        if !target.starts_with(&self.root) {
            return Err("the symbolic link leads out of the current folder");
        }
        if !target.is_file() {
            return Err("the symbolic link leads to a folder");
        }
        Ok(target)
    }

    fn add_file(&mut self, path: &str, full: &Path) -> Result<(), Failure> {
        let Limits { files, bytes, .. } = self.limits;
        if self.files.len() == files {
            return Err(too_large(files, "files"));
        }
        let left = bytes.saturating_sub(self.bytes);
        let data = match read_file(full, left as u64) {
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Err(too_large(bytes, "bytes"));
            }
            read => read.map_err(|source| unreadable(full, source))?,
        };
        self.bytes += data.len();
        self.files.insert(path.to_owned(), data);
        Ok(())
    }
}

/// Adds the entries of a folder, except the data of git.
fn children(path: &str, full: &Path, pending: &mut Vec<(String, PathBuf)>) -> Result<(), Failure> {
    let entries = full.read_dir().map_err(|source| unreadable(full, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| unreadable(full, source))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return Err(Failure::Other(format!(
                "cannot read {}: the name is not UTF-8; rename the file",
                entry.path().display()
            )));
        };
        if name != ".git" {
            let separator = if path.is_empty() { "" } else { "/" };
            pending.push((format!("{path}{separator}{name}"), entry.path()));
        }
    }
    Ok(())
}

/// Returns the paths of values files and charts in an options file.
fn named_files(file: &str, data: &[u8]) -> Vec<String> {
    // The reader of bundles reports files that are not valid.
    let Ok(yaml) = FleetYaml::parse(data) else {
        return Vec::new();
    };
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let targets = yaml.spec.targets.iter().chain(&yaml.target_customizations);
    let options = targets.map(|target| &target.options);
    let helm = options
        .chain([&yaml.spec.options])
        .filter_map(|options| options.helm.as_ref());
    let mut named = Vec::new();
    for helm in helm {
        let is_path = helm.repo.is_empty() && !helm.chart.is_empty() && !helm.chart.contains(':');
        let charts = is_path.then_some(&helm.chart);
        let paths = helm.values_files.iter().chain(charts);
        named.extend(paths.filter_map(|path| join(folder, path).ok()));
    }
    named
}

/// Reads a file that the command line names, with at most `limit` bytes.
pub(super) fn read_argument(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    read_file(path, limit).map_err(|source| unreadable(path, source))
}

/// Reads a file with at most `limit` bytes. The error of a longer file has the kind `FileTooLarge`.
pub(super) fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(limit.saturating_add(1)).read_to_end(&mut data)?;
    if data.len() as u64 > limit {
        let message = format!("the file has more than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(data)
}

fn unreadable(path: &Path, source: io::Error) -> Failure {
    Failure::Read {
        path: path.display().to_string(),
        source,
    }
}

fn too_large(limit: usize, unit: &str) -> Failure {
    Failure::Other(format!(
        "the folders have more than {limit} {unit}: use PATH to select smaller folders"
    ))
}
