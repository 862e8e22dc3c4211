//! The language of the page.

use std::cell::Cell;

/// A language of the message catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English, the default.
    #[default]
    English,
    /// German.
    German,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::English, Self::German];

    /// Returns the BCP 47 tag of the language, for the attribute `lang` and the browser's formats.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// Returns the name of the language in the language itself.
    pub const fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "Deutsch",
        }
    }

    /// Returns the language of a BCP 47 tag such as `de-AT`.
    pub fn of_tag(tag: &str) -> Option<Self> {
        let primary = tag.split('-').next().unwrap_or_default();
        Self::ALL
            .into_iter()
            .find(|language| primary.eq_ignore_ascii_case(language.tag()))
    }
}

thread_local! {
    // The page has one thread. Each native test has its own language.
    static LANGUAGE: Cell<Language> = const { Cell::new(Language::English) };
}

/// Returns the language of the page.
#[inline]
pub fn language() -> Language {
    LANGUAGE.get()
}

/// Sets the language of the page. The page must set the language before it renders its first text,
/// because rendered texts do not change.
pub fn set_language(language: Language) {
    LANGUAGE.set(language);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primary_language_of_a_tag_selects_the_catalogue() {
        for (tag, expected) in [
            ("de", Some(Language::German)),
            ("de-AT", Some(Language::German)),
            ("DE-ch", Some(Language::German)),
            ("en-US", Some(Language::English)),
            ("den", None),
            ("fr-FR", None),
            ("", None),
        ] {
            assert_eq!(Language::of_tag(tag), expected, "{tag}");
        }
    }
}
