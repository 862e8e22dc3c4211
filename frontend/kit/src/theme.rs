//! The theme of the page: the theme of the system, or a theme chosen in this browser.

use drover_ui_core::messages::t;
use leptos::prelude::*;
use web_sys::Storage;

use crate::icon::Icon;

/// The key in the browser's storage. The script `page/theme.js` reads the key before the first
/// paint.
const KEY: &str = "drover-theme";

/// The themes of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// The theme of the operating system or browser.
    #[default]
    System,
    /// Dark text on a light background.
    Light,
    /// Light text on a dark background.
    Dark,
    /// High contrast: white on black with thick lines.
    Contrast,
}

impl Theme {
    /// All themes, in the order of the menu.
    pub const ALL: [Self; 4] = [Self::System, Self::Light, Self::Dark, Self::Contrast];

    /// Returns the display name of the theme.
    pub fn words(self) -> &'static str {
        match self {
            Self::System => t().kit.theme_system(),
            Self::Light => t().kit.theme_light(),
            Self::Dark => t().kit.theme_dark(),
            Self::Contrast => t().kit.theme_contrast(),
        }
    }

    /// Returns the icon of the theme.
    pub const fn icon(self) -> Icon {
        match self {
            Self::System => Icon::Terminal,
            Self::Light => Icon::Sun,
            Self::Dark => Icon::Moon,
            Self::Contrast => Icon::Info,
        }
    }

    const fn key(self) -> Option<&'static str> {
        match self {
            Self::System => None,
            Self::Light => Some("light"),
            Self::Dark => Some("dark"),
            Self::Contrast => Some("contrast"),
        }
    }

    /// Returns the stored theme.
    fn kept() -> Self {
        let kept = storage().and_then(|storage| storage.get_item(KEY).ok()?);
        Self::ALL
            .into_iter()
            .find(|theme| theme.key().is_some() && theme.key() == kept.as_deref())
            .unwrap_or_default()
    }

    /// Stores the theme. If the browser has no storage, the theme applies until the page is closed.
    fn keep(self) {
        if let Some(storage) = storage() {
            let _ = match self.key() {
                Some(key) => storage.set_item(KEY, key),
                None => storage.remove_item(KEY),
            };
        }
    }

    fn show(self) {
        if let Some(root) = document().document_element() {
            // The attribute name is valid, so the call cannot fail.
            let _ = match self.key() {
                Some(key) => root.set_attribute("data-theme", key),
                None => root.remove_attribute("data-theme"),
            };
        }
    }
}

fn storage() -> Option<Storage> {
    window().local_storage().ok().flatten()
}

/// The current theme, as a context.
#[derive(Clone, Copy, Debug)]
pub struct ThemeChoice(RwSignal<Theme>);

impl ThemeChoice {
    /// Reads the stored theme and provides it as a context.
    pub fn provide() -> Self {
        let choice = Self(RwSignal::new(Theme::kept()));
        provide_context(choice);
        choice
    }

    /// Returns the current theme.
    pub fn current(self) -> Theme {
        self.0.get()
    }

    /// Applies and stores a theme.
    pub fn choose(self, theme: Theme) {
        theme.keep();
        theme.show();
        self.0.set(theme);
    }
}
