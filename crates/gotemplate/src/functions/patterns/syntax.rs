//! Translates Go's syntax of regular expressions to the syntax of the crate `regex`.
//!
//! In Go, the classes `\d`, `\s`, `\w` and the boundary `\b` match only ASCII, the text `[` is a
//! normal character inside of a class, and a brace that starts no repetition is a normal character.

use std::iter::Peekable;
use std::str::Chars;

/// The maximum number in a repetition.
const MAX_REPETITION: u32 = 1_000;

/// The names of classes such as `[:alpha:]`.
const ASCII_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// Returns the translated pattern.
pub(super) fn translate(pattern: &str) -> Result<String, &'static str> {
    let mut translator = Translator {
        rest: pattern.chars().peekable(),
        out: String::with_capacity(pattern.len() + 16),
        after_repetition: false,
    };
    while translator.step()? {}
    Ok(translator.out)
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    after_repetition: bool,
}

/// Returns the content of an ASCII class, and whether the class is negated.
fn ascii_class(name: char) -> Option<(&'static str, bool)> {
    let content = match name.to_ascii_lowercase() {
        'd' => "0-9",
        's' => r"\t\n\x0c\r ",
        'w' => "0-9A-Za-z_",
        _ => return None,
    };
    Some((content, name.is_ascii_uppercase()))
}

impl Translator<'_> {
    fn step(&mut self) -> Result<bool, &'static str> {
        let Some(character) = self.rest.next() else {
            return Ok(false);
        };
        match character {
            '*' | '+' | '?' => {
                self.check_repetition()?;
                self.out.push(character);
                self.end_repetition();
                return Ok(true);
            }
            '{' => {
                if let Some(repetition) = self.repetition()? {
                    self.check_repetition()?;
                    self.out.push_str(&repetition);
                    self.end_repetition();
                    return Ok(true);
                }
                self.out.push_str(r"\{");
            }
            '}' => self.out.push_str(r"\}"),
            '\\' => self.escape()?,
            '[' => self.class()?,
            '(' => {
                self.out.push('(');
                self.group()?;
            }
            other => self.out.push(other),
        }
        self.after_repetition = false;
        Ok(true)
    }

    fn check_repetition(&self) -> Result<(), &'static str> {
        if self.after_repetition {
            return Err("invalid nested repetition operator");
        }
        Ok(())
    }

    fn end_repetition(&mut self) {
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
        self.after_repetition = true;
    }

    /// Reads a repetition after its left brace.
    fn repetition(&mut self) -> Result<Option<String>, &'static str> {
        let mut ahead = self.rest.clone();
        let mut text = String::from("{");
        loop {
            match ahead.next() {
                Some('}') => break,
                Some(character) if character.is_ascii_digit() || character == ',' => {
                    text.push(character);
                }
                _ => return Ok(None),
            }
        }
        let numbers = &text[1..];
        let (low, high) = numbers.split_once(',').unwrap_or((numbers, ""));
        if low.is_empty() || high.contains(',') {
            return Ok(None);
        }
        for number in [low, high] {
            let number = if number.is_empty() { "0" } else { number };
            if number.parse::<u32>().map_or(true, |it| it > MAX_REPETITION) {
                return Err("invalid repeat count");
            }
        }
        self.rest = ahead;
        text.push('}');
        Ok(Some(text))
    }

    fn escape(&mut self) -> Result<(), &'static str> {
        let character = self.rest.next().ok_or("trailing backslash")?;
        if let Some((content, negated)) = ascii_class(character) {
            self.out.push_str(if negated { "[^" } else { "[" });
            self.out.push_str(content);
            self.out.push(']');
            return Ok(());
        }
        match character {
            'b' => self.out.push_str(r"(?-u:\b)"),
            'B' => self.out.push_str(r"(?-u:\B)"),
            'A' | 'z' => self.out.extend(['\\', character]),
            'Q' => {
                let mut literal = String::new();
                while let Some(next) = self.rest.next() {
                    if next == '\\' && self.rest.next_if_eq(&'E').is_some() {
                        break;
                    }
                    literal.push(next);
                }
                self.out.push_str(&regex::escape(&literal));
            }
            'E' => {}
            other => self.character_escape(other)?,
        }
        Ok(())
    }

    /// Translates an escape that is valid inside and outside of a class.
    fn character_escape(&mut self, character: char) -> Result<(), &'static str> {
        match character {
            'a' => self.out.push_str(r"\x07"),
            'f' => self.out.push_str(r"\x0c"),
            'v' => self.out.push_str(r"\x0b"),
            'n' | 'r' | 't' => self.out.extend(['\\', character]),
            'x' | 'p' | 'P' => self.braced_escape(character),
            '0'..='7' => {
                let mut code = character.to_digit(8).unwrap_or(0);
                let mut digits = 1;
                while let Some(digit) = self.rest.peek().and_then(|next| next.to_digit(8)) {
                    if digits == 3 {
                        break;
                    }
                    self.rest.next();
                    code = code * 8 + digit;
                    digits += 1;
                }
                if character != '0' && digits == 1 {
                    return Err("backreferences are not supported");
                }
                let escape = format!("\\x{{{code:x}}}");
                self.out.push_str(&escape);
            }
            other if other.is_ascii() && !other.is_ascii_alphanumeric() && other != '\0' => {
                self.literal(other);
            }
            _ => return Err("invalid escape sequence"),
        }
        Ok(())
    }

    /// Copies `\x`, `\p` or `\P` with a name in braces.
    fn braced_escape(&mut self, character: char) {
        let mut ahead = self.rest.clone();
        let is_negated = ahead.next() == Some('{') && ahead.next() == Some('^');
        let letter = match character {
            'p' if is_negated => 'P',
            'P' if is_negated => 'p',
            other => other,
        };
        self.out.extend(['\\', letter]);
        if self.rest.peek() != Some(&'{') {
            return;
        }
        for next in self.rest.by_ref() {
            if next != '^' {
                self.out.push(next);
            }
            if next == '}' {
                return;
            }
        }
    }

    fn literal(&mut self, character: char) {
        if character.is_ascii_punctuation() && character != '<' && character != '>' {
            self.out.push('\\');
        }
        self.out.push(character);
    }

    /// Checks the flags after the left parenthesis of a group.
    fn group(&mut self) -> Result<(), &'static str> {
        if self.rest.peek() != Some(&'?') {
            return Ok(());
        }
        let mut ahead = self.rest.clone();
        ahead.next();
        if matches!(ahead.peek(), Some('P' | '<')) {
            return Ok(());
        }
        for character in ahead {
            match character {
                ':' | ')' => return Ok(()),
                'i' | 'm' | 's' | 'U' | '-' => {}
                _ => break,
            }
        }
        Err("invalid or unsupported Perl syntax")
    }

    fn class(&mut self) -> Result<(), &'static str> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut is_first = true;
        let mut after_dash = false;
        loop {
            let character = self.rest.next().ok_or("missing closing ]")?;
            let is_dash = character == '-';
            match character {
                ']' if !is_first => {
                    self.out.push(']');
                    return Ok(());
                }
                '[' if self.rest.peek() == Some(&':') => self.named_class()?,
                '[' | ']' | '&' | '~' => self.out.extend(['\\', character]),
                '-' if after_dash || is_first || self.rest.peek() == Some(&']') => {
                    self.out.push_str(r"\-");
                }
                '\\' => self.class_escape()?,
                other => self.out.push(other),
            }
            is_first = false;
            after_dash = is_dash;
        }
    }

    /// Copies a class such as `[:alpha:]`, or a normal `[`.
    fn named_class(&mut self) -> Result<(), &'static str> {
        let ahead: String = self.rest.clone().take(16).collect();
        let Some(end) = ahead.find(":]") else {
            self.out.push_str(r"\[");
            return Ok(());
        };
        let name = ahead[1..end].trim_start_matches('^');
        if !ASCII_CLASSES.contains(&name) {
            return Err("invalid character class range");
        }
        self.out.push('[');
        for next in self.rest.by_ref().take(end + 2) {
            self.out.push(next);
        }
        Ok(())
    }

    fn class_escape(&mut self) -> Result<(), &'static str> {
        let character = self.rest.next().ok_or("trailing backslash")?;
        match ascii_class(character) {
            Some((content, true)) => {
                self.out.push_str("[^");
                self.out.push_str(content);
                self.out.push(']');
            }
            Some((content, false)) => self.out.push_str(content),
            None => self.character_escape(character)?,
        }
        Ok(())
    }
}
