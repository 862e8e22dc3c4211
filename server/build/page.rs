//! The web UI's files as a table in Rust: what `make ui` left in `frontend/dist`, or a page that
//! says how to build it.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::fs;
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};

/// The page when there is none.
const PLACEHOLDER: &str = "src/ui/placeholder.html";

/// Writes `$OUT_DIR/page.rs`. The files are copied beside it, so that a page which is being built
/// anew meanwhile does not take them away from the compiler.
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

/// Copies what is served, and gives each file with its path in URLs.
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

/// Another text for another content. It keeps nobody out, so it need not be a cryptographic hash.
fn version(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    format!("{:016x}", hasher.finish())
}
