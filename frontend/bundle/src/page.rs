//! Assembles the files of the page. Replaces the placeholders in templates with the names of
//! generated files.

use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::compile::Program;
use crate::error::BundleError;

/// The style sheets in their cascade order.
const STYLES: &[&str] = &[
    "tokens.css",
    "base.css",
    "kit.css",
    "shell.css",
    "screens.css",
    "object.css",
];

/// The source files of the page, without the program.
#[derive(Debug)]
pub(crate) struct Sources {
    page: String,
    theme: String,
    start: String,
    icon: String,
    style: String,
}

impl Sources {
    /// Reads the source files from the workspace.
    pub(crate) fn read(frontend: &Path) -> Result<Self, BundleError> {
        let read = |name: &str| {
            let path = frontend.join(name);
            fs::read_to_string(&path).map_err(BundleError::file("read", path))
        };
        let mut style = String::new();
        for name in STYLES {
            style.push_str(&read(&format!("style/{name}"))?);
        }
        Ok(Self {
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
    let style = hashed("style", "css", sources.style.as_bytes());
    let theme = hashed("theme", "js", sources.theme.as_bytes());
    let icon = hashed("icon", "svg", sources.icon.as_bytes());
    let script = hashed("app", "js", &program.script);
    let wasm = hashed("app", "wasm", &program.wasm);
    let start = filled(
        "start.js",
        &sources.start,
        &[("script", &url(&script)), ("program", &url(&wasm))],
    )?;
    let start = hashed("start", "js", start.as_bytes());
    let page = filled(
        "index.html",
        &sources.page,
        &[
            ("style", &url(&style)),
            ("theme", &url(&theme)),
            ("icon", &url(&icon)),
            ("script", &url(&script)),
            ("program", &url(&wasm)),
            ("start", &url(&start)),
        ],
    )?;
    let page = File {
        path: "index.html".to_owned(),
        bytes: page.into_bytes(),
    };
    Ok(vec![page, style, theme, icon, script, wasm, start])
}

fn url(file: &File) -> String {
    format!("/{}", file.path)
}

/// Creates a file whose name contains a hash of the content, so that browsers can cache the file
/// permanently.
fn hashed(name: &str, ending: &str, bytes: &[u8]) -> File {
    let hash = format!("{:x}", Sha256::digest(bytes));
    let short = &hash[..16];
    File {
        path: format!("assets/{name}-{short}.{ending}"),
        bytes: bytes.to_vec(),
    }
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
