//! Assembles the files of the page. Replaces the placeholders in templates with the names of
//! generated files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::compile::{Chunk, LOADER, Program, SCRIPT};
use crate::error::BundleError;
use crate::node;

/// The package of npm with the fonts.
const FONT_PACKAGE: &str = "@fontsource-variable/inter";
/// The style sheets in their cascade order.
const STYLES: &[&str] = &[
    "tokens.css",
    "base.css",
    "kit.css",
    "shell.css",
    "screens.css",
    "object.css",
    "terminal.css",
];

/// The style sheets in packages of npm, which precede [`STYLES`].
const PACKAGE_STYLES: &[&str] = &["@xterm/xterm/css/xterm.css"];
/// The JavaScript modules that the program loads when a user needs them: the placeholder in
/// `start.js`, and the entry file.
const MODULES: &[(&str, &str)] = &[
    ("editor", "bundle/modules/editor.js"),
    ("terminal", "bundle/modules/terminal.js"),
];

/// The source files of the page, without the program.
#[derive(Debug)]
pub(crate) struct Sources {
    page: String,
    theme: String,
    start: String,
    icon: String,
    style: String,
    fonts: Vec<(&'static str, Vec<u8>)>,
    modules: Vec<(&'static str, Vec<u8>)>,
}

/// The fonts by their placeholder in the style sheet.
const FONTS: &[(&str, &str)] = &[
    ("latin", "inter-latin-wght-normal.woff2"),
    ("latin-ext", "inter-latin-ext-wght-normal.woff2"),
];

impl Sources {
    /// Reads the source files from the workspace. The fonts are in a package of npm.
    pub(crate) fn read(frontend: &Path) -> Result<Self, BundleError> {
        let read = |name: &str| {
            let path = frontend.join(name);
            fs::read_to_string(&path).map_err(BundleError::file("read", path))
        };
        let mut style = String::new();
        for name in PACKAGE_STYLES {
            style.push_str(&read(&format!("node_modules/{name}"))?);
        }
        for name in STYLES {
            style.push_str(&read(&format!("style/{name}"))?);
        }
        let font = |(placeholder, name): &(&'static str, &str)| {
            let path = frontend.join(format!("node_modules/{FONT_PACKAGE}/files/{name}"));
            let bytes = fs::read(&path).map_err(BundleError::file("read", path))?;
            Ok((*placeholder, bytes))
        };
        let module =
            |(name, entry): &(&'static str, &str)| Ok((*name, node::bundle(frontend, entry)?));
        Ok(Self {
            modules: MODULES.iter().map(module).collect::<Result<_, _>>()?,
            fonts: FONTS.iter().map(font).collect::<Result<_, _>>()?,
            page: read("page/index.html")?,
            theme: read("page/theme.js")?,
            start: read("page/start.js")?,
            icon: read("page/icon.svg")?,
            style,
        })
    }

    /// Returns the contents of all source files, for the stamp.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        [
            &self.page,
            &self.theme,
            &self.start,
            &self.icon,
            &self.style,
        ]
        .into_iter()
        .map(String::as_bytes)
        .chain(self.fonts.iter().map(|(_, bytes)| &**bytes))
        .chain(self.modules.iter().map(|(_, bytes)| &**bytes))
    }
}

/// A file of the page.
#[derive(Debug)]
pub(crate) struct File {
    /// The path relative to the root, such as `assets/app-….wasm`.
    pub(crate) path: String,
    /// The content of the file.
    pub(crate) bytes: Vec<u8>,
}

/// Assembles the files of the page. All file names except `index.html` contain a hash of the
/// content.
pub(crate) fn assemble(sources: &Sources, program: &Program) -> Result<Vec<File>, BundleError> {
    let fonts = sources.fonts.iter();
    let fonts: Vec<File> = fonts
        .map(|(name, bytes)| hashed(&format!("inter-{name}"), "woff2", bytes))
        .collect();
    let font_urls: Vec<String> = fonts.iter().map(url).collect();
    let placeholders = sources.fonts.iter().map(|(name, _)| *name);
    let placeholders: Vec<(&str, &String)> = placeholders.zip(&font_urls).collect();
    let style = filled("style", &sources.style, &placeholders)?;
    let style = hashed("style", "css", style.as_bytes());
    let theme = hashed("theme", "js", sources.theme.as_bytes());
    let icon = hashed("icon", "svg", sources.icon.as_bytes());
    let wasm = hashed("app", "wasm", &program.wasm);
    let (chunks, loader) = chunks(program)?;
    let (script, loader) = modules(&program.script, &loader)?;
    let entries = entries(&program.chunks, &chunks);
    let (script_url, wasm_url) = (url(&script), url(&wasm));
    let lazy = sources.modules.iter();
    let lazy: Vec<File> = lazy
        .map(|(name, bytes)| hashed(name, "js", bytes))
        .collect();
    let lazy_urls: Vec<String> = lazy.iter().map(url).collect();
    let mut values = vec![("script", &script_url), ("program", &wasm_url)];
    let lazy_names = sources.modules.iter().map(|(name, _)| *name);
    values.extend(lazy_names.zip(&lazy_urls));
    values.extend(entries.iter().map(|(entry, files)| (entry.as_str(), files)));
    let start = filled("start.js", &sources.start, &values)?;
    let start = hashed("start", "js", start.as_bytes());
    let page = filled(
        "index.html",
        &sources.page,
        &[
            ("style", &url(&style)),
            ("font", &font_urls[0]),
            ("theme", &url(&theme)),
            ("icon", &url(&icon)),
            ("script", &script_url),
            ("loader", &url(&loader)),
            ("program", &wasm_url),
            ("start", &url(&start)),
        ],
    )?;
    let page = File {
        path: "index.html".to_owned(),
        bytes: page.into_bytes(),
    };
    let mut files = vec![page, style, theme, icon, script, loader, wasm, start];
    files.extend(chunks);
    files.extend(fonts);
    files.extend(lazy);
    Ok(files)
}

/// Returns the files of the chunks, and the loader with the names of these files.
fn chunks(program: &Program) -> Result<(Vec<File>, String), BundleError> {
    let mut loader = program.loader.clone();
    let mut files = Vec::new();
    for chunk in &program.chunks {
        let file = hashed(&chunk.name, "wasm", &chunk.wasm);
        let before = format!("\"./{}.wasm\"", chunk.name);
        loader = renamed(
            "chunks.js",
            &loader,
            &before,
            &format!("\"{}\"", sibling(&file)),
        )?;
        files.push(file);
    }
    Ok((files, loader))
}

/// Returns the JavaScript modules of the program and of the loader. The modules import each other,
/// so both names contain the hash of both contents.
fn modules(script: &str, loader: &str) -> Result<(File, File), BundleError> {
    let hash = short_hash(format!("{script}{loader}").as_bytes());
    let named = |name: &str, text: String| File {
        path: format!("assets/{name}-{hash}.js"),
        bytes: text.into_bytes(),
    };
    let import = |module: &str| format!("from \"{module}\"");
    let hashed = |name: &str| import(&format!("./{name}-{hash}.js"));
    let script = renamed("app.js", script, &import(LOADER), &hashed("chunks"))?;
    let loader = renamed("chunks.js", loader, &import(SCRIPT), &hashed("app"))?;
    Ok((named("app", script), named("chunks", loader)))
}

/// Returns the URLs of the files that each entry function needs, as a JSON array.
fn entries(chunks: &[Chunk], files: &[File]) -> BTreeMap<String, String> {
    let mut entries = BTreeMap::<_, Vec<_>>::new();
    for (chunk, file) in chunks.iter().zip(files) {
        for entry in &chunk.entries {
            let urls = entries.entry(entry.clone()).or_default();
            urls.push(format!("\"{}\"", url(file)));
        }
    }
    let json = |urls: Vec<String>| format!("[{}]", urls.join(", "));
    entries
        .into_iter()
        .map(|(entry, urls)| (entry, json(urls)))
        .collect()
}

/// Replaces a name that a generated module contains.
fn renamed(
    module: &'static str,
    text: &str,
    before: &str,
    after: &str,
) -> Result<String, BundleError> {
    if text.contains(before) {
        Ok(text.replace(before, after))
    } else {
        let problem = format!("the name {before} is missing");
        Err(BundleError::Template {
            template: module,
            problem,
        })
    }
}

/// Returns the path of an asset relative to another asset.
fn sibling(file: &File) -> String {
    file.path.replacen("assets/", "./", 1)
}

fn url(file: &File) -> String {
    format!("/{}", file.path)
}

/// Creates a file whose name contains a hash of the content, so that browsers can cache the file
/// permanently.
fn hashed(name: &str, ending: &str, bytes: &[u8]) -> File {
    File {
        path: format!("assets/{name}-{}.{ending}", short_hash(bytes)),
        bytes: bytes.to_vec(),
    }
}

fn short_hash(bytes: &[u8]) -> String {
    let mut hash = format!("{:x}", Sha256::digest(bytes));
    hash.truncate(16);
    hash
}

/// Replaces the placeholders `{{name}}` of a template. The template must contain exactly the names
/// in `values`.
fn filled(
    template: &'static str,
    text: &str,
    values: &[(&str, &String)],
) -> Result<String, BundleError> {
    let wrong = |problem| Err(BundleError::Template { template, problem });
    let mut text = text.to_owned();
    for (name, value) in values {
        let placeholder = format!("{{{{{name}}}}}");
        if !text.contains(&placeholder) {
            return wrong(format!("the placeholder {placeholder} is missing"));
        }
        text = text.replace(&placeholder, value);
    }
    match text.split_once("{{") {
        Some((_, rest)) => wrong(format!(
            "the placeholder {{{{{} is unknown",
            rest.lines().next().unwrap_or_default()
        )),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_file_name_contains_a_hash_of_the_content() {
        let names = [b"a", b"b"].map(|bytes| hashed("app", "js", bytes).path);
        assert_ne!(names[0], names[1]);
        assert_eq!(names[0], "assets/app-ca978112ca1bbdca.js");
    }

    #[test]
    fn ui_modules_and_chunks_refer_to_each_other_by_hashed_names() {
        let chunk = |name: &str, entries: &[&str]| Chunk {
            name: name.to_owned(),
            entries: entries.iter().map(ToString::to_string).collect(),
            wasm: name.into(),
        };
        let mut program = Program {
            script: "import * as x from \"./chunks.js\"; imports[\"./chunks.js\"]".to_owned(),
            loader: "import { y } from \"./app.js\"; [\"./split_a.wasm\", \"./chunk_1.wasm\"]"
                .to_owned(),
            wasm: b"main".to_vec(),
            chunks: vec![chunk("chunk_1", &["a", "b"]), chunk("split_a", &["a"])],
        };
        let (files, loader) = chunks(&program).unwrap();
        let (script, loader) = modules(&program.script, &loader).unwrap();
        let text = |file: &File| String::from_utf8(file.bytes.clone()).unwrap();
        let name = |file: &File| file.path.strip_prefix("assets/").unwrap().to_owned();
        assert_eq!(
            text(&script),
            format!(
                "import * as x from \"./{}\"; imports[\"./chunks.js\"]",
                name(&loader)
            )
        );
        let [shared, own] = [&files[0], &files[1]].map(name);
        assert_eq!(
            text(&loader),
            format!(
                "import {{ y }} from \"./{}\"; [\"./{own}\", \"./{shared}\"]",
                name(&script)
            )
        );
        assert_eq!(
            entries(&program.chunks, &files),
            [
                (
                    "a".to_owned(),
                    format!("[\"/assets/{shared}\", \"/assets/{own}\"]")
                ),
                ("b".to_owned(), format!("[\"/assets/{shared}\"]")),
            ]
            .into()
        );
        // A changed chunk changes the names of all modules that import the chunk.
        program.chunks[0].wasm.push(0);
        let (_, changed) = chunks(&program).unwrap();
        let (changed, _) = modules(&program.script, &changed).unwrap();
        assert_ne!(changed.path, script.path);
        program.loader = "import { y } from \"./app.js\"; [\"./split_a.wasm\"]".to_owned();
        assert_eq!(
            chunks(&program).unwrap_err().to_string(),
            "cannot fill the template chunks.js: the name \"./chunk_1.wasm\" is missing"
        );
    }

    #[test]
    fn page_template_must_contain_exactly_the_given_placeholders() {
        let value = "x".to_owned();
        let filled = |text| filled("t", text, &[("a", &value)]).map_err(|e| e.to_string());
        assert_eq!(filled("<{{a}} {{a}}>"), Ok("<x x>".to_owned()));
        assert_eq!(
            filled("<>"),
            Err("cannot fill the template t: the placeholder {{a}} is missing".to_owned())
        );
        assert_eq!(
            filled("{{a}}{{b}}"),
            Err("cannot fill the template t: the placeholder {{b}} is unknown".to_owned())
        );
    }
}
