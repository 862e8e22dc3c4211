//! The format of scripts. A script is a YAML file with a list of steps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;
use serde_json::Value;

/// The reason why the scripts in a folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The folder or a file in the folder cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The content of a file is not a valid script.
    #[error("{path} is not a script; e2e/conformance/README.md describes the format: {why}")]
    Parse {
        /// Path of the file or folder.
        path: PathBuf,
        /// Description of the error.
        why: String,
    },
    /// The folder contains no script.
    #[error("no script (*.yaml) found in {0}")]
    Empty(PathBuf),
}

/// A script with its steps and the cells of the coverage table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// File name without its extension. The script runs in a namespace with this name.
    #[serde(skip)]
    pub name: String,
    /// One sentence that describes the tested behavior of Kubernetes.
    pub about: String,
    /// The cells of the coverage table that the script covers, such as `create dry-run`.
    #[serde(default)]
    pub covers: Vec<String>,
    /// The steps of the script, in the order of execution.
    pub(super) steps: Vec<Step>,
}

/// A step of a script.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) action: Action,
    /// Variables that the step sets for later steps: names, and paths of values in the response.
    pub(super) capture: BTreeMap<String, String>,
    /// Paths of the values to compare. If the list is empty, the complete response is compared.
    pub(super) only: Vec<String>,
}

/// The action that a step performs.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Sends a request and reads the response.
    Ask {
        request: Request,
        /// The expected status code.
        expect: u16,
        /// Repeats the request until this condition is met.
        until: Option<Until>,
    },
    /// Sends a request many times in parallel. `${i}` in the request is replaced by the number of
    /// the request.
    Together {
        request: Request,
        /// A status code that at least one of the responses must have.
        expect: u16,
        count: usize,
    },
    /// Opens a watch. Later steps read events of this watch.
    Watch { request: Request, id: String },
    /// Reads events of an open watch.
    Read { id: String, events: Events },
}

/// Maximum number of parallel requests in one step.
const MAX_REQUESTS: usize = 1000;

/// The number of watch events that a step reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Events {
    /// The exact number of events to read.
    Count(usize),
    /// Read all events until the server ends the stream.
    Rest,
}

/// A request of a script, which can contain `${variables}`.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) caller: Caller,
    pub(super) body: Body,
}

/// The user who sends a request, and the credential of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Caller {
    /// The administrator, who is a member of `system:masters`.
    #[default]
    Admin,
    /// A client without a credential.
    Nobody,
    /// A user whom the administrator impersonates in the request.
    User(String),
    /// The user of the bearer token that this variable contains.
    Token(String),
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// An empty body.
    None,
    /// A JSON document as the request body.
    Document(Value),
    /// A text that is sent unchanged as the request body.
    Text(String),
}

/// The condition that ends the repetition of a request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Until {
    /// The status code that ends the repetition. The default is the status code of the step.
    #[serde(default)]
    pub(super) code: Option<u16>,
    /// The path of the value that the condition checks in the response body.
    #[serde(default)]
    pub(super) at: Option<String>,
    /// The value that ends the repetition. Without a value, the path must exist.
    #[serde(default)]
    pub(super) is: Option<Value>,
    /// A path that must not exist in the response body when the repetition ends.
    #[serde(default)]
    pub(super) without: Option<String>,
}

/// A step in the format of the script file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    step: String,
    #[serde(default)]
    request: Option<String>,
    #[serde(default)]
    watch: Option<String>,
    #[serde(default)]
    read: Option<String>,
    #[serde(default)]
    events: Option<usize>,
    #[serde(default, rename = "as")]
    id: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    caller: Caller,
    #[serde(default)]
    body: Option<Value>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    patch: Option<String>,
    #[serde(default)]
    expect: Option<u16>,
    #[serde(default)]
    until: Option<Until>,
    #[serde(default)]
    together: Option<usize>,
    #[serde(default)]
    capture: BTreeMap<String, String>,
    #[serde(default)]
    only: Vec<String>,
}

impl TryFrom<Written> for Step {
    type Error = String;

    fn try_from(mut written: Written) -> Result<Self, String> {
        let step = written.step.clone();
        let wrong = |reason: &str| format!("step {step:?}: {reason}");
        let requested = written.request.take();
        let watched = written.watch.take();
        let read = written.read.take();
        let action = match (requested, watched, read) {
            (Some(line), None, None) => {
                let request = request(&line, &mut written).map_err(|reason| wrong(&reason))?;
                let expect = written.expect.ok_or_else(|| {
                    wrong("`expect` is missing: add the status code of Kubernetes")
                })?;
                match (written.together, written.until.take()) {
                    (None, until) => Action::Ask {
                        request,
                        expect,
                        until,
                    },
                    (Some(count @ 1..=MAX_REQUESTS), None) => Action::Together {
                        request,
                        expect,
                        count,
                    },
                    (Some(_), None) => return Err(wrong("`together` is 1 to 1000")),
                    (Some(_), Some(_)) => {
                        return Err(wrong("`together` and `until` exclude each other"));
                    }
                }
            }
            (None, Some(path), None) => Action::Watch {
                request: request(&format!("GET {path}"), &mut written)
                    .map_err(|reason| wrong(&reason))?,
                id: written
                    .id
                    .take()
                    .ok_or_else(|| wrong("`as` is missing: add the name of the watch"))?,
            },
            (None, None, Some(id)) => Action::Read {
                id,
                events: written.events.map_or(Events::Rest, Events::Count),
            },
            _ => return Err(wrong("one of `request`, `watch`, `read` is required")),
        };
        Ok(Self {
            name: written.step,
            action,
            capture: written.capture,
            only: written.only,
        })
    }
}

fn request(line: &str, written: &mut Written) -> Result<Request, String> {
    let (method, path) = line
        .split_once(' ')
        .ok_or("`request` must be a method and a path, such as `GET /api/v1/namespaces`")?;
    if !path.starts_with(['/', '$']) {
        return Err(format!("the path {path:?} must start with a slash"));
    }
    let mut headers = std::mem::take(&mut written.headers);
    let kind = match written.patch.as_deref() {
        None => "application/json",
        Some("json") => "application/json-patch+json",
        Some("merge") => "application/merge-patch+json",
        Some("strategic") => "application/strategic-merge-patch+json",
        Some("apply") => "application/apply-patch+yaml",
        Some(other) => {
            return Err(format!(
                "`patch` must be json, merge, strategic or apply, not {other:?}"
            ));
        }
    };
    let body = match (written.body.take(), written.text.take()) {
        (None, None) => Body::None,
        (Some(document), None) => Body::Document(document),
        (None, Some(text)) => Body::Text(text),
        (Some(_), Some(_)) => return Err("`body` and `text` exclude each other".to_owned()),
    };
    let named = headers
        .keys()
        .any(|name| name.eq_ignore_ascii_case("content-type"));
    if !named && !matches!(body, Body::None) {
        headers.insert("Content-Type".to_owned(), kind.to_owned());
    }
    Ok(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        caller: written.caller.clone(),
        body,
    })
}

/// Reads the scripts of a folder, sorted by name.
pub fn load(folder: &Path) -> Result<Vec<Script>, ScriptError> {
    let read = |source| ScriptError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(ScriptError::Empty(folder.to_owned()));
    }
    paths.iter().map(|path| load_one(path)).collect()
}

fn load_one(path: &Path) -> Result<Script, ScriptError> {
    let text = fs::read_to_string(path).map_err(|source| ScriptError::Read {
        path: path.to_owned(),
        source,
    })?;
    let mut script: Script = read(&text).map_err(|reason| ScriptError::Parse {
        path: path.to_owned(),
        why: reason,
    })?;
    let stem = path.file_stem().unwrap_or_default();
    script.name = stem.to_string_lossy().into_owned();
    Ok(script)
}

/// Parses YAML 1.2, in which `y` and `no` are strings.
fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> Result<Step, String> {
        read(text)
    }

    #[test]
    fn conformance_step_without_an_expected_status_code_is_rejected() {
        let error = step("{step: look, request: GET /version}").unwrap_err();
        assert!(error.contains("expect"), "{error}");
    }

    #[test]
    fn patch_step_sets_the_content_type_of_its_patch_type() {
        let step = step("{step: p, request: PATCH /x, patch: apply, body: {a: 1}, expect: 200}");
        let Action::Ask { request, .. } = step.unwrap().action else {
            panic!("the step must send a request");
        };
        assert_eq!(
            request.headers["Content-Type"],
            "application/apply-patch+yaml"
        );
    }

    #[test]
    fn parallel_step_requires_a_positive_number_of_requests() {
        let text = "{step: p, request: GET /x, expect: 200, together: 3}";
        let Action::Together { count, .. } = step(text).unwrap().action else {
            panic!("the step must send parallel requests");
        };
        assert_eq!(count, 3);
        let error = step("{step: p, request: GET /x, expect: 200, together: 0}").unwrap_err();
        assert!(error.contains("together"), "{error}");
    }

    #[test]
    fn script_with_an_unknown_field_is_rejected() {
        let error = step("{step: p, request: GET /x, expct: 200}").unwrap_err();
        assert!(error.contains("expct"), "{error}");
    }

    #[test]
    fn caller_of_a_conformance_step_can_be_a_user() {
        let step = step("{step: p, request: GET /x, caller: {user: mary}, expect: 403}").unwrap();
        let Action::Ask { request, .. } = step.action else {
            panic!("the step must send a request");
        };
        assert_eq!(request.caller, Caller::User("mary".to_owned()));
    }
}
