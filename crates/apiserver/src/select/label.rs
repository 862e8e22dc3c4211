//! Label selectors, as text and as objects.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use super::lexer::{Token, scan};
use super::requirement::{Operator, Requirement, SelectorError, key_fault};

/// A label selector. An object matches if its labels meet all requirements. `None` matches no
/// object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelSelector(Option<Vec<Requirement>>);

impl LabelSelector {
    /// Returns the selector that matches all objects.
    pub const fn everything() -> Self {
        Self(Some(Vec::new()))
    }

    /// Returns the selector that matches no object.
    pub const fn nothing() -> Self {
        Self(None)
    }

    /// Creates a selector with these requirements.
    pub fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|left, right| left.key().cmp(right.key()));
        Self(Some(requirements))
    }

    /// Parses `metav1.LabelSelector`: `matchLabels` and `matchExpressions`. `null` matches no
    /// objects. The empty object matches all objects.
    ///
    /// # Errors
    ///
    /// Fails if an operator is unknown or a requirement is invalid.
    pub fn from_object(selector: &Value) -> Result<Self, SelectorError> {
        if selector.is_null() {
            return Ok(Self::nothing());
        }
        let mut requirements = Vec::new();
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or("").to_owned();
            requirements.push(Requirement::new(key, Operator::Equals, [value])?);
        }
        for expression in selector["matchExpressions"]
            .as_array()
            .into_iter()
            .flatten()
        {
            requirements.push(from_expression(expression)?);
        }
        Ok(Self::of(requirements))
    }

    /// Returns the requirements, or `None` if the selector matches no object.
    pub fn requirements(&self) -> Option<&[Requirement]> {
        self.0.as_deref()
    }

    /// Reports whether the selector matches all objects.
    pub fn is_everything(&self) -> bool {
        self.0.as_ref().is_some_and(Vec::is_empty)
    }

    /// Reports whether the labels match.
    pub fn matches(&self, labels: &Map<String, Value>) -> bool {
        self.0
            .as_ref()
            .is_some_and(|all| all.iter().all(|one| one.matches(labels)))
    }

    /// Reports whether the labels of an object match.
    pub fn matches_object(&self, object: &Value) -> bool {
        match &object["metadata"]["labels"] {
            Value::Object(labels) => self.matches(labels),
            _ => self.matches(&Map::new()),
        }
    }
}

fn from_expression(expression: &Value) -> Result<Requirement, SelectorError> {
    let text = |field: &str| expression[field].as_str().unwrap_or("");
    let operator = match text("operator") {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        other => {
            return Err(SelectorError(format!(
                "{} is not a valid label selector operator",
                crate::merge::quote(other)
            )));
        }
    };
    let values = expression["values"].as_array().into_iter().flatten();
    let values = values.map(|value| value.as_str().unwrap_or("").to_owned());
    Requirement::new(text("key"), operator, values)
}

impl fmt::Display for LabelSelector {
    /// Formats the query parameter `labelSelector`. The text is empty for both [`Self::nothing`]
    /// and [`Self::everything`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.0.iter().flatten().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(selector: &str) -> Result<Self, SelectorError> {
        let mut parser = Parser {
            tokens: scan(selector),
            at: 0,
        };
        parser.parse().map(Self::of)
    }
}

struct Parser {
    tokens: Vec<(Token, String)>,
    at: usize,
}

fn fail<T>(message: String) -> Result<T, SelectorError> {
    Err(SelectorError(message))
}

impl Parser {
    /// Returns the next token without consuming it. `in` and `notin` are keywords only after a key.
    fn peek(&self) -> (Token, String) {
        let (token, text) = self
            .tokens
            .get(self.at)
            .cloned()
            .unwrap_or((Token::End, String::new()));
        match token {
            Token::In | Token::NotIn => (Token::Identifier, text),
            token => (token, text),
        }
    }

    fn next(&mut self) -> (Token, String) {
        let next = self.peek();
        self.at += 1;
        next
    }

    fn next_operator(&mut self) -> (Token, String) {
        let next = self.tokens.get(self.at).cloned();
        self.at += 1;
        next.unwrap_or((Token::End, String::new()))
    }

    fn parse(&mut self) -> Result<Vec<Requirement>, SelectorError> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                (Token::Identifier | Token::Not, _) => {
                    let requirement = self.requirement().map_err(|reason| {
                        SelectorError(format!("unable to parse requirement: {reason}"))
                    })?;
                    requirements.push(requirement);
                    match self.next() {
                        (Token::End, _) => return Ok(requirements),
                        (Token::Comma, _) => {
                            let (token, text) = self.peek();
                            if !matches!(token, Token::Identifier | Token::Not) {
                                return fail(format!(
                                    "found '{text}', expected: identifier after ','"
                                ));
                            }
                        }
                        (_, text) => {
                            return fail(format!(
                                "found '{text}', expected: ',' or 'end of string'"
                            ));
                        }
                    }
                }
                (Token::End, _) => return Ok(requirements),
                (_, text) => {
                    return fail(format!(
                        "found '{text}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let (mut token, mut key) = self.next();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.next();
        }
        if token != Token::Identifier {
            return fail(format!("found '{key}', expected: identifier"));
        }
        if let Some(fault) = key_fault("<nil>", &key) {
            return fail(fault);
        }
        if negated {
            return Requirement::new(&key, Operator::DoesNotExist, []);
        }
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Requirement::new(&key, Operator::Exists, []);
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => self.exact_value()?,
        };
        Requirement::new(&key, operator, values)
    }

    fn operator(&mut self) -> Result<Operator, SelectorError> {
        Ok(match self.next_operator() {
            (Token::In, _) => Operator::In,
            (Token::NotIn, _) => Operator::NotIn,
            (Token::Equals, _) => Operator::Equals,
            (Token::DoubleEquals, _) => Operator::DoubleEquals,
            (Token::NotEquals, _) => Operator::NotEquals,
            (Token::Greater, _) => Operator::GreaterThan,
            (Token::Less, _) => Operator::LessThan,
            (_, text) => {
                return fail(format!(
                    "found '{text}', expected: in, notin, =, ==, !=, gt, lt"
                ));
            }
        })
    }

    fn values(&mut self) -> Result<BTreeSet<String>, SelectorError> {
        let (token, text) = self.next();
        if token != Token::Open {
            return fail(format!("found '{text}' expected: '('"));
        }
        match self.peek() {
            (Token::Identifier | Token::Comma, first) => {
                let values = self.identifiers()?;
                if self.next().0 != Token::Close {
                    return fail(format!("found '{first}', expected: ')'"));
                }
                Ok(values)
            }
            (Token::Close, _) => {
                self.next();
                Ok(BTreeSet::from([String::new()]))
            }
            (_, text) => fail(format!("found '{text}', expected: ',', ')' or identifier")),
        }
    }

    /// Parses a list of values. An absent value between commas is empty.
    fn identifiers(&mut self) -> Result<BTreeSet<String>, SelectorError> {
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                (Token::Identifier, text) => {
                    values.insert(text);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => return Ok(values),
                        (_, text) => {
                            return fail(format!("found '{text}', expected: ',' or ')'"));
                        }
                    }
                }
                (Token::Comma, _) => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek().0 {
                        Token::Close => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        Token::Comma => {
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                (_, text) => {
                    return fail(format!("found '{text}', expected: ',', or identifier"));
                }
            }
        }
    }

    fn exact_value(&mut self) -> Result<BTreeSet<String>, SelectorError> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(BTreeSet::from([String::new()]));
        }
        match self.next() {
            (Token::Identifier, text) => Ok(BTreeSet::from([text])),
            (_, text) => fail(format!("found '{text}', expected: identifier")),
        }
    }
}
