//! The message catalogue. Each text of the web UI has one typed entry per language.
//!
//! [`english`] declares the messages and contains the first language. A message is a text, or a
//! function of typed arguments (`delete_many(count: usize)`). A message returns a `String`, or
//! [`Rich`] text with code, emphasis and links inside a sentence. Each language defines its plural
//! forms, the order of arguments, and the format of dates.
//!
//! The module `german` contains the second language in the same syntax. To add a message, add a
//! line to the group in `english.rs`, and a line with the same name and arguments to the group in a
//! file of `german`. The compiler rejects a language if a message is missing or has different
//! arguments. The document docs/adr/0011-message-catalogue.md compares this design with libraries.
//!
//! The catalogue contains only texts for users. Names that Kubernetes defines (kinds, reasons,
//! verbs), messages from the server, and commands are not in the catalogue.

#[expect(
    clippy::struct_field_names,
    reason = "the name of a message can contain the name of its group"
)]
pub mod english;
mod german;
mod language;
mod rich;
mod terms;

use std::marker::PhantomData;

pub use english::Messages;
pub use language::{Language, language, set_language};
pub use rich::{LocalTime, Part, Rich, code, link, strong};
pub use terms::{Noun, Unit};

/// Returns the messages. Each message has the text of the page's language ([`set_language`]).
#[inline]
pub fn t() -> &'static Messages {
    &english::MESSAGES
}

/// A group of messages in the page's language.
#[derive(Clone, Copy, Debug)]
pub struct Group<T>(PhantomData<T>);

/// The texts of a group in the language `L`.
trait Texts<L>: Sized {
    const TEXTS: Self;
}

/// English, as a parameter of [`Texts`].
enum English {}

/// German, as a parameter of [`Texts`].
enum German {}

/// Formats a count with its noun, in languages with one plural form: `1 user`, `3 users`.
fn counted(count: usize, one: &str, other: &str) -> String {
    format!(
        "{count} {noun}",
        noun = if count == 1 { one } else { other }
    )
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
        /// All messages, grouped by screen or component.
        #[derive(Debug)]
        pub struct Messages {
            $($(#[$about])* pub $group: crate::messages::Group<$Group>,)*
        }

        pub(super) static MESSAGES: Messages = Messages {
            $($group: crate::messages::Group(std::marker::PhantomData),)*
        };

        $(
            $(#[$about])*
            #[derive(Debug)]
            pub struct $Group {
                $(pub(super) $name: crate::messages::message_type!($(($($type),*))? $(-> $result)?),)*
            }

            impl crate::messages::Group<$Group> {
                $(crate::messages::message_method! { $Group $name $(($($argument: $type),*))? $(-> $result)? })*
            }
        )*

        crate::messages::translation! { English; $($group: $Group { $(
            $name $(($($argument: $type),*))? $(-> $result)? = $text;
        )* })* }

        /// Calls `visit` with the name of each message, and with a function that formats the
        /// message with sample arguments.
        #[cfg(test)]
        pub(super) fn samples(mut visit: impl FnMut(&'static str, fn() -> String)) {
            $($(visit(concat!(stringify!($group), ".", stringify!($name)), || {
                crate::messages::t().$group.$name(
                    $($(<$type as crate::messages::tests::Sample>::sample()),*)?
                ).to_string()
            });)*)*
        }
    };
}

/// Defines the texts of a language for groups of messages, in the syntax of [`catalogue!`].
macro_rules! translation {
    ($language:ident; $($(#[$about:meta])* $group:ident: $Group:ident { $(
        $name:ident $(($($argument:ident: $type:ty),* $(,)?))? $(-> $result:ty)? = $text:expr;
    )* })*) => {
        $(impl crate::messages::Texts<crate::messages::$language> for crate::messages::english::$Group {
            const TEXTS: Self = Self { $($name: crate::messages::message_value!(
                $name $(($($argument: $type),*))? $(-> $result)? = $text
            ),)* };
        })*
    };
}

macro_rules! message_type {
    () => { &'static str };
    (($($type:ty),*)) => { fn($($type),*) -> String };
    (($($type:ty),*) -> $result:ty) => { fn($($type),*) -> $result };
}

/// Declares the method of a message. The method contains the texts of all languages as constants,
/// so that the bundle contains a message only in the chunks that use the message.
macro_rules! message_method {
    ($Group:ident $name:ident) => {
        #[doc = concat!("The message `", stringify!($name), "`.")]
        #[inline]
        pub fn $name(&self) -> &'static str {
            crate::messages::in_language!($Group $name)
        }
    };
    ($Group:ident $name:ident($($argument:ident: $type:ty),*)) => {
        crate::messages::message_method! { $Group $name($($argument: $type),*) -> String }
    };
    ($Group:ident $name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        #[doc = concat!("The message `", stringify!($name), "`.")]
        #[inline]
        pub fn $name(&self, $($argument: $type),*) -> $result {
            crate::messages::in_language!($Group $name ($($argument),*))
        }
    };
}

/// Selects the text of the page's language. Only this macro selects a language.
macro_rules! in_language {
    ($Group:ident $name:ident $(($($argument:ident),*))?) => {{
        use crate::messages::{English, German, Language, Texts, language};
        let text = match language() {
            Language::English => const { <$Group as Texts<English>>::TEXTS.$name },
            Language::German => const { <$Group as Texts<German>>::TEXTS.$name },
        };
        text $(($($argument),*))?
    }};
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

use {catalogue, in_language, message_method, message_type, message_value, translation};

#[cfg(test)]
mod tests;
