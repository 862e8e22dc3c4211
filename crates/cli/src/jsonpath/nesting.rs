//! Quotes and brackets in a text.

/// The quotes and brackets that are open at a position of a text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nesting {
    quote: Option<char>,
    escaped: bool,
    depth: usize,
}

impl Nesting {
    /// Reads the next character. Reports whether the character is outside of quotes and is not
    /// escaped by a backslash.
    pub(crate) const fn read(&mut self, c: char) -> bool {
        if self.escaped {
            self.escaped = false;
            return false;
        }
        if c == '\\' {
            self.escaped = true;
            return false;
        }
        if let Some(quote) = self.quote {
            if c == quote {
                self.quote = None;
            }
            return false;
        }
        match c {
            '"' | '\'' => {
                self.quote = Some(c);
                return false;
            }
            '[' | '(' => self.depth += 1,
            ']' | ')' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        true
    }

    /// Returns the number of open brackets.
    pub(crate) const fn depth(self) -> usize {
        self.depth
    }
}
