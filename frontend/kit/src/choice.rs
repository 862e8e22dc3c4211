//! Choices of the user that this browser stores, and that attributes of the page's root show. The
//! server also stores the choices of a signed-in user.

pub mod density;
pub mod language;
pub mod single_keys;
pub mod theme;

use std::fmt::Debug;

use leptos::prelude::*;
use web_sys::Storage;

use crate::icon::Icon;
use crate::menu::Item;

/// A value that the user chooses in this browser.
pub trait Stored: Clone + Copy + Debug + Default + PartialEq + Send + Sync + 'static {
    /// All values, in the order of menus.
    const ALL: &'static [Self];
    /// The key in the browser's storage. The script `page/theme.js` reads the key before the first paint.
    const KEY: &'static str;
    /// The attribute of the page's root, which the style sheet reads.
    const ATTRIBUTE: &'static str;

    /// Returns the stored text of the value. The default value has none.
    fn key(self) -> Option<&'static str>;

    /// Applies a value that the user chose. The default sets the attribute of the page's root.
    fn show(self) {
        if let Some(root) = document().document_element() {
            // The attribute name is valid, so the call cannot fail.
            let _ = match self.key() {
                Some(key) => root.set_attribute(Self::ATTRIBUTE, key),
                None => root.remove_attribute(Self::ATTRIBUTE),
            };
        }
    }
}

/// A stored value that menus offer.
pub trait InMenu: Stored {
    /// Returns the display name of the value.
    fn words(self) -> &'static str;
    /// Returns the icon of the value.
    fn icon(self) -> Icon;
}

fn storage() -> Option<Storage> {
    window().local_storage().ok().flatten()
}

/// Returns the stored value.
fn kept<T: Stored>() -> T {
    let kept = storage().and_then(|storage| storage.get_item(T::KEY).ok()?);
    let mut values = T::ALL.iter().copied();
    values
        .find(|value| value.key().is_some() && value.key() == kept.as_deref())
        .unwrap_or_default()
}

/// Stores a value. If the browser has no storage, the value applies until the page is closed.
fn keep<T: Stored>(value: T) {
    if let Some(storage) = storage() {
        let _ = match value.key() {
            Some(key) => storage.set_item(T::KEY, key),
            None => storage.remove_item(T::KEY),
        };
    }
}

/// The current value, as a context.
#[derive(Clone, Copy, Debug)]
pub struct Choice<T: Stored>(RwSignal<T>);

impl<T: Stored> Choice<T> {
    /// Reads the stored value and provides it as a context.
    pub fn provide() -> Self {
        let choice = Self(RwSignal::new(kept()));
        provide_context(choice);
        choice
    }

    /// Returns the current value.
    pub fn current(self) -> T {
        self.0.get()
    }

    /// Applies and stores a value.
    pub fn choose(self, value: T) {
        keep(value);
        self.0.set(value);
        value.show();
    }

    /// Applies and stores a value that the user chose in another browser. If this browser has no
    /// storage, the value does not apply, because a language would load the page again forever.
    pub fn adopt(self, value: T) {
        let is_current = self.0.with_untracked(|current| *current == value);
        if is_current {
            return;
        }
        keep(value);
        if kept::<T>() == value {
            self.0.set(value);
            value.show();
        }
    }
}

/// Returns the menu items for all values of a choice.
pub fn options<T: InMenu>() -> impl Iterator<Item = Item> {
    let choice = expect_context::<Choice<T>>();
    T::ALL.iter().map(move |value| {
        let choose = move || choice.choose(*value);
        let checked = Signal::derive(move || choice.current() == *value);
        Item {
            checked: Some(checked),
            ..Item::action(value.icon(), value.words(), choose)
        }
    })
}
