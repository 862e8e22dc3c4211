//! Reads the stored corpora of the fuzz targets, so that ordinary tests check the properties of the fuzzers.
//!
//! A corpus is the folder `fuzz/corpus/<target>` of a package. Each file of the folder is one entry.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a failure here fails a test"
)]

use std::path::Path;

/// The minimum number of entries of a corpus that [`replay`] uses.
const MINIMUM: usize = 5;

/// Calls a property with each entry of a corpus with at least 5 entries.
///
/// `package` is the folder of the package: `env!("CARGO_MANIFEST_DIR")`.
pub fn replay(package: &str, target: &str, property: fn(&[u8])) {
    for entry in entries(package, target, MINIMUM) {
        property(&entry);
    }
}

/// Returns the entries of a corpus with at least `minimum` entries.
///
/// `package` is the folder of the package: `env!("CARGO_MANIFEST_DIR")`.
#[must_use]
pub fn entries(package: &str, target: &str, minimum: usize) -> Vec<Vec<u8>> {
    let corpus = Path::new(package).join("fuzz/corpus").join(target);
    let entries: Vec<Vec<u8>> = std::fs::read_dir(&corpus)
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect();
    assert!(
        entries.len() >= minimum,
        "{} has only {} entries",
        corpus.display(),
        entries.len()
    );
    entries
}
