//! Parses pipelines, commands and terms.

use super::Parser;
use crate::ast::{Command, Pipe, Term};
use crate::error::ParseError;
use crate::functions;
use crate::lexer::Kind;
use crate::literal;

impl Parser {
    /// Parses a pipeline up to and including the token `end`.
    pub(super) fn pipeline(&mut self, context: &str, end: &Kind) -> Result<Pipe, ParseError> {
        self.peek_non_space();
        let mut pipe = Pipe {
            line: self.line(),
            assigns: false,
            variables: Vec::new(),
            commands: Vec::new(),
        };
        self.declarations(context, &mut pipe)?;
        loop {
            let next = self.peek_non_space();
            if next == end {
                self.next();
                self.check_pipeline(&pipe, context)?;
                return Ok(pipe);
            }
            match next {
                Kind::Bool(_)
                | Kind::Char(_)
                | Kind::Dot
                | Kind::Field(_)
                | Kind::Identifier(_)
                | Kind::Number(_)
                | Kind::Nil
                | Kind::Str(_)
                | Kind::Variable(_)
                | Kind::Open => pipe.commands.push(self.command()?),
                _ => return Err(self.error(format!("unexpected token in {context}"))),
            }
        }
    }

    /// Parses the variables before `:=` or `=`.
    fn declarations(&mut self, context: &str, pipe: &mut Pipe) -> Result<(), ParseError> {
        while let Kind::Variable(name) = self.peek_non_space().clone() {
            let start = self.at;
            self.next();
            match self.peek_non_space() {
                Kind::Assign | Kind::Declare => {
                    pipe.assigns = self.next() == Kind::Assign;
                    self.declare(name, pipe);
                    return Ok(());
                }
                Kind::Comma => {
                    self.next();
                    self.declare(name, pipe);
                    if context != "range" || pipe.variables.len() > 1 {
                        return Err(self.error(format!("too many declarations in {context}")));
                    }
                    if !matches!(
                        self.peek_non_space(),
                        Kind::Variable(_) | Kind::Right | Kind::Close
                    ) {
                        return Err(self.error("range can only initialize variables"));
                    }
                }
                _ => {
                    self.at = start;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn declare(&mut self, name: String, pipe: &mut Pipe) {
        self.scope.variables.push(name.clone());
        pipe.variables.push(name);
    }

    fn check_pipeline(&self, pipe: &Pipe, context: &str) -> Result<(), ParseError> {
        if pipe.commands.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        for command in pipe.commands.iter().skip(1) {
            if let Some(Term::Bool(_) | Term::Dot | Term::Nil | Term::Number(_) | Term::Str(_)) =
                command.terms.first()
            {
                return Err(self.error("non executable command in pipeline"));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<Command, ParseError> {
        let mut terms = Vec::new();
        loop {
            self.peek_non_space();
            if let Some(term) = self.operand()? {
                terms.push(term);
            }
            match self.peek() {
                Kind::Space => {
                    self.next();
                    continue;
                }
                Kind::Right | Kind::Close => {}
                Kind::Pipe => {
                    self.next();
                }
                _ => return Err(self.error("unexpected token in operand")),
            }
            break;
        }
        if terms.is_empty() {
            return Err(self.error("empty command"));
        }
        Ok(Command { terms })
    }

    /// Parses a term with the fields after the term.
    fn operand(&mut self) -> Result<Option<Term>, ParseError> {
        let Some(term) = self.term()? else {
            return Ok(None);
        };
        let mut fields = Vec::new();
        while let Kind::Field(name) = self.peek() {
            fields.push(name.clone());
            self.next();
        }
        if fields.is_empty() {
            return Ok(Some(term));
        }
        Ok(Some(match term {
            Term::Field(mut path) => {
                path.append(&mut fields);
                Term::Field(path)
            }
            Term::Variable(name, _) => Term::Variable(name, fields),
            Term::Function(_) | Term::Pipe(_) | Term::Chain(..) => {
                Term::Chain(Box::new(term), fields)
            }
            Term::Bool(_) | Term::Str(_) | Term::Number(_) | Term::Nil | Term::Dot => {
                return Err(self.error("unexpected . after a term"));
            }
        }))
    }

    fn term(&mut self) -> Result<Option<Term>, ParseError> {
        let start = self.at;
        let term = match self.next_non_space() {
            Kind::Identifier(name) => {
                let function = functions::find(&name);
                let missing = || self.error(format!("function {name:?} not defined"));
                Term::Function(function.ok_or_else(missing)?)
            }
            Kind::Dot => Term::Dot,
            Kind::Nil => Term::Nil,
            Kind::Variable(name) => {
                if !self.scope.variables.contains(&name) {
                    return Err(self.error(format!("undefined variable {name:?}")));
                }
                Term::Variable(name, Vec::new())
            }
            Kind::Field(name) => Term::Field(vec![name]),
            Kind::Bool(truth) => Term::Bool(truth),
            Kind::Char(text) => {
                let number = literal::character(&text);
                Term::Number(number.ok_or_else(|| self.error("malformed character constant"))?)
            }
            Kind::Number(text) => {
                Term::Number(literal::number(&text).map_err(|reason| self.error(reason))?)
            }
            Kind::Str(text) => Term::Str(text),
            Kind::Open => Term::Pipe(
                self.nested(|parser| parser.pipeline("parenthesized pipeline", &Kind::Close))?,
            ),
            _ => {
                self.at = start;
                return Ok(None);
            }
        };
        Ok(Some(term))
    }
}
