//! Go's `text/template` with the functions of sprig 3.3.0, as Fleet evaluates `${ … }` in values.
//!
//! [`Template::parse`] parses a text with the given delimiters. [`Template::render`] evaluates the
//! template with JSON data. The data's numbers are `float64`, as Go's `encoding/json` decodes them.
//! A missing map key is an error (Go's option `missingkey=error`).
//!
//! The crate reads no clock, no random numbers and no environment. A call of a function that is not
//! available ends the rendering with [`RenderError::Unavailable`]; [`UNAVAILABLE`] lists these
//! functions. [`Limits`] bound the work and the output of a rendering, so every template ends.
//!
//! Go iterates over a map in random order in `keys` and `values`. This crate sorts by key.

mod ast;
mod budget;
mod error;
mod eval;
mod format;
mod functions;
mod lexer;
mod literal;
mod parser;
mod value;

pub use budget::{Limit, Limits};
pub use error::{ParseError, RenderError};
pub use functions::UNAVAILABLE;

/// The texts that open and close an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delimiters<'a> {
    /// The text that opens an action. An empty text means `{{`.
    pub left: &'a str,
    /// The text that closes an action. An empty text means `}}`.
    pub right: &'a str,
}

impl Delimiters<'static> {
    /// Go's default delimiters.
    pub const GO: Self = Self {
        left: "{{",
        right: "}}",
    };
    /// The delimiters of templates in Fleet's values.
    pub const FLEET: Self = Self {
        left: "${",
        right: "}",
    };
}

/// A parsed template.
#[derive(Debug)]
pub struct Template {
    set: ast::TemplateSet,
}

impl Template {
    /// Parses a template and the templates that its text defines.
    ///
    /// # Errors
    /// [`ParseError`] if Go rejects the text too, if the text contains a complex number, or if the
    /// text nests actions too deeply.
    pub fn parse(text: &str, delimiters: Delimiters<'_>) -> Result<Self, ParseError> {
        let tokens = lexer::tokens(text, delimiters.left, delimiters.right)?;
        let set = parser::parse(tokens)?;
        Ok(Self { set })
    }

    /// Evaluates the template with `data` as dot.
    ///
    /// # Errors
    /// See [`RenderError`].
    pub fn render(&self, data: &serde_json::Value, limits: Limits) -> Result<String, RenderError> {
        eval::render(&self.set, data, limits)
    }
}
