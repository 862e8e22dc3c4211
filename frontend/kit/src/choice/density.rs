//! The height of table rows.

use drover_ui_core::messages::t;

use crate::choice::{Choice, InMenu, Stored};
use crate::icon::Icon;

/// The heights of rows. The style sheet has the pixels (`--row`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Density {
    /// 28 pixels.
    Compact,
    /// 32 pixels.
    #[default]
    Normal,
    /// 44 pixels.
    Spacious,
}

/// The current height of rows, as a context.
pub type DensityChoice = Choice<Density>;

impl Stored for Density {
    const ALL: &'static [Self] = &[Self::Compact, Self::Normal, Self::Spacious];
    const KEY: &'static str = "drover-density";
    const ATTRIBUTE: &'static str = "data-density";

    fn key(self) -> Option<&'static str> {
        match self {
            Self::Compact => Some("compact"),
            Self::Normal => None,
            Self::Spacious => Some("spacious"),
        }
    }
}

impl InMenu for Density {
    fn words(self) -> &'static str {
        match self {
            Self::Compact => t().kit.rows_compact(),
            Self::Normal => t().kit.rows_normal(),
            Self::Spacious => t().kit.rows_spacious(),
        }
    }

    fn icon(self) -> Icon {
        Icon::Lines
    }
}
