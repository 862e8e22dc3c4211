//! Filters that hide lines of a log.

use std::fmt;
use std::sync::Arc;

use super::level::Level;
use super::line::Entry;
use crate::messages::t;

/// The lowest level of the shown lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MinLevel {
    /// All lines.
    #[default]
    All,
    /// All lines except the levels debug and trace.
    Info,
    /// Warnings and errors.
    Warning,
    /// Errors.
    Error,
}

impl MinLevel {
    /// All choices.
    pub const ALL: [Self; 4] = [Self::All, Self::Info, Self::Warning, Self::Error];

    /// Returns the key in URLs; empty for all lines.
    pub const fn key(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Parses a key. An unknown key means all lines.
    pub fn of_key(key: &str) -> Self {
        let found = Self::ALL.into_iter().find(|level| level.key() == key);
        found.unwrap_or_default()
    }

    /// Returns the label.
    pub fn words(self) -> &'static str {
        match self {
            Self::All => t().log.level_all(),
            Self::Info => t().log.level_info(),
            Self::Warning => t().log.level_warning(),
            Self::Error => t().log.level_error(),
        }
    }

    fn shows(self, level: Level) -> bool {
        match self {
            Self::All => true,
            Self::Info => level != Level::Debug,
            Self::Warning => matches!(level, Level::Warning | Level::Error),
            Self::Error => level == Level::Error,
        }
    }
}

/// A test of the text of a line.
type Matches = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A filter of lines. Notes of the page are always shown.
#[derive(Clone, Default)]
pub struct LineFilter {
    level: MinLevel,
    matches: Option<Matches>,
}

impl fmt::Debug for LineFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LineFilter").field(&self.level).finish()
    }
}

impl LineFilter {
    /// Creates a filter. `matches` tests a text with the browser's regular expressions.
    pub fn new(level: MinLevel, matches: Option<Matches>) -> Self {
        Self { level, matches }
    }

    /// Reports whether the filter hides a line.
    pub(super) fn hides(&self, entry: &Entry) -> bool {
        let matches = self.matches.as_ref();
        let shown =
            self.level.shows(entry.level) && matches.is_none_or(|matches| matches(&entry.text));
        !shown && !entry.is_note
    }
}
