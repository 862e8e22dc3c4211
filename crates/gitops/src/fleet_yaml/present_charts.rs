//! The charts in the folder `charts` of a chart.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use semver::{Version, VersionReq};

use super::charts::{CHART_FILE, Dependency, FetchedFiles, field};

/// The charts in a folder `charts`. A search needs no walk over all files, because a chart can have thousands
/// of dependencies.
#[derive(Debug, Default)]
pub(super) struct PresentCharts<'a> {
    /// Names of the subfolders.
    folders: BTreeSet<&'a str>,
    /// Names of the files, for example `NAME-VERSION.tgz`.
    archives: BTreeSet<&'a str>,
    /// The versions of the charts in the subfolders, by the name of the chart.
    charts: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> PresentCharts<'a> {
    /// Reads the charts below a folder. `start` is the path of the folder, and ends with `/`.
    pub(super) fn below(files: &'a FetchedFiles, start: &str) -> Self {
        let mut found = Self::default();
        for (path, data) in files.range(start.to_owned()..) {
            let Some(path) = path.strip_prefix(start) else {
                break;
            };
            let Some((folder, file)) = path.split_once('/') else {
                found.archives.insert(path);
                continue;
            };
            found.folders.insert(folder);
            if file == CHART_FILE
                && let Some(name) = field(data, "name")
            {
                let version = field(data, "version").unwrap_or_default();
                found.charts.entry(name).or_default().insert(version);
            }
        }
        found
    }

    /// Reports whether a dependency is present. `versions` are the versions of all dependencies with this name.
    /// If there are several versions, the version of the present chart must match.
    pub(super) fn contains(&self, dependency: &Dependency, versions: &BTreeSet<String>) -> bool {
        let Dependency { name, version, .. } = dependency;
        if versions.len() <= 1 {
            return self.folders.contains(&**name)
                || self.charts.contains_key(name)
                || self.archives_of(name).next().is_some();
        }
        if Version::parse(version).is_ok() {
            let archive = format!("{name}-{version}.tgz");
            return self.archives.contains(&*archive)
                || self.charts.get(name).is_some_and(|it| it.contains(version));
        }
        let in_folders = self.charts.get(name).into_iter().flatten();
        let mut present = in_folders.map(String::as_str).chain(self.archives_of(name));
        match range(version) {
            Ok(range) => {
                present.any(|it: &str| Version::parse(it).is_ok_and(|it| range.matches(&it)))
            }
            // Helm has more forms of ranges. A chart with the exact version of another dependency can belong
            // to the other dependency.
            Err(_) => present.any(|it: &str| !versions.contains(it)),
        }
    }

    /// Returns the versions of the archives of a chart. Another chart can have the name `NAME-OTHER`, so a
    /// version begins with a digit.
    fn archives_of(&self, name: &str) -> impl Iterator<Item = &'a str> {
        ["", "v"].into_iter().flat_map(move |prefix| {
            let start = format!("{name}-{prefix}");
            // The character after the digits.
            let (first, end) = (format!("{start}0"), format!("{start}:"));
            let range = (Bound::Included(&*first), Bound::Excluded(&*end));
            let found = self.archives.range::<str, _>(range);
            let found: Vec<&str> = found
                .filter_map(|archive| archive.strip_prefix(&*start))
                .map(|version| version.strip_suffix(".tgz").unwrap_or(version))
                .collect();
            found
        })
    }
}

/// Parses a range of versions. In Helm, a version without all parts permits all versions that begin with these
/// parts.
fn range(text: &str) -> Result<VersionReq, semver::Error> {
    let is_bare = text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains(' ');
    if is_bare {
        VersionReq::parse(&format!("~{text}"))
    } else {
        VersionReq::parse(text)
    }
}
