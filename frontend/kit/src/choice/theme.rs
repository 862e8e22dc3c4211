//! The theme of the page: the theme of the system, or a theme chosen in this browser.

use drover_ui_core::messages::t;

use crate::choice::{Choice, InMenu, Stored};
use crate::icon::Icon;

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

/// The current theme, as a context.
pub type ThemeChoice = Choice<Theme>;

impl Stored for Theme {
    const ALL: &'static [Self] = &[Self::System, Self::Light, Self::Dark, Self::Contrast];
    const KEY: &'static str = "drover-theme";
    const ATTRIBUTE: &'static str = "data-theme";

    fn key(self) -> Option<&'static str> {
        match self {
            Self::System => None,
            Self::Light => Some("light"),
            Self::Dark => Some("dark"),
            Self::Contrast => Some("contrast"),
        }
    }
}

impl InMenu for Theme {
    fn words(self) -> &'static str {
        match self {
            Self::System => t().kit.theme_system(),
            Self::Light => t().kit.theme_light(),
            Self::Dark => t().kit.theme_dark(),
            Self::Contrast => t().kit.theme_contrast(),
        }
    }

    fn icon(self) -> Icon {
        match self {
            Self::System => Icon::Terminal,
            Self::Light => Icon::Sun,
            Self::Dark => Icon::Moon,
            Self::Contrast => Icon::Info,
        }
    }
}
