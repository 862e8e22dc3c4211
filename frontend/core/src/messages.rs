//! The message catalogue. Each text of the web UI has one typed entry.
//!
//! [`english`] declares the messages and contains the first language. A message is a text, or a
//! function of typed arguments (`delete_many(count: usize)`). A message returns a `String`, or
//! [`Rich`] text with code, emphasis and links inside a sentence. Each language defines its plural
//! forms, the order of arguments, and the format of dates.
//!
//! A second language is a second file with a value of the type [`Messages`]. The compiler rejects
//! the file if a message is missing or has different arguments. The document
//! docs/adr/0011-message-catalogue.md compares this design with libraries.
//!
//! The catalogue contains only texts for users. Names that Kubernetes defines (kinds, reasons,
//! verbs), messages from the server, and commands are not in the catalogue.

#[expect(
    clippy::struct_field_names,
    reason = "the name of a message can contain the name of its group"
)]
pub mod english;
mod rich;
mod terms;

pub use english::Messages;
pub use rich::{LocalTime, Part, Rich, code, link, strong};
pub use terms::{Noun, Unit};

/// Returns the messages of the page's language, which is English.
///
/// Only this function selects a language. The `lang` attribute of the page contains `language.tag`.
#[inline]
pub fn t() -> &'static Messages {
    &english::ENGLISH
}

/// Declares groups of messages and their English texts.
///
/// `name = "Text";` declares a text. `name(argument: Type) = expression;` declares a message with
/// arguments that returns a `String`. `name(argument: Type) -> Rich = expression;` declares a
/// message with a different return type.
macro_rules! catalogue {
    ($($(#[$about:meta])* $group:ident: $Group:ident { $(
        $name:ident $(($($argument:ident: $type:ty),* $(,)?))? $(-> $result:ty)? = $text:expr;
    )* })*) => {
        /// All messages of a language, grouped by screen or component.
        #[derive(Debug)]
        pub struct Messages {
            $($(#[$about])* pub $group: $Group,)*
        }

        $(
            $(#[$about])*
            #[derive(Debug)]
            pub struct $Group {
                $($name: crate::messages::message_type!($(($($type),*))? $(-> $result)?),)*
            }

            impl $Group {
                $(crate::messages::message_method! { $name $(($($argument: $type),*))? $(-> $result)? })*
            }
        )*

        /// The English messages.
        pub static ENGLISH: Messages = Messages {
            $($group: $Group {
                $($name: crate::messages::message_value!(
                    $name $(($($argument: $type),*))? $(-> $result)? = $text
                ),)*
            },)*
        };
    };
}

macro_rules! message_type {
    () => { &'static str };
    (($($type:ty),*)) => { fn($($type),*) -> String };
    (($($type:ty),*) -> $result:ty) => { fn($($type),*) -> $result };
}

macro_rules! message_method {
    ($name:ident) => {
        #[doc = concat!("The message `", stringify!($name), "`.")]
        #[inline]
        pub fn $name(&self) -> &'static str {
            self.$name
        }
    };
    ($name:ident($($argument:ident: $type:ty),*)) => {
        crate::messages::message_method! { $name($($argument: $type),*) -> String }
    };
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        #[doc = concat!("The message `", stringify!($name), "`.")]
        #[inline]
        pub fn $name(&self, $($argument: $type),*) -> $result {
            (self.$name)($($argument),*)
        }
    };
}

macro_rules! message_value {
    ($name:ident = $text:expr) => { $text };
    ($name:ident($($argument:ident: $type:ty),*) = $text:expr) => {
        crate::messages::message_value!($name($($argument: $type),*) -> String = $text)
    };
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty = $text:expr) => {{
        fn $name($($argument: $type),*) -> $result {
            $text
        }
        $name
    }};
}

use {catalogue, message_method, message_type, message_value};
