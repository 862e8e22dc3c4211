//! The output folder of the build. The server's build embeds the files of the folder.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::BundleError;
use crate::folders::{BuildMode, Folders};
use crate::page::{File, Sources};

/// The name of the file with the stamp of the build. The server does not serve hidden files.
const STAMP: &str = ".made-from";
/// The name and content of the file that excludes the output from commits. The folder itself is
/// committed, so that cargo can watch the folder.
const IGNORE: (&str, &str) = (
    ".gitignore",
    "# The output of `make ui`. The folder exists so that cargo can watch it.\n*\n!.gitignore\n",
);

/// The hash of all inputs of a build.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamp(String);

impl Stamp {
    /// Hashes the compiled program, the source files, and this build tool.
    pub(crate) fn of(mode: BuildMode, wasm: &Path, sources: &Sources) -> Result<Self, BundleError> {
        let mut hash = Sha256::new();
        hash.update(format!("{mode:?}"));
        let builder = std::env::current_exe().map_err(BundleError::file("find", "builder"))?;
        for path in [wasm, &builder] {
            hash.update(fs::read(path).map_err(BundleError::file("read", path))?);
        }
        for bytes in sources.bytes() {
            // The length before each text prevents collisions of concatenated texts.
            hash.update(bytes.len().to_le_bytes());
            hash.update(bytes);
        }
        Ok(Self(format!("{:x}", hash.finalize())))
    }

    /// Reports whether a folder was built from the same inputs.
    pub(crate) fn is_of(&self, dist: &Path) -> bool {
        fs::read_to_string(dist.join(STAMP)).is_ok_and(|text| text == self.0)
    }

    /// Writes the stamp into a folder.
    pub(crate) fn keep(&self, dist: &Path) -> Result<(), BundleError> {
        let path = dist.join(STAMP);
        fs::write(&path, &self.0).map_err(BundleError::file("write", path))
    }
}

/// Writes the files into a new folder next to the output folder.
pub(crate) fn write(folders: &Folders, files: &[File]) -> Result<PathBuf, BundleError> {
    let fresh = folders.frontend.join("dist.new");
    remove(&fresh)?;
    for file in files {
        let path = fresh.join(&file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(BundleError::file("create", folder))?;
        }
        fs::write(&path, &file.bytes).map_err(BundleError::file("write", path))?;
    }
    let (name, text) = IGNORE;
    fs::write(fresh.join(name), text).map_err(BundleError::file("write", fresh.join(name)))?;
    Ok(fresh)
}

/// Replaces the output folder with a finished folder.
pub(crate) fn replace(fresh: &Path, dist: &Path) -> Result<(), BundleError> {
    remove(dist)?;
    fs::rename(fresh, dist).map_err(BundleError::file("rename", fresh))
}

fn remove(folder: &Path) -> Result<(), BundleError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(BundleError::file("remove", folder))?;
    }
    Ok(())
}

/// Returns the number of bytes of each file and of all files: uncompressed, and compressed with
/// Brotli.
pub(crate) fn sizes(dist: &Path) -> Result<Vec<String>, BundleError> {
    let mut names = Vec::new();
    for folder in ["", "assets"] {
        let path = dist.join(folder);
        for entry in fs::read_dir(&path).map_err(BundleError::file("list", &path))? {
            let entry = entry.map_err(BundleError::file("list", &path))?;
            names.push(Path::new(folder).join(entry.file_name()));
        }
    }
    names.sort();
    let size = |name: &Path| fs::metadata(dist.join(name)).map(|meta| meta.len());
    let (mut lines, mut all) = (Vec::new(), (0, 0));
    for name in &names {
        let compressed = name.with_added_extension("br");
        if let (Ok(raw), Ok(small)) = (size(name), size(&compressed)) {
            lines.push(format!("  {raw:>9} {small:>8}  {}", name.display()));
            all = (all.0 + raw, all.1 + small);
        }
    }
    lines.insert(0, "  bytes        br  file".to_owned());
    lines.push(format!("  {:>9} {:>8}  all", all.0, all.1));
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ui_build_replaces_all_files_of_the_previous_build() {
        let root = tempfile::tempdir().unwrap();
        let (fresh, dist) = (root.path().join("dist.new"), root.path().join("dist"));
        for (folder, file) in [(&dist, "old"), (&fresh, "new")] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(file), "x").unwrap();
        }
        let stamp = Stamp("made".to_owned());
        stamp.keep(&fresh).unwrap();
        replace(&fresh, &dist).unwrap();
        assert!(stamp.is_of(&dist) && !Stamp("other".to_owned()).is_of(&dist));
        assert!(dist.join("new").exists() && !dist.join("old").exists() && !fresh.exists());
    }
}
