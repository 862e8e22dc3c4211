//! The message catalogue: every text that the web UI shows, one typed entry each.
//!
//! [`english`] declares the messages and is the first language. A message is a text, or a function
//! of typed arguments (`delete_many(count: usize)`); it returns a `String`, or [`Rich`] text with
//! code, emphasis and links inside a sentence. Plural forms, the order of arguments and the form of
//! dates belong to the language. A second language is one more file with one more value of the type
//! [`Messages`]; the compiler rejects it while a message is missing or has other arguments.
//! docs/adr/0011-message-catalogue.md compares this with the libraries.
//!
//! Not here: names that Kubernetes defines (kinds, reasons, verbs), messages that the server sends,
//! commands, and developers' text.

#[expect(
    clippy::struct_field_names,
    reason = "a message may have a word in common with its group"
)]
pub mod english;
mod rich;
mod terms;

pub use english::Messages;
pub use rich::{LocalTime, Part, Rich, code, link, strong};
pub use terms::{Noun, Unit};

/// The messages of the language that the page uses.
///
/// This is the one place that chooses a language. A second one is chosen here, from the user's
/// preference or from `navigator.languages`, and the page's attribute `lang` follows
/// `language.tag`.
#[inline]
pub fn t() -> &'static Messages {
    &english::ENGLISH
}

/// Declares groups of messages and their English texts.
///
/// `name = "Text";` declares a text, `name(argument: Type) = expression;` a `String` of arguments,
/// and `name(argument: Type) -> Rich = expression;` another type.
macro_rules! catalogue {
    ($($(#[$about:meta])* $group:ident: $Group:ident { $(
        $name:ident $(($($argument:ident: $type:ty),* $(,)?))? $(-> $result:ty)? = $text:expr;
    )* })*) => {
        /// All messages of one language, by the screen or the component that shows them.
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

        /// English.
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
        #[doc = concat!("The text `", stringify!($name), "`.")]
        #[inline]
        pub fn $name(&self) -> &'static str {
            self.$name
        }
    };
    ($name:ident($($argument:ident: $type:ty),*)) => {
        crate::messages::message_method! { $name($($argument: $type),*) -> String }
    };
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        #[doc = concat!("The text `", stringify!($name), "`.")]
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
