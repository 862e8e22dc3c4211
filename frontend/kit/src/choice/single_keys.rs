//! The switch for keys with a single character.

use leptos::prelude::*;

use crate::choice::{Choice, Stored};
use crate::keys::SingleKeysOn;

/// States whether keys with a single character act (WCAG 2.1.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SingleKeys {
    /// The keys act.
    #[default]
    On,
    /// The keys have no effect.
    Off,
}

/// The current state of the switch, as a context.
pub type SingleKeysChoice = Choice<SingleKeys>;

impl SingleKeysChoice {
    /// Provides the state to components that handle keys.
    pub fn provide_keys(self) {
        SingleKeysOn::provide(Signal::derive(move || self.current() == SingleKeys::On));
    }
}

impl Stored for SingleKeys {
    const ALL: &'static [Self] = &[Self::On, Self::Off];
    const KEY: &'static str = "drover-single-keys";
    const ATTRIBUTE: &'static str = "data-single-keys";

    fn key(self) -> Option<&'static str> {
        match self {
            Self::On => None,
            Self::Off => Some("off"),
        }
    }
}
