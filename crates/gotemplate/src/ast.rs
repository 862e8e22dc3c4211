//! The nodes of a parsed template.

use std::collections::BTreeMap;

use crate::functions::Function;
use crate::literal::Number;

/// The name of the template that is not defined with `define`.
pub(crate) const ROOT: &[u8] = b"values";

/// All templates of a text by name.
pub(crate) type TemplateSet = BTreeMap<Vec<u8>, Vec<Node>>;

#[derive(Debug)]
pub(crate) enum Node {
    Text(String),
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template {
        line: usize,
        name: Vec<u8>,
        pipe: Option<Pipe>,
    },
    Break,
    Continue,
}

/// An action with a pipeline and one or two lists of nodes.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) pipe: Pipe,
    pub(crate) then: Vec<Node>,
    pub(crate) otherwise: Option<Vec<Node>>,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) line: usize,
    /// The variables get a new value (`=`) instead of a declaration (`:=`).
    pub(crate) assigns: bool,
    pub(crate) variables: Vec<String>,
    pub(crate) commands: Vec<Command>,
}

#[derive(Debug)]
pub(crate) struct Command {
    /// The command has at least one term.
    pub(crate) terms: Vec<Term>,
}

#[derive(Debug)]
pub(crate) enum Term {
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    Str(Vec<u8>),
    Field(Vec<String>),
    Variable(String, Vec<String>),
    Function(&'static Function),
    Chain(Box<Self>, Vec<String>),
    Pipe(Pipe),
}
