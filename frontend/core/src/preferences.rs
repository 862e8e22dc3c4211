//! The preferences of the user in several browsers.

use drover_api::rest::Preferences;

/// Returns the preferences that the server must store: the values that changed in this browser, and
/// the server's values for all other preferences. Another browser can have changed these values.
///
/// `stored` is the current state of the server, `before` is the last state that the browser and the
/// server had in common, and `now` is the state of the browser.
pub fn merged(stored: Preferences, before: Preferences, now: Preferences) -> Preferences {
    fn newest<T: PartialEq>(stored: T, before: &T, now: T) -> T {
        if *before == now { stored } else { now }
    }
    Preferences {
        row_height: newest(stored.row_height, &before.row_height, now.row_height),
        theme: newest(stored.theme, &before.theme, now.theme),
        language: newest(stored.language, &before.language, now.language),
        single_keys: newest(stored.single_keys, &before.single_keys, now.single_keys),
    }
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::{LanguagePreference, RowHeight, ThemePreference};

    use super::*;

    #[test]
    fn change_in_one_browser_keeps_the_changes_of_another_browser() {
        let before = Preferences {
            row_height: Some(RowHeight::Normal),
            theme: Some(ThemePreference::System),
            language: Some(LanguagePreference::Browser),
            single_keys: Some(true),
        };
        let now = Preferences {
            row_height: Some(RowHeight::Compact),
            ..before
        };
        let stored = Preferences {
            theme: Some(ThemePreference::Dark),
            ..Preferences::default()
        };
        let expected = Preferences {
            row_height: Some(RowHeight::Compact),
            theme: Some(ThemePreference::Dark),
            ..Preferences::default()
        };
        assert_eq!(merged(stored, before, now), expected);
    }

    #[test]
    fn values_of_the_browser_that_the_user_never_changed_are_not_stored() {
        let before = Preferences {
            theme: Some(ThemePreference::Dark),
            single_keys: Some(false),
            ..Preferences::default()
        };
        let stored = Preferences::default();
        assert_eq!(merged(stored, before, before), stored);
        let now = Preferences {
            single_keys: Some(true),
            ..before
        };
        let expected = Preferences {
            single_keys: Some(true),
            ..Preferences::default()
        };
        assert_eq!(merged(stored, before, now), expected);
    }
}
