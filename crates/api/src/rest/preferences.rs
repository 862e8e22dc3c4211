//! Request and response bodies for the preferences of the caller.

use serde::{Deserialize, Serialize};

use crate::kinds::{LanguagePreference, RowHeight, ThemePreference};

wire! {
    /// The appearance and the language of the web UI for the caller. An absent field means that the
    /// caller has not chosen a value.
    #[derive(Copy, Default, Eq)]
    #[serde(deny_unknown_fields)]
    Preferences {
        /// The height of table rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        row_height: Option<RowHeight>,
        /// The theme.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        theme: Option<ThemePreference>,
        /// The language of the texts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        language: Option<LanguagePreference>,
        /// True if keys with a single character act.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        single_keys: Option<bool>,
    }
}
