//! Splits a template into tokens.

use crate::error::ParseError;
use crate::literal::unquote;

/// A token with its line.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Text(String),
    Left,
    Right,
    Space,
    Assign,
    Declare,
    Pipe,
    Comma,
    OtherChar(char),
    Open,
    Close,
    Dot,
    Str(Vec<u8>),
    Char(String),
    Number(String),
    Bool(bool),
    Nil,
    Identifier(String),
    Field(String),
    Variable(String),
    Keyword(Keyword),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Template,
    With,
}

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

/// Returns the tokens of a template. The last token is [`Kind::End`].
pub(crate) fn tokens(text: &str, left: &str, right: &str) -> Result<Vec<Token>, ParseError> {
    let mut lexer = Lexer {
        rest: text,
        left: if left.is_empty() { "{{" } else { left },
        right: if right.is_empty() { "}}" } else { right },
        line: 1,
        parentheses: 0,
        tokens: Vec::new(),
    };
    while lexer.text()? {
        while lexer.action()? {}
    }
    lexer.push(Kind::End);
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    left: &'a str,
    right: &'a str,
    line: usize,
    parentheses: usize,
    tokens: Vec<Token>,
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphabetic() || character.is_numeric()
}

/// Reports whether a text starts with `-` and a space, which removes the spaces before the action.
fn trims_left(text: &str) -> bool {
    text.strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(SPACES))
}

impl Lexer<'_> {
    fn push(&mut self, kind: Kind) {
        let line = self.line;
        self.tokens.push(Token { kind, line });
    }

    fn error(&self, reason: impl Into<String>) -> ParseError {
        ParseError {
            line: self.line,
            reason: reason.into(),
        }
    }

    fn advance(&mut self, bytes: usize) {
        let (done, rest) = self.rest.split_at(bytes);
        self.line += done.matches('\n').count();
        self.rest = rest;
    }

    /// Reads the text before an action and the action's left delimiter. Skips comments. Returns
    /// `false` at the end of the template.
    fn text(&mut self) -> Result<bool, ParseError> {
        loop {
            let Some(at) = self.rest.find(self.left) else {
                if !self.rest.is_empty() {
                    self.push(Kind::Text(self.rest.to_owned()));
                    self.advance(self.rest.len());
                }
                return Ok(false);
            };
            let text = &self.rest[..at];
            let after = &self.rest[at + self.left.len()..];
            let trims = trims_left(after);
            let kept = if trims {
                text.trim_end_matches(SPACES)
            } else {
                text
            };
            if !kept.is_empty() {
                self.push(Kind::Text(kept.to_owned()));
            }
            self.advance(at + self.left.len() + if trims { 2 } else { 0 });
            if !self.rest.starts_with("/*") {
                self.parentheses = 0;
                self.push(Kind::Left);
                return Ok(true);
            }
            let end = self.rest[2..].find("*/");
            let end = end.ok_or_else(|| self.error("unclosed comment"))?;
            self.advance(end + 4);
            if !self.right_delimiter() {
                return Err(self.error("comment ends before closing delimiter"));
            }
        }
    }

    /// Skips the right delimiter, if the rest starts with the right delimiter.
    fn right_delimiter(&mut self) -> bool {
        let mut marker = self.rest.chars();
        let trims = marker.next().is_some_and(|first| SPACES.contains(&first))
            && marker.next() == Some('-')
            && marker.as_str().starts_with(self.right);
        if trims {
            self.advance(2 + self.right.len());
            let spaces = self.rest.len() - self.rest.trim_start_matches(SPACES).len();
            self.advance(spaces);
        } else if self.rest.starts_with(self.right) {
            self.advance(self.right.len());
        } else {
            return false;
        }
        true
    }

    /// Reads one token of an action. Returns `false` after the right delimiter.
    fn action(&mut self) -> Result<bool, ParseError> {
        let line = self.line;
        if self.right_delimiter() {
            if self.parentheses > 0 {
                return Err(self.error("unclosed left paren"));
            }
            self.tokens.push(Token {
                kind: Kind::Right,
                line,
            });
            return Ok(false);
        }
        let Some(first) = self.rest.chars().next() else {
            return Err(self.error("unclosed action"));
        };
        match first {
            _ if SPACES.contains(&first) => self.space(),
            '=' => self.single(Kind::Assign),
            ':' if self.rest.starts_with(":=") => {
                self.advance(2);
                self.push(Kind::Declare);
            }
            ':' => return Err(self.error("expected :=")),
            '|' => self.single(Kind::Pipe),
            ',' => self.single(Kind::Comma),
            '(' => {
                self.parentheses += 1;
                self.single(Kind::Open);
            }
            ')' => {
                let left = self.parentheses.checked_sub(1);
                self.parentheses = left.ok_or_else(|| self.error("unexpected right paren"))?;
                self.single(Kind::Close);
            }
            '"' | '\'' => self.quoted(first)?,
            '`' => self.raw()?,
            '$' => self.name(Kind::Variable, true)?,
            '.' if !self.rest[1..].starts_with(|next: char| next.is_ascii_digit()) => {
                self.name(Kind::Field, false)?;
            }
            '.' | '+' | '-' | '0'..='9' => self.number()?,
            _ if is_word(first) => self.word()?,
            ' '..='~' => self.single(Kind::OtherChar(first)),
            _ => return Err(self.error("unrecognized character in action")),
        }
        Ok(true)
    }

    fn single(&mut self, kind: Kind) {
        self.push(kind);
        self.advance(1);
    }

    fn space(&mut self) {
        let end = self.rest.len() - self.rest.trim_start_matches(SPACES).len();
        let marker = self.rest[end..].strip_prefix('-');
        let trims = marker.is_some_and(|rest| rest.starts_with(self.right));
        let end = if trims { end - 1 } else { end };
        if end > 0 {
            self.push(Kind::Space);
            self.advance(end);
        }
    }

    /// Reads a string or a character in quotes.
    fn quoted(&mut self, quote: char) -> Result<(), ParseError> {
        let mut escaped = false;
        for (at, character) in self.rest.char_indices().skip(1) {
            match character {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if character == quote => {
                    let literal = &self.rest[..=at];
                    let kind = if quote == '\'' {
                        Kind::Char(literal.to_owned())
                    } else {
                        let text = unquote(literal);
                        Kind::Str(text.ok_or_else(|| self.error("invalid string literal"))?)
                    };
                    self.push(kind);
                    self.advance(at + 1);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(self.error("unterminated quoted string"))
    }

    fn raw(&mut self) -> Result<(), ParseError> {
        let end = self.rest[1..].find('`');
        let end = end.ok_or_else(|| self.error("unterminated raw quoted string"))? + 2;
        let text = unquote(&self.rest[..end]);
        self.push(Kind::Str(
            text.ok_or_else(|| self.error("invalid string literal"))?,
        ));
        self.advance(end);
        Ok(())
    }

    /// Reads a field or a variable with its leading character.
    fn name(&mut self, kind: fn(String) -> Kind, variable: bool) -> Result<(), ParseError> {
        let word = self.rest[1..].find(|character| !is_word(character));
        let end = word.map_or(self.rest.len(), |word| word + 1);
        let name = &self.rest[1..end];
        let kind = match (name.is_empty(), variable) {
            (true, false) => Kind::Dot,
            (_, true) => kind(self.rest[..end].to_owned()),
            (false, false) => kind(name.to_owned()),
        };
        self.push(kind);
        self.advance(end);
        self.check_terminator()
    }

    /// Checks that a word ends before a character that can follow a word.
    fn check_terminator(&self) -> Result<(), ParseError> {
        let terminators = [' ', '\t', '\r', '\n', '.', ',', '|', ':', ')', '('];
        if self.rest.is_empty()
            || self.rest.starts_with(terminators)
            || self.rest.starts_with(self.right)
        {
            return Ok(());
        }
        Err(self.error("bad character after a name"))
    }

    fn word(&mut self) -> Result<(), ParseError> {
        let end = self.rest.find(|character| !is_word(character));
        let end = end.unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        let kind = match word {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "nil" => Kind::Nil,
            "block" => Kind::Keyword(Keyword::Block),
            "break" => Kind::Keyword(Keyword::Break),
            "continue" => Kind::Keyword(Keyword::Continue),
            "define" => Kind::Keyword(Keyword::Define),
            "else" => Kind::Keyword(Keyword::Else),
            "end" => Kind::Keyword(Keyword::End),
            "if" => Kind::Keyword(Keyword::If),
            "range" => Kind::Keyword(Keyword::Range),
            "template" => Kind::Keyword(Keyword::Template),
            "with" => Kind::Keyword(Keyword::With),
            _ => Kind::Identifier(word.to_owned()),
        };
        self.push(kind);
        self.advance(end);
        self.check_terminator()
    }

    fn number(&mut self) -> Result<(), ParseError> {
        let mut scan = Scan(self.rest);
        scan.number();
        let end = self.rest.len() - scan.0.len();
        if end == 0
            || scan
                .0
                .starts_with(|next| is_word(next) || matches!(next, '+' | '-'))
        {
            return Err(self.error("bad number syntax"));
        }
        self.push(Kind::Number(self.rest[..end].to_owned()));
        self.advance(end);
        Ok(())
    }
}

/// The rest of a text from which number literals are read.
struct Scan<'a>(&'a str);

impl Scan<'_> {
    fn accept(&mut self, characters: &str) -> bool {
        let found = self.0.starts_with(|next| characters.contains(next));
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn accept_all(&mut self, characters: &str) {
        while self.accept(characters) {}
    }

    fn number(&mut self) {
        self.accept("+-");
        let mut digits = "0123456789_";
        let mut exponent = "eE";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
                exponent = "pP";
            } else if self.accept("oO") {
                digits = "01234567_";
                exponent = "";
            } else if self.accept("bB") {
                digits = "01_";
                exponent = "";
            }
        }
        self.accept_all(digits);
        if self.accept(".") {
            self.accept_all(digits);
        }
        if self.accept(exponent) {
            self.accept("+-");
            self.accept_all("0123456789_");
        }
        self.accept("i");
    }
}
