//! Generates a Rust table of the web UI's files in `frontend/dist`. If the folder contains no built
//! page, the table contains a page with build instructions.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::fs;
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};

/// The page that the program serves if the web UI is not built.
const PLACEHOLDER: &str = "src/ui/placeholder.html";

/// Writes `$OUT_DIR/page.rs`, and copies the UI's files to `$OUT_DIR/page`. The compiler reads the
/// copies, because a concurrent build of the UI can delete the originals.
pub(super) fn embed() {
    let folder = |variable: &str| PathBuf::from(std::env::var_os(variable).unwrap_or_default());
    let (own, out) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
    let dist = own.join("../frontend/dist");
    println!("cargo::rerun-if-changed=build/page.rs");
    println!("cargo::rerun-if-changed={PLACEHOLDER}");
    if dist.is_dir() {
        println!("cargo::rerun-if-changed={}", dist.display());
    }
    let table = copied(&dist, &own, &out.join("page"))
        .and_then(|files| table(&files))
        .and_then(|text| fs::write(out.join("page.rs"), text));
    if let Err(error) = table {
        println!("cargo::error=the web UI cannot be put into the program: {error}");
    }
}

/// Copies the UI's files to the folder `to`. Returns the URL path and the copy of each file.
fn copied(dist: &Path, own: &Path, to: &Path) -> std::io::Result<Vec<(String, PathBuf)>> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to.join("assets"))?;
    if !dist.join("index.html").is_file() {
        let page = to.join("index.html");
        fs::copy(own.join(PLACEHOLDER), &page)?;
        return Ok(vec![("index.html".to_owned(), page)]);
    }
    let mut files = Vec::new();
    for folder in ["", "assets/"] {
        for entry in fs::read_dir(dist.join(folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_file() && !name.starts_with('.') {
                let path = format!("{folder}{name}");
                fs::copy(entry.path(), to.join(&path))?;
                files.push((path.clone(), to.join(path)));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn table(files: &[(String, PathBuf)]) -> std::io::Result<String> {
    let mut text = "&[\n".to_owned();
    let bytes = |path: &Path| format!("include_bytes!({:?})", path.display().to_string());
    for (path, file) in files {
        let ending = path.rsplit_once('.').map(|(_, ending)| ending);
        if matches!(ending, Some("br" | "gz")) {
            continue;
        }
        let variant = |ending: &str| {
            let name = format!("{path}.{ending}");
            let found = files.iter().find(|(path, _)| *path == name);
            match found {
                Some((_, file)) => format!("Some({})", bytes(file)),
                None => "None".to_owned(),
            }
        };
        let _ = writeln!(
            text,
            "File {{ path: {path:?}, version: {:?}, plain: {}, brotli: {}, gzip: {} }},",
            version(&fs::read(file)?),
            bytes(file),
            variant("br"),
            variant("gz"),
        );
    }
    Ok(text + "]\n")
}

/// Returns a hash of the content for the `ETag`. The hash is not cryptographic, because no security
/// decision depends on the hash.
fn version(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    format!("{:016x}", hasher.finish())
}
