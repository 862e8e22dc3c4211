//! The preferences of the user: the row height, the theme, the language and the switch for
//! single-character keys. The server stores the preferences. The browser stores a copy, so that the
//! page has the right look before its first request.

use drover_api::kinds::{LanguagePreference, RowHeight, ThemePreference};
use drover_api::rest::Preferences;
use drover_ui_core::messages::Language;
use drover_ui_core::preferences::merged;
use drover_ui_core::problem::Problem;
use drover_ui_kit::density::{Density, DensityChoice};
use drover_ui_kit::language::{LanguageChoice, PageLanguage};
use drover_ui_kit::single_keys::{SingleKeys, SingleKeysChoice};
use drover_ui_kit::theme::{Theme, ThemeChoice};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::Session;

const PATH: &str = "/v1/preferences";

/// The preferences of the user in this browser and on the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreferenceSync {
    session: Session,
    toasts: Toasts,
    row_height: DensityChoice,
    theme: ThemeChoice,
    language: LanguageChoice,
    single_keys: SingleKeysChoice,
    /// The last preferences that the browser and the server had in common.
    known: StoredValue<Preferences>,
    /// True while requests are pending.
    busy: StoredValue<bool>,
}

impl PreferenceSync {
    /// Applies the preferences of the user, and sends later changes to the server.
    pub(crate) fn provide() {
        let sync = Self {
            session: expect_context(),
            toasts: expect_context(),
            row_height: expect_context(),
            theme: expect_context(),
            language: expect_context(),
            single_keys: expect_context(),
            known: StoredValue::new(Preferences::default()),
            busy: StoredValue::new(false),
        };
        sync.known.set_value(untrack(move || sync.shown()));
        provide_context(sync);
        Effect::new(move |before: Option<()>| {
            let shown = sync.shown();
            let is_known = sync.known.with_value(|known| *known == shown);
            // The first run reads the preferences of the server.
            if before.is_some() && is_known {
                return;
            }
            spawn_local(async move {
                let exchanged = sync.exchange().await;
                // The screens report that the server is unreachable.
                if let Some(problem) = exchanged.err().filter(|_| !is_known) {
                    sync.toasts.warn(problem.message);
                }
            });
        });
    }

    /// Stores a language on the server, and then applies the language. The order matters, because
    /// the page loads again, and then applies the preferences of the server.
    pub(crate) fn choose_language(self, language: PageLanguage) {
        spawn_local(async move {
            match self.store_language(language).await {
                Ok(()) => self.language.choose(language),
                Err(problem) => self.toasts.warn(problem.message),
            }
        });
    }

    async fn store_language(self, language: PageLanguage) -> Result<(), Problem> {
        let stored: Preferences = self.session.get(PATH).await?;
        let wanted = Preferences {
            language: Some(language_preference(language)),
            ..stored
        };
        self.session.send_only("PUT", PATH, &wanted).await
    }

    /// Sends the changes of this browser to the server, and applies the changes of other browsers.
    async fn exchange(self) -> Result<(), Problem> {
        // A pending exchange also sends the current change.
        if self.busy.try_get_value() != Some(false) {
            return Ok(());
        }
        self.busy.set_value(true);
        let exchanged = self.exchange_until_equal().await;
        // The user can sign out before the response arrives.
        let _ = self.busy.try_set_value(false);
        exchanged
    }

    async fn exchange_until_equal(self) -> Result<(), Problem> {
        loop {
            let now = untrack(move || self.shown());
            let stored: Preferences = self.session.get(PATH).await?;
            let Some(before) = self.known.try_get_value() else {
                return Ok(());
            };
            let wanted = merged(stored, before, now);
            if wanted != stored {
                self.session.send_only("PUT", PATH, &wanted).await?;
            }
            let later = untrack(move || self.shown());
            let is_open = self.known.try_set_value(now).is_none();
            if !is_open {
                return Ok(());
            }
            // The user can change a preference during the requests.
            if later == now {
                self.adopt(wanted);
                self.known.set_value(untrack(move || self.shown()));
                return Ok(());
            }
        }
    }

    /// Returns the preferences of the page.
    fn shown(self) -> Preferences {
        Preferences {
            row_height: Some(match self.row_height.current() {
                Density::Compact => RowHeight::Compact,
                Density::Normal => RowHeight::Normal,
                Density::Spacious => RowHeight::Spacious,
            }),
            theme: Some(match self.theme.current() {
                Theme::System => ThemePreference::System,
                Theme::Light => ThemePreference::Light,
                Theme::Dark => ThemePreference::Dark,
                Theme::Contrast => ThemePreference::Contrast,
            }),
            language: Some(language_preference(self.language.current())),
            single_keys: Some(self.single_keys.current() == SingleKeys::On),
        }
    }

    /// Applies the preferences that the user has chosen.
    fn adopt(self, preferences: Preferences) {
        if let Some(height) = preferences.row_height {
            self.row_height.adopt(match height {
                RowHeight::Compact => Density::Compact,
                RowHeight::Normal => Density::Normal,
                RowHeight::Spacious => Density::Spacious,
            });
        }
        if let Some(theme) = preferences.theme {
            self.theme.adopt(match theme {
                ThemePreference::System => Theme::System,
                ThemePreference::Light => Theme::Light,
                ThemePreference::Dark => Theme::Dark,
                ThemePreference::Contrast => Theme::Contrast,
            });
        }
        if let Some(single_keys) = preferences.single_keys {
            self.single_keys.adopt(if single_keys {
                SingleKeys::On
            } else {
                SingleKeys::Off
            });
        }
        // A new language loads the page again, so the language is last.
        if let Some(language) = preferences.language {
            self.language.adopt(match language {
                LanguagePreference::Browser => PageLanguage::Browser,
                LanguagePreference::English => PageLanguage::Chosen(Language::English),
                LanguagePreference::German => PageLanguage::Chosen(Language::German),
            });
        }
    }
}

const fn language_preference(language: PageLanguage) -> LanguagePreference {
    match language {
        PageLanguage::Browser => LanguagePreference::Browser,
        PageLanguage::Chosen(Language::English) => LanguagePreference::English,
        PageLanguage::Chosen(Language::German) => LanguagePreference::German,
    }
}
