//! The components of the web UI. The page `/kit` shows all components.
//!
//! The crate *owns* the look of the components and their behavior for keyboard, pointer and screen
//! reader. It *never* depends on the shown data or the source of the data.

pub mod badge;
pub mod button;
pub mod chart;
pub mod choice;
pub mod code;
pub mod confirm;
pub mod dialog;
pub mod icon;
pub mod input;
mod keys;
pub mod menu;
pub mod notice;
pub mod rich;
pub mod secret;
pub mod sheet;
pub mod table;
pub mod tabs;
pub mod tally;
pub mod toast;

pub use chart::meter;
pub use choice::{density, language, single_keys, theme};
pub use input::{field, find, picker, suggest};
