//! A role while somebody works on it: what it says, and the same as text.

use drover_api::strict::unknown_field;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_saphyr::{MessageFormatter as _, UserMessageFormatter};

use super::Kind;
use super::spec::RoleSpec;
use crate::messages::t;

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextProblem {
    /// Where, counted from one, if that can be told.
    pub line: Option<usize>,
    /// What, with the field where it is about one.
    pub message: String,
}

/// What a role shall say. A text that cannot be read is kept beside what could be read last.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    spec: RoleSpec,
    text: String,
    problem: Option<TextProblem>,
}

impl Draft {
    /// Begins with what a role says.
    pub fn of(spec: RoleSpec) -> Self {
        Self {
            text: text_of(&spec),
            spec,
            problem: None,
        }
    }

    /// What it says; as of the last text that could be read.
    pub const fn spec(&self) -> &RoleSpec {
        &self.spec
    }

    /// The text, as it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is wrong with the text; until that is mended nothing else can be changed.
    pub const fn problem(&self) -> Option<&TextProblem> {
        self.problem.as_ref()
    }

    /// Takes another text; comments and the order of fields stay as long as nothing else is changed.
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

    /// Changes what it says, and with it the text; nothing while the text cannot be read.
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

/// What a spec looks like as YAML.
pub fn text_of(spec: &impl Serialize) -> String {
    // Specs hold texts, numbers and lists of them, which can always be written.
    serde_saphyr::to_string(spec).unwrap_or_default()
}

/// Reads what a role of a kind says; one field that nobody knows makes all of it unreadable, so that
/// nothing is lost.
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
    // The text stands beside what is spec of it.
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| problem(&error))
}

fn problem(error: &serde_saphyr::Error) -> TextProblem {
    let line = error.location().map(|at| at.line());
    TextProblem {
        line: line.and_then(|line| usize::try_from(line).ok()),
        // Its `Display` speaks to programmers, and brings what draws the place in the text.
        message: UserMessageFormatter.format_message(error).into_owned(),
    }
}

/// The line of a field, where no other line has one of that name.
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
