//! The language of the page: the language of the browser, or a language chosen in this browser.

use drover_ui_core::messages::{self, Language, t};
use leptos::prelude::{document, window};

use crate::choice::{Choice, InMenu, Stored};
use crate::icon::Icon;

/// The languages that the user can choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageLanguage {
    /// The first known language in the language list of the browser.
    #[default]
    Browser,
    /// A language of the catalogue.
    Chosen(Language),
}

/// The chosen language, as a context.
pub type LanguageChoice = Choice<PageLanguage>;

impl Stored for PageLanguage {
    const ALL: &'static [Self] = &[
        Self::Browser,
        Self::Chosen(Language::English),
        Self::Chosen(Language::German),
    ];
    const KEY: &'static str = "drover-language";
    const ATTRIBUTE: &'static str = "lang";

    fn key(self) -> Option<&'static str> {
        match self {
            Self::Browser => None,
            Self::Chosen(language) => Some(language.tag()),
        }
    }

    /// Loads the page again, because rendered texts do not change. The script `page/theme.js` then
    /// sets the attribute.
    fn show(self) {
        // The browser can always reload the page.
        let _ = window().location().reload();
    }
}

impl InMenu for PageLanguage {
    fn words(self) -> &'static str {
        match self {
            Self::Browser => t().kit.language_browser(),
            Self::Chosen(language) => language.own_name(),
        }
    }

    fn icon(self) -> Icon {
        Icon::Globe
    }
}

/// Sets the language of all texts to the language that the script `page/theme.js` selected. Call the
/// function before the first text is rendered.
pub fn apply() {
    let root = document().document_element();
    let tag = root.and_then(|root| root.get_attribute(PageLanguage::ATTRIBUTE));
    let language = tag.and_then(|tag| Language::of_tag(&tag));
    messages::set_language(language.unwrap_or_default());
}
