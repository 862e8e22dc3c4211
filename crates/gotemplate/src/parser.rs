//! Parses tokens to a set of templates.

use std::collections::BTreeMap;

use crate::ast::{Branch, Node, Pipe, ROOT, TemplateSet};
use crate::error::ParseError;
use crate::lexer::{Keyword, Kind, Token};

mod pipeline;

/// The maximum nesting of actions and parentheses in a text.
const MAX_DEPTH: usize = 100;

/// Parses the tokens of a text.
pub(crate) fn parse(tokens: Vec<Token>) -> Result<TemplateSet, ParseError> {
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
        scope: Scope::new(),
        templates: BTreeMap::new(),
    };
    let mut root = Vec::new();
    while *parser.peek() != Kind::End {
        if parser.is_definition() {
            parser.definition()?;
            continue;
        }
        match parser.text_or_action()? {
            Item::Node(node) => root.push(node),
            Item::End | Item::Else => return Err(parser.error("unexpected end or else")),
        }
    }
    parser.add(ROOT.to_vec(), root)?;
    Ok(parser.templates)
}

/// A parsed node, or the action that ends a list of nodes.
enum Item {
    Node(Node),
    End,
    Else,
}

/// The variables and loops around an action. Each template has its own scope.
struct Scope {
    variables: Vec<String>,
    loops: usize,
}

impl Scope {
    fn new() -> Self {
        Self {
            variables: vec!["$".to_owned()],
            loops: 0,
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    scope: Scope,
    templates: TemplateSet,
}

/// Reports whether a list of nodes contains only spaces.
fn is_empty(nodes: &[Node]) -> bool {
    nodes
        .iter()
        .all(|node| matches!(node, Node::Text(text) if text.trim().is_empty()))
}

impl Parser {
    fn peek(&self) -> &Kind {
        self.tokens
            .get(self.at)
            .map_or(&Kind::End, |token| &token.kind)
    }

    fn peek_non_space(&mut self) -> &Kind {
        while *self.peek() == Kind::Space {
            self.at += 1;
        }
        self.peek()
    }

    fn next(&mut self) -> Kind {
        let kind = self.peek().clone();
        self.at += 1;
        kind
    }

    fn next_non_space(&mut self) -> Kind {
        self.peek_non_space();
        self.next()
    }

    fn line(&self) -> usize {
        let token = self.tokens.get(self.at).or_else(|| self.tokens.last());
        token.map_or(1, |token| token.line)
    }

    fn error(&self, reason: impl Into<String>) -> ParseError {
        ParseError {
            line: self.line(),
            reason: reason.into(),
        }
    }

    fn expect_right(&mut self, context: &str) -> Result<(), ParseError> {
        if self.next_non_space() == Kind::Right {
            return Ok(());
        }
        Err(self.error(format!("unexpected token in {context}")))
    }

    /// Calls `parse` with a larger nesting depth.
    fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        if self.depth == MAX_DEPTH {
            return Err(self.error("the nesting of actions and parentheses exceeds 100"));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn is_definition(&self) -> bool {
        let mut rest = self.tokens[self.at..].iter().map(|token| &token.kind);
        rest.next() == Some(&Kind::Left)
            && rest.find(|kind| **kind != Kind::Space) == Some(&Kind::Keyword(Keyword::Define))
    }

    fn definition(&mut self) -> Result<(), ParseError> {
        self.next();
        self.next_non_space();
        let Kind::Str(name) = self.next_non_space() else {
            return Err(self.error("expected the name of the template in define clause"));
        };
        self.expect_right("define clause")?;
        self.body(name, "define clause")
    }

    /// Parses the nodes of a template until `end`, with a new scope.
    fn body(&mut self, name: Vec<u8>, context: &str) -> Result<(), ParseError> {
        let outer = std::mem::replace(&mut self.scope, Scope::new());
        let (nodes, ends) = self.nested(Self::list)?;
        self.scope = outer;
        if !ends {
            return Err(self.error(format!("unexpected else in {context}")));
        }
        self.add(name, nodes)
    }

    fn add(&mut self, name: Vec<u8>, nodes: Vec<Node>) -> Result<(), ParseError> {
        match self.templates.get(&name) {
            Some(existing) if !is_empty(existing) => {
                if is_empty(&nodes) {
                    return Ok(());
                }
                let name = String::from_utf8_lossy(&name);
                Err(self.error(format!("multiple definition of template {name:?}")))
            }
            _ => {
                self.templates.insert(name, nodes);
                Ok(())
            }
        }
    }

    /// Parses nodes until `end` (`true`) or `else` (`false`).
    fn list(&mut self) -> Result<(Vec<Node>, bool), ParseError> {
        let mut nodes = Vec::new();
        loop {
            if *self.peek_non_space() == Kind::End {
                return Err(self.error("unexpected EOF"));
            }
            match self.text_or_action()? {
                Item::Node(node) => nodes.push(node),
                Item::End => return Ok((nodes, true)),
                Item::Else => return Ok((nodes, false)),
            }
        }
    }

    fn text_or_action(&mut self) -> Result<Item, ParseError> {
        match self.next_non_space() {
            Kind::Text(text) => Ok(Item::Node(Node::Text(text))),
            Kind::Left => self.action(),
            _ => Err(self.error("unexpected token in input")),
        }
    }

    fn action(&mut self) -> Result<Item, ParseError> {
        let line = self.line();
        let Kind::Keyword(keyword) = *self.peek_non_space() else {
            let pipe = self.pipeline("command", &Kind::Right)?;
            return Ok(Item::Node(Node::Action(pipe)));
        };
        self.next();
        let node = match keyword {
            Keyword::If => self.if_action()?,
            Keyword::With => self.with_action()?,
            Keyword::Range => Node::Range(self.branch("range")?),
            Keyword::Break => self.loop_control("break", Node::Break)?,
            Keyword::Continue => self.loop_control("continue", Node::Continue)?,
            Keyword::Block => self.block(line)?,
            Keyword::Template => self.template(line)?,
            Keyword::Define => return Err(self.error("unexpected define in command")),
            Keyword::End => {
                self.expect_right("end")?;
                return Ok(Item::End);
            }
            Keyword::Else => {
                let next = self.peek_non_space();
                if !matches!(next, Kind::Keyword(Keyword::If | Keyword::With)) {
                    self.expect_right("else")?;
                }
                return Ok(Item::Else);
            }
        };
        Ok(Item::Node(node))
    }

    fn loop_control(&mut self, name: &str, node: Node) -> Result<Node, ParseError> {
        self.expect_right(name)?;
        if self.scope.loops == 0 {
            return Err(self.error(format!("{name} outside range")));
        }
        Ok(node)
    }

    fn if_action(&mut self) -> Result<Node, ParseError> {
        Ok(Node::If(self.branch("if")?))
    }

    fn with_action(&mut self) -> Result<Node, ParseError> {
        Ok(Node::With(self.branch("with")?))
    }

    fn branch(&mut self, context: &str) -> Result<Branch, ParseError> {
        let variables = self.scope.variables.len();
        let branch = self.nested(|parser| parser.branch_in_scope(context))?;
        self.scope.variables.truncate(variables);
        Ok(branch)
    }

    fn branch_in_scope(&mut self, context: &str) -> Result<Branch, ParseError> {
        let pipe = self.pipeline(context, &Kind::Right)?;
        let is_loop = usize::from(context == "range");
        self.scope.loops += is_loop;
        let (then, ends) = self.list()?;
        self.scope.loops -= is_loop;
        let otherwise = match (ends, context, self.peek()) {
            (true, ..) => None,
            (false, "if", Kind::Keyword(Keyword::If)) => {
                self.next();
                Some(vec![self.if_action()?])
            }
            (false, "with", Kind::Keyword(Keyword::With)) => {
                self.next();
                Some(vec![self.with_action()?])
            }
            (false, ..) => {
                let (nodes, ends) = self.list()?;
                if !ends {
                    return Err(self.error("expected end; found else"));
                }
                Some(nodes)
            }
        };
        Ok(Branch {
            pipe,
            then,
            otherwise,
        })
    }

    fn template_name(&mut self, context: &str) -> Result<Vec<u8>, ParseError> {
        match self.next_non_space() {
            Kind::Str(name) => Ok(name),
            _ => Err(self.error(format!("unexpected token in {context}"))),
        }
    }

    fn block(&mut self, line: usize) -> Result<Node, ParseError> {
        let name = self.template_name("block clause")?;
        let pipe = self.pipeline("block clause", &Kind::Right)?;
        self.body(name.clone(), "block clause")?;
        let pipe = Some(pipe);
        Ok(Node::Template { line, name, pipe })
    }

    fn template(&mut self, line: usize) -> Result<Node, ParseError> {
        let name = self.template_name("template clause")?;
        let pipe: Option<Pipe> = if *self.peek_non_space() == Kind::Right {
            self.next();
            None
        } else {
            Some(self.pipeline("template clause", &Kind::Right)?)
        };
        Ok(Node::Template { line, name, pipe })
    }
}
