//! A small Rust lexer. The lexer returns words, punctuation, string literals and doc comments, each
//! with a line number. The repository's rules and `xtask wording-sample` read code inside macros
//! (`view!`, `select!`), which syntax tree parsers do not parse.

/// A token of a Rust source file. The lexer omits plain comments, lifetimes and character literals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// An identifier, a keyword or a number.
    Word(String),
    /// One character of punctuation.
    Mark(char),
    /// A string literal's value.
    Text(String),
    /// One line of a doc comment, without its `///` or `//!`.
    Doc(String),
}

impl Token {
    /// Reports whether the token is this word.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }

    /// Reports whether the token is this punctuation.
    pub(crate) fn is_mark(&self, mark: char) -> bool {
        matches!(self, Self::Mark(own) if *own == mark)
    }
}

/// A token, with the number of its first line. Lines start at 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) line: usize,
    pub(crate) token: Token,
}

/// Splits a source file into tokens. At malformed input, the function returns the tokens up to the
/// error and does not panic.
pub(crate) fn tokens(source: &str) -> Vec<Located> {
    let mut lexer = Lexer {
        rest: source,
        line: 1,
        found: Vec::new(),
    };
    while !lexer.rest.is_empty() {
        lexer.step();
    }
    lexer.found
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    found: Vec<Located>,
}

impl<'a> Lexer<'a> {
    /// Removes `length` bytes from the front of the text and counts their lines.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn push(&mut self, line: usize, token: Token) {
        self.found.push(Located { line, token });
    }

    fn step(&mut self) {
        let line = self.line;
        if self.rest.starts_with("//") {
            self.line_comment();
        } else if self.rest.starts_with("/*") {
            let length = block_comment_length(self.rest);
            self.take(length);
        } else if let Some((value, length)) = string_literal(self.rest) {
            self.take(length);
            self.push(line, Token::Text(value));
        } else if self.rest.starts_with('\'') {
            let length = quote_length(self.rest);
            self.take(length);
        } else {
            self.word_or_mark();
        }
    }

    fn line_comment(&mut self) {
        let line = self.line;
        let length = self.rest.find('\n').unwrap_or(self.rest.len());
        let comment = self.take(length);
        let text = match comment.strip_prefix("//!") {
            Some(text) => Some(text),
            None if comment.starts_with("////") => None,
            None => comment.strip_prefix("///"),
        };
        if let Some(text) = text {
            let text = text.strip_prefix(' ').unwrap_or(text).trim_end();
            self.push(line, Token::Doc(text.to_owned()));
        }
    }

    fn word_or_mark(&mut self) {
        let line = self.line;
        let start = if self.rest.starts_with("r#") { 2 } else { 0 };
        let length = self.rest[start..]
            .find(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
            .unwrap_or(self.rest.len() - start);
        if length > 0 {
            let word = self.take(start + length)[start..].to_owned();
            self.push(line, Token::Word(word));
        } else if let Some(mark) = self.rest.chars().next() {
            self.take(mark.len_utf8());
            if !mark.is_whitespace() {
                self.push(line, Token::Mark(mark));
            }
        }
    }
}

/// Returns the length of a block comment. Block comments can be nested.
fn block_comment_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Returns the value and the length of the string literal at the start of the text: plain, raw,
/// byte or C.
fn string_literal(text: &str) -> Option<(String, usize)> {
    let prefix = ["br", "cr", "r", "b", "c", ""].into_iter().find(|prefix| {
        let rest = text.strip_prefix(prefix);
        let rest = rest.map(|rest| {
            if prefix.ends_with('r') {
                rest.trim_start_matches('#')
            } else {
                rest
            }
        });
        rest.is_some_and(|rest| rest.starts_with('"'))
    })?;
    let body = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = body.find('"')?;
        let end = format!("\"{}", &body[..hashes]);
        let inner = &body[hashes + 1..];
        let length = inner.find(&end).unwrap_or(inner.len());
        let whole = prefix.len() + hashes + 1 + length + end.len();
        return Some((inner[..length].to_owned(), whole.min(text.len())));
    }
    let (value, length) = plain_string(&body[1..]);
    Some((value, prefix.len() + 1 + length))
}

/// Parses a string literal after its opening quote. Returns its value, and its length with the
/// closing quote.
fn plain_string(text: &str) -> (String, usize) {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, at + 1),
            '\\' => match letters.next().map(|(_, escaped)| escaped) {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('\n') => {
                    let rest = letters.as_str();
                    let kept = rest.trim_start();
                    letters = text[text.len() - kept.len()..].char_indices();
                    let (more, length) = plain_string(letters.as_str());
                    value.push_str(&more);
                    return (value, text.len() - kept.len() + length);
                }
                Some('u') => value.push('\u{fffd}'),
                Some(other) => value.push(other),
                None => break,
            },
            letter => value.push(letter),
        }
    }
    (value, text.len())
}

/// Returns the length of a lifetime or a character literal.
fn quote_length(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match (letters.next(), letters.next()) {
        (Some((_, '\\')), Some((after, escaped))) => {
            let rest = &text[after + escaped.len_utf8()..];
            let end = rest.find('\'').map_or(rest.len(), |end| end + 1);
            text.len() - rest.len() + end
        }
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        tokens(source)
            .into_iter()
            .map(|located| match located.token {
                Token::Word(text) => text,
                Token::Mark(mark) => mark.to_string(),
                Token::Text(text) => format!("{text:?}"),
                Token::Doc(text) => format!("/// {text}"),
            })
            .collect()
    }

    #[test]
    fn lexer_separates_words_punctuation_and_strings() {
        let source = "let a: &'static str = r#\"x \"y\"\"#; b'\"'; '\\''; \"it\\\"s\";";
        let expected = [
            "let",
            "a",
            ":",
            "&",
            "static",
            "str",
            "=",
            "\"x \\\"y\\\"\"",
            ";",
            "b",
            ";",
            ";",
            "\"it\\\"s\"",
            ";",
        ];
        assert_eq!(words(source), expected);
    }

    #[test]
    fn lexer_removes_comments_and_returns_doc_comments() {
        let source = "//! Module.\n/* a /* b */ \" */ // c\n//// d\n/// Item `x`.\nfn f() {}";
        assert_eq!(
            words(source),
            [
                "/// Module.",
                "/// Item `x`.",
                "fn",
                "f",
                "(",
                ")",
                "{",
                "}"
            ]
        );
        assert_eq!(tokens(source)[1].line, 4);
    }

    #[test]
    fn continued_string_literal_becomes_one_line() {
        assert_eq!(words("\"a \\\n      b\" c"), ["\"a b\"", "c"]);
    }

    #[test]
    fn lexer_does_not_panic_on_incomplete_rust_input() {
        for source in ["\"a", "r#\"a", "/* a", "'", "'\\", "\"\\", "r#"] {
            let _ = tokens(source);
        }
    }
}
