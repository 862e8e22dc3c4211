//! The draft of a role, with its spec and its YAML.

use drover_api::strict::unknown_field;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_saphyr::{MessageFormatter as _, UserMessageFormatter};

use super::Kind;
use super::spec::RoleSpec;
use crate::messages::t;

/// An error in the YAML of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextProblem {
    /// The line number, from 1, if known.
    pub line: Option<usize>,
    /// The error message, with the field if known.
    pub message: String,
}

/// The draft of a role. Invalid YAML is stored next to the last valid spec.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    spec: RoleSpec,
    text: String,
    problem: Option<TextProblem>,
}

impl Draft {
    /// Creates a draft from a spec.
    pub fn of(spec: RoleSpec) -> Self {
        Self {
            text: text_of(&spec),
            spec,
            problem: None,
        }
    }

    /// Returns the last valid spec.
    pub const fn spec(&self) -> &RoleSpec {
        &self.spec
    }

    /// Returns the YAML, which can be invalid.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the error of the YAML. While an error exists, [`Self::change`] ignores edits.
    pub const fn problem(&self) -> Option<&TextProblem> {
        self.problem.as_ref()
    }

    /// Sets the YAML as entered. Comments and the order of fields stay until [`Self::change`]
    /// regenerates the YAML.
    pub fn type_text(&mut self, text: String) {
        match read(self.spec.kind(), &text) {
            Ok(spec) => {
                self.spec = spec;
                self.problem = None;
            }
            Err(problem) => self.problem = Some(problem),
        }
        self.text = text;
    }

    /// Changes the spec and regenerates the YAML. While the YAML is invalid, changes are ignored.
    pub fn change(&mut self, change: impl FnOnce(&mut RoleSpec)) {
        if self.problem.is_some() {
            return;
        }
        let mut spec = self.spec.clone();
        change(&mut spec);
        if spec != self.spec {
            self.text = text_of(&spec);
            self.spec = spec;
        }
    }
}

/// Formats a spec as YAML.
pub fn text_of(spec: &impl Serialize) -> String {
    // Specs contain only strings, numbers and lists, so serialization cannot fail.
    serde_saphyr::to_string(spec).unwrap_or_default()
}

/// Parses the YAML of a role. Unknown fields are errors, so that no field is lost.
pub fn read(kind: Kind, text: &str) -> Result<RoleSpec, TextProblem> {
    match kind {
        Kind::Template => spec(text).map(RoleSpec::Template),
        Kind::Global => spec(text).map(RoleSpec::Global),
    }
}

fn spec<S: Serialize + DeserializeOwned>(text: &str) -> Result<S, TextProblem> {
    let spec: S = parse(text)?;
    let sent: serde_json::Value = parse(text)?;
    let known = serde_json::to_value(&spec).unwrap_or_default();
    match unknown_field(&sent, &known, "spec") {
        None => Ok(spec),
        Some(path) => {
            let path = path.strip_prefix("spec.").unwrap_or(&path).to_owned();
            Err(TextProblem {
                line: line_of(text, &path),
                message: t().roles.unknown_field(&path),
            })
        }
    }
}

fn parse<S: DeserializeOwned>(text: &str) -> Result<S, TextProblem> {
    // The page shows the message next to the text.
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| problem(&error))
}

fn problem(error: &serde_saphyr::Error) -> TextProblem {
    let line = error.location().map(|at| at.line());
    TextProblem {
        line: line.and_then(|line| usize::try_from(line).ok()),
        // The `Display` implementation is for developers and includes an excerpt of the source.
        message: UserMessageFormatter.format_message(error).into_owned(),
    }
}

/// Returns the line of a field, if the name of the field is unique in the text.
fn line_of(text: &str, path: &str) -> Option<usize> {
    let key = path.rsplit('.').next()?;
    let begins = |line: &str| {
        let line = line.trim_start_matches([' ', '-']);
        let rest = line.strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    let mut lines = text.lines().enumerate().filter(|(_, line)| begins(line));
    let (at, _) = lines.next()?;
    lines.next().is_none().then_some(at + 1)
}
