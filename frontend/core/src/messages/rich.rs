//! Text with marked parts, and message arguments that only a browser can format.

use std::borrow::Cow;
use std::fmt;
use std::ops::Add;

/// A sentence with marked parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rich(Vec<Part>);

/// A part of a sentence, with or without a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A part in plain text.
    Text(Cow<'static, str>),
    /// A command, a name or a value, in a fixed-width font.
    Code(Cow<'static, str>),
    /// Emphasized text.
    Strong(Cow<'static, str>),
    /// A link to a page.
    Link {
        /// The text of the link.
        text: Cow<'static, str>,
        /// The target: a path of the page, or an absolute URL.
        href: String,
    },
}

impl Rich {
    /// Returns the parts in their order.
    pub fn into_parts(self) -> Vec<Part> {
        self.0
    }
}

impl From<Part> for Rich {
    fn from(part: Part) -> Self {
        Self(vec![part])
    }
}

impl From<&'static str> for Rich {
    fn from(text: &'static str) -> Self {
        Part::Text(text.into()).into()
    }
}

impl From<String> for Rich {
    fn from(text: String) -> Self {
        Part::Text(text.into()).into()
    }
}

impl<T: Into<Self>> Add<T> for Rich {
    type Output = Self;

    fn add(mut self, more: T) -> Self {
        self.0.extend(more.into().0);
        self
    }
}

/// Formats the sentence without marks.
impl fmt::Display for Rich {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            let (Part::Text(text)
            | Part::Code(text)
            | Part::Strong(text)
            | Part::Link { text, .. }) = part;
            formatter.write_str(text)?;
        }
        Ok(())
    }
}

/// Creates text in a fixed-width font, for a command, a name or a value.
pub fn code(text: impl Into<Cow<'static, str>>) -> Rich {
    Part::Code(text.into()).into()
}

/// Creates emphasized text.
pub fn strong(text: impl Into<Cow<'static, str>>) -> Rich {
    Part::Strong(text.into()).into()
}

/// Creates a link to a path of the page, or to an absolute URL.
pub fn link(text: impl Into<Cow<'static, str>>, href: impl Into<String>) -> Rich {
    let (text, href) = (text.into(), href.into());
    Part::Link { text, href }.into()
}

/// A date or time that the browser formatted in the language of the page and in the user's time
/// zone. The catalogue itself has no time zones and no names of months.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalTime(String);

impl LocalTime {
    /// Creates a message argument from a date or time that the browser formatted.
    pub const fn new(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rich_text_converts_to_plain_text() {
        let text =
            Rich::from("Run ") + code("drover login") + " on " + strong("this machine") + ".";
        assert_eq!(text.to_string(), "Run drover login on this machine.");
        assert_eq!(text.into_parts().len(), 5);
    }
}
