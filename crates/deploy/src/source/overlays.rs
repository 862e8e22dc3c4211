//! Overlays of plain YAML: files in `overlays/NAME/` that add, replace or patch files.

use serde_json::Value;

use super::{Files, SourceError};

const FOLDER: &str = "overlays/";

/// A patch of a file. The renderer applies the patch, because a strategic merge patch needs the
/// schemas of Kubernetes.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchRequest {
    /// Path of the patched file.
    pub target: String,
    /// Content of the patched file.
    pub object: Value,
    /// The patch: a list of operations, or a merge patch.
    pub patch: Value,
}

/// Files with the overlays, except for patches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlaid {
    files: Files,
    patches: Vec<(String, String, Vec<u8>)>,
}

impl Overlaid {
    /// Applies the overlays in order. Later overlays win.
    pub fn new(mut files: Files, overlays: &[String]) -> Self {
        let mut patches = Vec::new();
        for overlay in overlays {
            let folder = format!("{FOLDER}{overlay}/");
            let found: Vec<_> = files
                .iter()
                .filter_map(|(name, content)| {
                    let inside = name.strip_prefix(&folder)?;
                    Some((name.clone(), inside.to_owned(), content.clone()))
                })
                .collect();
            for (name, inside, content) in found {
                match target(&inside) {
                    Some(target) => patches.push((name, target, content)),
                    None => {
                        files.insert(inside, content);
                    }
                }
            }
        }
        files.retain(|name, _| !name.starts_with(FOLDER));
        Self { files, patches }
    }

    /// Returns the next patch. The caller passes the result to [`Self::patched`].
    pub fn next_patch(&mut self) -> Result<Option<PatchRequest>, SourceError> {
        if self.patches.is_empty() {
            return Ok(None);
        }
        let (name, target, patch) = self.patches.remove(0);
        let Some(object) = self.files.get(&target) else {
            return Err(SourceError::NoTarget { name, target });
        };
        Ok(Some(PatchRequest {
            object: json(&target, object)?,
            patch: json(&name, &patch)?,
            target,
        }))
    }

    /// Stores the result of a patch.
    pub fn patched(&mut self, target: String, object: &Value) {
        self.files.insert(target, object.to_string().into_bytes());
    }

    /// Returns the files.
    pub fn into_files(self) -> Files {
        self.files
    }
}

/// Returns the target of a patch: `a_patch.yaml` patches `a.yaml`.
fn target(name: &str) -> Option<String> {
    let (folder, file) = name
        .rsplit_once('/')
        .map_or(("", name), |(folder, file)| (folder, file));
    let (start, end) = file.split_once("_patch.")?;
    let separator = if folder.is_empty() { "" } else { "/" };
    Some(format!("{folder}{separator}{start}.{end}"))
}

fn json(name: &str, content: &[u8]) -> Result<Value, SourceError> {
    let failed = |reason: String| SourceError::Yaml {
        name: name.to_owned(),
        reason,
    };
    let text = std::str::from_utf8(content).map_err(|error| failed(error.to_string()))?;
    let mut options = serde_saphyr::Options::default();
    options.with_snippet = false;
    serde_saphyr::from_str_with_options(text, options).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[(&str, &str)]) -> Files {
        let files = names
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
        files.collect()
    }

    fn overlays(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn later_overlay_wins() {
        let base = files(&[
            ("a.yaml", "0"),
            ("overlays/x/a.yaml", "1"),
            ("overlays/y/a.yaml", "2"),
            ("overlays/y/b.yaml", "3"),
        ]);
        let overlaid = Overlaid::new(base, &overlays(&["x", "y"])).into_files();
        assert_eq!(overlaid, files(&[("a.yaml", "2"), ("b.yaml", "3")]));
    }

    #[test]
    fn overlays_that_the_target_does_not_select_have_no_effect() {
        let base = files(&[("a.yaml", "0"), ("overlays/x/a.yaml", "1")]);
        let overlaid = Overlaid::new(base, &[]).into_files();
        assert_eq!(overlaid, files(&[("a.yaml", "0")]));
    }

    #[test]
    fn patch_applies_to_the_file_with_its_name() {
        let base = files(&[("d/a.yaml", "k: 1"), ("overlays/x/d/a_patch.yaml", "k: 2")]);
        let mut overlaid = Overlaid::new(base, &overlays(&["x"]));
        let patch = overlaid.next_patch().unwrap().unwrap();
        assert_eq!(patch.target, "d/a.yaml");
        assert_eq!(
            (patch.object["k"].as_i64(), patch.patch["k"].as_i64()),
            (Some(1), Some(2))
        );
        overlaid.patched(patch.target, &serde_json::json!({"k": 2}));
        assert_eq!(overlaid.next_patch().unwrap(), None);
        assert_eq!(overlaid.into_files(), files(&[("d/a.yaml", "{\"k\":2}")]));
    }

    #[test]
    fn patch_without_a_target_is_an_error() {
        let base = files(&[("overlays/x/a_patch.yaml", "k: 2")]);
        let error = Overlaid::new(base, &overlays(&["x"]))
            .next_patch()
            .unwrap_err();
        assert!(
            error.to_string().contains("a.yaml does not exist"),
            "{error}"
        );
    }
}
