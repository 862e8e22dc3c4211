//! Remembers in the target folder which patches were confirmed with which inputs, so that the next
//! run with `--changed` continues with the other patches.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::PathBuf;

use crate::build::{root, target};

/// The confirmed patches. The file may be lost: then the patches run again.
pub(super) struct Confirmed {
    file: PathBuf,
    keys: BTreeSet<String>,
}

impl Confirmed {
    pub(super) fn read() -> Self {
        let file = target().join("weakened/confirmed");
        let keys = fs::read_to_string(&file).unwrap_or_default();
        Self {
            keys: keys.lines().map(str::to_owned).collect(),
            file,
        }
    }

    /// Returns the hash of the inputs' content.
    pub(super) fn key(inputs: &BTreeSet<String>) -> String {
        let mut hasher = DefaultHasher::new();
        for input in inputs {
            input.hash(&mut hasher);
            fs::read(root().join(input)).ok().hash(&mut hasher);
        }
        format!("{:016x}", hasher.finish())
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// Adds a key. If the file cannot be written, the patch runs again next time.
    pub(super) fn add(&mut self, key: &str) {
        if self.keys.insert(key.to_owned()) {
            let file = fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(&self.file);
            let _ = file.and_then(|mut file| writeln!(file, "{key}"));
        }
    }
}
